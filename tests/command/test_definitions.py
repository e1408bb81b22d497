"""Code that only defines functions."""

import subprocess

import pytest

from toolgate.command.definitions import has_only_definitions

AS_BASH_PRINTS_IT = 'f() { cat <<END | tee x; }\n$1\nEND\ng-h() ( for i; do echo "${i}"; done ); h() if a; then b; fi'


def test_functions_as_bash_prints_them_are_only_definitions() -> None:
    printed = subprocess.run(["bash", "-c", f"{AS_BASH_PRINTS_IT}\ndeclare -f"], capture_output=True, check=True).stdout

    assert printed.count(b" () \n") == 3
    assert has_only_definitions(printed.decode())
    assert has_only_definitions("")


@pytest.mark.parametrize(
    "code",
    [
        "id",
        "f () \n{ \n    :\n}\nid",
        "f () { :; } && id",
        "f () { :; } | id",
        "f () { :; } &\nid",
        "time f () { :; }",
        "{ f () { :; }; id; }",
        "( id )",
        "x=$(id)",
        "coproc id",
        "f () { :",
        "f () { :; }; }",
        "f () { cat <<E; }\nE\nid",
        "function f { :; }",
        "f() { :; }",
        "f () { :; }; g () { :; }",
        "f () \n{ \n    :\n}\nfunction g () { :; }",
        "f () \n{ \n    :\n}; g () { :; }",
        "f () \n{ \n    cat <<E\n}\ng () \n{ \n    :\n}\nE",
        "function f { id; : <<E\nf () \n{ :; }\nE\n}",
    ],
)
def test_code_that_does_more_or_cannot_be_read_is_not(code: str) -> None:
    assert not has_only_definitions(code)
