"""What the effect of a command depends on besides its words."""

import pytest

from tests.command.analysis.kit import judged


@pytest.mark.parametrize(
    ("command", "inputs"),
    [
        ("cat f", ()),
        ("frob f", ("f",)),
        ("frob --config=f", ("f",)),
        ("npm test", ("package.json",)),
        ("wc --files0-from=list", ("list",)),
        ("rsync --files-from list a b", ("list",)),
    ],
)
def test_files_that_say_what_a_command_does_are_inputs(command: str, inputs: tuple[str, ...]) -> None:
    assert judged(command).inputs == inputs


@pytest.mark.parametrize(("command", "scripts"), [("make", ("Makefile",)), ("make -f f", ("f",)), ("make -C src", ())])
def test_the_rules_of_make_are_a_script(command: str, scripts: tuple[str, ...]) -> None:
    assert judged(command).scripts == scripts


@pytest.mark.parametrize(
    ("command", "unresolved"),
    [
        ("ls | cat", ()),
        ("ls | frob", ("'frob' reads what another command prints",)),
        ("find . -name x", ()),
        ("find . -delete", ("what 'find' finds is only known when it runs",)),
        ("cd src", ()),
        ("cd -", ("it goes back to an earlier directory",)),
        ("pushd +1", ("it goes back to an earlier directory",)),
        ("popd", ("it goes back to an earlier directory",)),
    ],
)
def test_what_is_only_known_when_it_runs_is_said(command: str, unresolved: tuple[str, ...]) -> None:
    assert judged(command).unresolved == unresolved


def test_the_search_path_of_cd_counts_as_used() -> None:
    assert judged("cd src").variables == ("CDPATH",)
    assert judged("cd -").variables == ("CDPATH", "OLDPWD")
