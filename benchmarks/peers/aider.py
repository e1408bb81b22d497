"""aider: what it does with a suggested command and with one block of an edit."""

imports = "from aider.coders import Coder"


class _Shell:
    """It prints every character of the output as it comes, here into a file."""

    async def run(self, command):
        from aider.run_cmd import run_cmd_subprocess

        status, output = run_cmd_subprocess(command, encoding="utf-8")
        assert status == 0, output[-200:]
        return output

    async def close(self):
        pass


shell = _Shell


async def edit(path, old, new):
    from aider.coders.editblock_coder import do_replace
    from aider.io import InputOutput

    console = InputOutput(pretty=False, fancy_input=False)
    replaced = do_replace(path, console.read_text(path), old + "\n", new + "\n", ("```", "```"))
    assert replaced
    console.write_text(path, replaced)
