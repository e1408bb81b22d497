"""Choices that an operator makes by name: the model's provider, the sandbox layer, how long outputs are cut.

One table per choice. Settings, the command line, `toolgate doctor` and the rooms that implement the choices read these
tables, so that each name is written only here. An implementation is written `module:name`, and is imported when it is
chosen. `docs/extending.md` shows how to add to each table.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Provider(NamedTuple):
    """A provider of language models. A provider without `key` needs no account and no address."""

    client: str
    """Its `ModelClient`, called with `model`, `api_key`, `base_url`, `timeout` and `total_timeout`, as far as they are
    known. The client of a provider without `key` is called without arguments."""
    title: str = ""
    """Its name as people write it."""
    key: str = ""
    """The environment variable that holds its key; it is masked in everything that is shown or stored."""
    address: str = ""
    """The environment variable that holds the address of another server with the same protocol."""
    models: tuple[str, ...] = ()
    """How the names of its models begin, for names without a provider (`--model claude-…`)."""
    compatible: bool = False
    """Whether many servers speak its protocol. Such a provider is chosen by its address alone, too, and gets the names
    of models that no provider claims."""
    server: str = ""
    """The address of its own server."""
    catalog: str = ""
    """Function `(address, key)` that returns the `CatalogEndpoint` of a server: where its list of models is.
    Without one the provider cannot be set up with `/model` or on the page."""


PROVIDERS: dict[str, Provider] = {
    "offline": Provider(client="toolgate.models.offline:OfflineModel"),
    "openai": Provider(
        client="toolgate.models.openai:OpenAIModel",
        title="OpenAI",
        key="OPENAI_API_KEY",
        address="OPENAI_BASE_URL",
        compatible=True,
        server="https://api.openai.com/v1",
        catalog="toolgate.models.openai:listing",
    ),
    "anthropic": Provider(
        client="toolgate.models.anthropic:AnthropicModel",
        title="Anthropic",
        key="ANTHROPIC_API_KEY",
        address="ANTHROPIC_BASE_URL",
        models=("claude",),
        server="https://api.anthropic.com",
        catalog="toolgate.models.anthropic:listing",
    ),
}
"""Value of `TOOLGATE_MODEL_PROVIDER` → provider. Where nothing was asked for, the first one whose variables are set is
taken; the extra that installs a provider's SDK has the provider's name."""


class SandboxLayer(NamedTuple):
    """A layer that confines commands."""

    title: str
    """Its name as people write it."""
    find: str
    """Function `(writable, bubblewrap)` that returns the `Layer`, or None if it does not work on this machine."""
    examine: str = ""
    """Function `(root, bubblewrap)` that yields a `Requirement` for each thing that the layer needs."""
    automatic: bool = True
    """Whether `auto` may choose it."""


LAYERS: dict[str, SandboxLayer] = {
    "bwrap": SandboxLayer(
        title="bubblewrap",
        find="toolgate.sandbox.bubblewrap:find_bubblewrap",
        examine="toolgate.sandbox.probe:bubblewrap",
    ),
    "landlock": SandboxLayer(
        title="Landlock",
        find="toolgate.sandbox.native_layers:find_native",
        examine="toolgate.sandbox.probe:native",
    ),
    "off": SandboxLayer(
        title="no sandbox",
        find="toolgate.sandbox.native_layers:unconfined",
        automatic=False,
    ),
}
"""Value of `TOOLGATE_SHELL_SANDBOX` → layer. `auto` tries them in this order."""


class Truncation(NamedTuple):
    """A way to cut an output that is too long for a model."""

    kept: str
    """The part that is kept, in words: "Output of grep truncated to its …"."""
    cut: str
    """Function `(text, limits)` that returns what is kept, within the limits."""
    marked: bool = True
    """Whether a line that begins with `toolgate.runtime.preview.ELISION` says where something was left out before the
    end. If the limits are too small for such lines, `tail` is used instead."""


TRUNCATIONS: dict[str, Truncation] = {
    "head": Truncation(kept="beginning", cut="toolgate.runtime.preview:head", marked=False),
    "tail": Truncation(kept="end", cut="toolgate.runtime.preview:tail", marked=False),
    "head_tail": Truncation(kept="beginning and end", cut="toolgate.runtime.preview:head_tail"),
}
"""Value of `TOOL_OUTPUT_DIRECTION` and of a tool's `keep` → truncation."""


def load(implementation: str) -> Any:
    """The object that `module:name` stands for."""
    module, _, name = implementation.partition(":")
    return getattr(importlib.import_module(module), name)
