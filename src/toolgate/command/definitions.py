"""Shell functions as bash prints them: whether code only defines functions."""

from toolgate.command.syntax import AndOr, Compound, Grammar, UnparsableError


def is_only_definitions(code: str) -> bool:
    """Whether code defines functions and does nothing else. False if it cannot be understood."""
    reader = Grammar(code)
    try:
        statements = reader.nested(frozenset()).statements
    except UnparsableError:
        return False
    return all(map(_is_definition, statements))


def _is_definition(statement: AndOr) -> bool:
    commands = [command for pipeline in statement.pipelines for command in pipeline.commands]
    if len(commands) != 1 or statement.pipelines[0].timed:
        return False
    (command,) = commands
    return isinstance(command, Compound) and command.kind == "function"
