"""The layer without bubblewrap: what Landlock alone enforces and refuses."""

import pytest

from tests.support.privileges import UIDS
from tests.support.shells import CANARY, shells_for
from toolgate.errors import ToolError
from toolgate.shell.session import ShellSession


@pytest.mark.parametrize("uid", UIDS)
def test_landlock_alone_refuses_to_write_what_it_cannot_protect(uid: int) -> None:
    with shells_for(uid, "landlock") as shells:

        async def script(session: ShellSession) -> str:
            with pytest.raises(ToolError) as caught:
                await session.execute("true", access="write")
            return caught.value.message

        assert "cannot be enforced" in shells.run(script)


@pytest.mark.parametrize("uid", UIDS)
def test_landlock_alone_enforces_reading(uid: int) -> None:
    with shells_for(uid, "landlock") as shells:
        (shells.root / "f").write_text("readable\n")
        (shells.root / ".toolgate").mkdir()
        (shells.root / ".toolgate" / "p").write_text(CANARY)
        results = shells.commands(
            f"cat f; cat .toolgate/p {shells.evil}/secret.txt /etc/shadow; touch new sub/new;"
            "echo x > $TMPDIR/f; cat $TMPDIR/f",
            "python3 -I -c 'import socket; socket.socket()'",
            "python3 -I -c 'import socket; socket.socket(socket.AF_UNIX)'",
            "kill -0 $PPID",
        )

        assert results[0].stdout == "readable\nx\n"
        assert CANARY not in repr(results)
        assert [result.exit_code for result in results[1:3]] == [1, 1]
        assert sorted(path.name for path in shells.root.rglob("*")) == [".toolgate", "f", "p", "sub"]
