"""The error tree at the top of `errors.py` is the one in the code."""

import inspect
import re

from toolgate import errors
from toolgate.errors import ConfigError, ToolError, ToolgateError
from toolgate.protocol.codes import ErrorCode


def test_the_tree_in_the_docstring_names_every_error_with_its_parent() -> None:
    drawn: dict[str, str] = {}
    branches = re.findall(r"(?m)^    ((?:│?\s*[├└]── ))(\w+)", errors.__doc__ or "")
    parents = {0: "ToolgateError"}
    for branch, name in branches:
        depth = (len(branch) - 4) // 4
        drawn[name] = parents[depth]
        parents[depth + 1] = name
    classes = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind)}
    real = {
        name: kind.__bases__[0].__name__
        for name, kind in classes.items()
        if issubclass(kind, ToolgateError) and kind is not ToolgateError
    }

    assert drawn == real


def test_an_error_of_a_tool_has_one_of_the_codes_and_data_of_its_own() -> None:
    error = ToolError(ErrorCode.NOT_FOUND, "not there", "look elsewhere")

    assert (error.code, str(error), error.next_step, error.data) == ("NOT_FOUND", "not there", "look elsewhere", {})


def test_all_problems_of_a_config_file_are_in_its_message() -> None:
    assert str(ConfigError(["a: one", "b: two"])) == "a: one; b: two"
