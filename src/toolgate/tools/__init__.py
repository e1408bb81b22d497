"""Tools: the base class, the `@tool` decorator, the context that tools run in, and the built-in tools.

Lives here: one module and one `.md` text per built-in tool, and what a tool declares about itself.
May touch: files through `workspace/` and `search/`, commands through `shell/`; nothing of the runtime.
Start reading: `base.py`, then `builtin/read_file.py`.
"""
