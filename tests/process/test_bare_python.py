"""A Python that runs one module: it starts without the package around it."""

import subprocess

import pytest

from toolgate.process.bare_python import bare_python


def run(module: str, *arguments: str, bare: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    words = bare_python(module, *arguments, bare=bare)
    return subprocess.run(words, input=stdin, capture_output=True, check=False)


def test_it_runs_main_and_nothing_of_the_package_around_it() -> None:
    words = bare_python("toolgate.web.html_markdown", bare="web")
    place = words.index("-c") + 1
    words[place] = words[place].replace(".main()", "") + "print('pydantic' in sys.modules, 'typing' in sys.modules)"

    assert subprocess.run(words, capture_output=True, check=True).stdout == b"False False\n"


@pytest.mark.parametrize("module", ["toolgate.web.nothing", "toolgate.nowhere.nothing"])
def test_a_module_that_is_not_there_is_an_error(module: str) -> None:
    done = run(module, bare="web")

    assert done.returncode == 1
    assert b"ModuleNotFoundError" in done.stderr
