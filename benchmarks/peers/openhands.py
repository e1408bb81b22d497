"""OpenHands' SDK and tools, without its conversation: unknown tools and bad JSON are handled above this path."""

import os
import sys
from pathlib import Path

lacks = {"dispatch": ("unknown", "badjson")}
imports = "from openhands.sdk.tool import Action, Observation, ToolDefinition"


async def dispatch():
    import json

    from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor

    class AddAction(Action):
        a: int
        b: int

    class AddObservation(Observation):
        pass

    class Adder(ToolExecutor):
        def __call__(self, action, conversation=None):
            return AddObservation.from_text(json.dumps({"sum": action.a + action.b}))

    class AddTool(ToolDefinition[AddAction, AddObservation]):
        @classmethod
        def create(cls, conv_state=None, **params):
            types = {"action_type": AddAction, "observation_type": AddObservation}
            return [cls(description="add", executor=Adder(), **types)]

    (tool,) = AddTool.create()
    tools = {"add": tool}

    async def call(name, arguments):
        found = tools.get(name)
        if found is None:
            return f"Tool '{name}' not found. Available: {list(tools)}"
        try:
            action = found.action_from_arguments(json.loads(arguments))
        except Exception as error:
            return repr(error)
        return found(action).model_dump_json()

    return call


class _Terminal:
    kind = ""

    def __init__(self):
        from openhands.tools.terminal.impl import TerminalExecutor

        self._terminal = TerminalExecutor(working_dir=os.getcwd(), terminal_type=self.kind)

    async def run(self, command):
        from openhands.tools.terminal.definition import TerminalAction

        observation = self._terminal(TerminalAction(command=command, timeout=200))
        if observation.exit_code != 0:
            raise RuntimeError(observation.text[-300:])
        return observation.text

    async def close(self):
        self._terminal.close()


class _Tmux(_Terminal):
    kind = "tmux"


class _Subprocess(_Terminal):
    kind = "subprocess"


shell = {"tmux": _Tmux, "subprocess": _Subprocess}


def _rg_on_path():
    here = str(Path(sys.executable).parent)
    if here not in os.environ["PATH"].split(":"):
        os.environ["PATH"] = f"{here}:{os.environ['PATH']}"


def _grep(backend):
    async def grep(root, pattern):
        _rg_on_path()
        from openhands.tools.grep.definition import GrepAction
        from openhands.tools.grep.impl import GrepExecutor

        executor = GrepExecutor(str(root))
        executor._search_backend = backend
        observation = executor(GrepAction(pattern=pattern))
        if observation.is_error:
            raise RuntimeError(observation.text)
        return observation.matches

    return grep


def _glob(method):
    async def glob(root, pattern):
        _rg_on_path()
        from openhands.tools.glob.impl import GlobExecutor

        os.chdir(root)  # its ripgrep backend matches patterns with a slash against the process's directory
        return getattr(GlobExecutor(str(root)), method)(pattern, Path(root))[0]

    return glob


grep = {"rg": _grep("ripgrep"), "python": _grep("python")}
glob = {"rg": _glob("_execute_with_ripgrep"), "python": _glob("_execute_with_glob")}


async def read(path, offset, limit):
    from openhands.tools.file_editor.editor import FileEditor

    window = [offset + 1, offset + limit]
    return FileEditor(max_file_size_mb=4000)(command="view", path=str(path), view_range=window).text


async def edit(path, old, new):
    from openhands.tools.file_editor.editor import FileEditor

    editor = FileEditor(max_file_size_mb=4000)
    observation = editor(command="str_replace", path=str(path), old_str=old, new_str=new)
    if observation.is_error:
        raise RuntimeError(observation.text)
