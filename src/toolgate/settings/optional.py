"""The areas of features that the operator has to turn on: the web, and diagnostics after an edit."""

from typing import Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from toolgate.settings.area import Area, words


class WebSettings(Area):
    """Fetching pages and searching."""

    variable_prefix = "TOOLGATE_WEB_"

    fetch: bool = False
    """Whether models may fetch public pages with `web_fetch`; a person is asked about each host."""
    hosts: tuple[str, ...] = ()
    """The only hosts, separated by commas, whose pages may be fetched, and their subdomains; unset, all public ones."""
    max_kb: int = Field(default=5120, ge=16, le=102_400)
    """Size of the largest page that is read."""
    timeout: float = Field(default=30.0, ge=1, le=300)
    """Seconds that one page may take."""
    search: Literal["brave", "tavily", "searxng"] | None = None
    """The provider of `web_search`; unset, there is no such tool."""
    search_key: SecretStr | None = None
    """The key for Brave or Tavily."""
    search_url: str | None = None
    """The address of a SearXNG, or of another server with the provider's protocol."""

    @field_validator("hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return words(value)

    @field_validator("hosts")
    @classmethod
    def _names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any("/" in host or ":" in host or "*" in host or host != host.lower() for host in value):
            raise ValueError("must be names of hosts in lower case. Unset it, or set it to something like python.org")
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.search == "searxng" and not self.search_url:
            raise ValueError("search is searxng, so search_url must be its address. Set it, or unset search")
        if self.search in ("brave", "tavily") and self.search_key is None:
            raise ValueError(f"search is {self.search}, so search_key must be its key. Set it, or unset search")
        return self


class DiagnosticsSettings(Area):
    """What is checked after an edit."""

    variable_prefix = "TOOLGATE_DIAGNOSTICS_"

    checkers: tuple[str, ...] = ()
    """Checkers, separated by commas, that run on a file after it was edited; `auto`: those that are installed."""
    command: str | None = None
    """A command of your own that prints `file:line: message` lines; `{file}` in it is the edited file."""
    timeout: float = Field(default=10.0, ge=0.5, le=120)
    """Seconds that all checkers together may take."""

    @field_validator("checkers", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return words(value)

    @field_validator("checkers")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in value if name not in CHECKERS]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is unknown. Unset it, or set it to some of {', '.join(CHECKERS)}")
        return value


CHECKERS = ("auto", "ruff", "pyright", "tsc", "gopls", "rust-analyzer")
"""Names of checkers."""
