"""`apply_patch`: what its words mean."""

import pytest

from toolgate.agent_commands import Native, Outcome, RoutedCall, Usage
from toolgate.agent_commands.router import parse

PATCH = "*** Begin Patch\n*** Add File: f\n+$HOME `id`\n*** End Patch\n"
HEREDOC = f"apply_patch <<'EOF'\n{PATCH}EOF\n"


def arguments(outcome: Outcome) -> dict[str, object]:
    assert isinstance(outcome, RoutedCall), outcome
    return {"tool": outcome.tool_name, **outcome.arguments}


@pytest.mark.parametrize(
    "command", [HEREDOC, f"bash {HEREDOC}", f"apply_patch '{PATCH}'", f"apply_patch - <<'EOF'\n{PATCH}EOF"]
)
def test_a_patch(command: str) -> None:
    assert arguments(parse(command)) == {"tool": "apply_patch", "patch": PATCH}


@pytest.mark.parametrize(
    ("command", "cwd", "directory"),
    [
        (HEREDOC, "a/b", "a/b"),
        (f"cd sub && {HEREDOC}", ".", "sub"),
        (f"cd 'two words' && {HEREDOC}", "a", "a/two words"),
        (f"cd .. && {HEREDOC}", "a/b", "a"),
        (f"cd /project/sub && {HEREDOC}", "a", "/project/sub"),
    ],
)
def test_the_directory_that_paths_start_from(command: str, cwd: str, directory: str) -> None:
    assert arguments(parse(command, cwd)) == {"tool": "apply_patch", "patch": PATCH, "directory": directory}


@pytest.mark.parametrize("command", [f"cd $X && {HEREDOC}", f"cd - && {HEREDOC}", "cd a && apply_patch x; rm f"])
def test_what_only_the_shell_can_resolve_is_left_to_it(command: str) -> None:
    assert isinstance(parse(command), Native)


def test_a_heredoc_that_the_shell_would_expand_is_a_mistake() -> None:
    outcome = parse(HEREDOC.replace("'EOF'", "EOF"))

    assert isinstance(outcome, Usage)
    assert (outcome.exit_code, "<<'EOF'" in outcome.text) == (2, True)


def test_help_has_an_example() -> None:
    outcome = parse("apply_patch --help")

    assert isinstance(outcome, Usage)
    assert (outcome.exit_code, "*** Update File" in outcome.text) == (0, True)
