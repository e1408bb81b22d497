"""kimi-cli's own file and search tools; its dispatch is kosong's. Its reader caps a window at 1,000 lines."""

import os
import sys
import tempfile
from pathlib import Path

imports = "from kimi_cli.tools.file.read import ReadFile"


def _runtime(root):
    from types import SimpleNamespace

    from kaos.path import KaosPath

    class Agreeable:
        async def request(self, *args, **kwargs):
            return True

        def is_yolo(self):
            return True

    runtime = SimpleNamespace(
        environment=SimpleNamespace(
            shell_name="bash", shell_path=KaosPath("/bin/bash"), os_kind="Linux", os_arch="x86_64", os_version=""
        ),
        builtin_args=SimpleNamespace(KIMI_WORK_DIR=KaosPath(str(root))),
        additional_dirs=[],
        skills_dirs=[],
        session=SimpleNamespace(work_dir=KaosPath(str(root))),
    )
    return runtime, Agreeable()


def _answer(result):
    if result.is_error:
        raise RuntimeError(result.message)
    return str(result.output)


class _Shell:
    """`Shell`, which keeps 50,000 characters of the output."""

    def __init__(self):
        from kimi_cli.tools.shell import Shell

        runtime, agreeable = _runtime(os.getcwd())
        self._shell = Shell(agreeable, runtime.environment, runtime)

    async def run(self, command):
        from kimi_cli.tools.shell import Params

        return _answer(await self._shell(Params(command=command, timeout=200)))

    async def close(self):
        pass


shell = _Shell


async def grep(root, pattern):
    from kimi_cli.tools.file.grep_local import Grep, Params

    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    parameters = {"pattern": pattern, "path": str(root), "output_mode": "content", "head_limit": 0}
    return _answer(await Grep()(Params(**parameters))).splitlines()


async def glob(root, pattern):
    from kimi_cli.tools.file.glob import Glob, Params

    runtime, _ = _runtime(root)
    return _answer(await Glob(runtime)(Params(pattern=pattern, directory=str(root)))).splitlines()


async def read(path, offset, limit):
    from kimi_cli.tools.file.read import Params, ReadFile

    runtime, _ = _runtime(tempfile.gettempdir())
    return _answer(await ReadFile(runtime)(Params(path=str(path), line_offset=offset + 1, n_lines=limit)))


async def edit(path, old, new):
    from kimi_cli.tools.file.replace import Edit, Params, StrReplaceFile

    runtime, agreeable = _runtime(tempfile.gettempdir())
    _answer(await StrReplaceFile(runtime, agreeable)(Params(path=str(path), edit=Edit(old=old, new=new))))
