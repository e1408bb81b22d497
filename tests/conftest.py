"""What every test gets: an environment without settings, all the time it needs, and, in CI, no skip nobody allowed."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from toolgate.language.choice import of_environment
from toolgate.language.translate import use

hypothesis.settings.register_profile("patient", deadline=None)  # how long an example takes says how busy the machine is
hypothesis.settings.load_profile("patient")

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # nohup, or a script's `&`: programs under test would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
ALLOWED_SKIPS = HERE / "allowed_skips.txt"
SLOW_TESTS = HERE / "slow_tests.txt"
"""Functions whose tests take half a second or more; scripts/slow_tests.py writes it."""
PLACES = {"browser": "browser", "adapters/outside": "outside", "torture": "torture"}
"""Directories whose tests all need the same."""
WEAKER_LAYERS = {"namespaces", "landlock", "off"}
"""Layers that are used only where bubblewrap cannot be."""
POSTGRES = {"postgres_url", "server_url"}
"""Fixtures that start a PostgreSQL."""


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of the person who runs the tests do not apply."""
    for name in os.environ:
        others = ("SESSION_", "TOOL_OUTPUT_", "TOOLGATE_", "OPENAI_", "ANTHROPIC_")
        if name.upper().startswith(others) and name != "TOOLGATE_TORTURE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")  # nor is their policy
    if of_environment(os.environ) != "en":  # nor their language
        monkeypatch.setenv("LC_ALL", "C.UTF-8")
    use(None)  # nor the one that a command of an earlier test has chosen


@pytest.fixture
def public_path() -> Iterator[Path]:
    """Like `tmp_path`, but every user can reach it."""
    from tests.support.privileges import public_directory  # this file is also run alone, in tests/test_ci.py

    with public_directory() as made:
        yield made


def _listed(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        node = line.partition("#")[0].strip()
        if node:
            yield node


def _needs(item: pytest.Item) -> Iterator[str]:
    """The markers of a test, from where it lives and what it is given."""
    yield from (marker for place, marker in PLACES.items() if item.nodeid.startswith(f"tests/{place}/"))
    chosen = vars(getattr(item, "callspec", None) or object).get("params", {})
    if chosen.get("layer") in WEAKER_LAYERS:
        yield "layers"
    if "postgres" in chosen.values() or not POSTGRES.isdisjoint(getattr(item, "fixturenames", ())):
        yield "postgres"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collecting thousands of tests makes no garbage: looking for it takes a fifth of the time."""
    gc.disable()
    result = yield
    gc.enable()
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test` leaves out, before pytest chooses by marker."""
    slow = set(_listed(SLOW_TESTS)) if SLOW_TESTS.exists() else set()
    for item in items:
        for marker in _needs(item):
            item.add_marker(marker)
        if item.nodeid.partition("[")[0] in slow:
            item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip is a failure unless tests/allowed_skips.txt names it."""
    if os.environ.get("CI") != "true" or hasattr(session.config, "workerinput"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = [] if reporter is None else [report.nodeid for report in reporter.stats.get("skipped", [])]
    allowed = tuple(_listed(ALLOWED_SKIPS))
    surprising = [node for node in skipped if not (allowed and node.startswith(allowed))]
    if reporter is None or not surprising:
        return
    reporter.section("skipped, and nobody allowed it (tests/allowed_skips.txt)", red=True)
    for node in surprising:
        reporter.write_line(node)
    if session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
