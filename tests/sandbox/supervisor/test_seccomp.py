"""The filter of system calls: no way around it, and programs work behind it."""

import os

import pytest

from tests.sandbox.kit import CONFINED, EVERY_ACCESS, outcomes, python
from tests.support.shells import EVERY_LAYER, Shells
from toolgate.protocol.plan import Access

KEYRINGS = """
attempt("join", lambda: call((250, 219), 1, None))
attempt("session", lambda: call((250, 219), 0, ctypes.c_int(-3), 0))
attempt("search", lambda: call((250, 219), 10, ctypes.c_int(-3), b"user", b"toolgate", 0))
attempt("add", lambda: call((248, 217), b"user", b"toolgate-planted", b"x", ctypes.c_size_t(1), ctypes.c_int(-3)))
attempt("request", lambda: call((249, 218), b"user", b"toolgate", None, ctypes.c_int(-3)))
"""


@EVERY_ACCESS
def test_the_keyrings_of_the_host_cannot_be_reached(shells: Shells, access: Access) -> None:
    assert set(outcomes(shells.command(python(KEYRINGS), access=access)).values()) == {"EPERM"}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="other machines have one table of calls")
@CONFINED
def test_a_32_bit_or_x32_call_does_not_go_around_the_filter(shells: Shells) -> None:
    tried = """
    attempt("x32 socket", lambda: call((0x40000000 + 41,), 40, 1, 0))
    attempt("x32 keyctl", lambda: call((0x40000000 + 250,), 0, ctypes.c_int(-3), 0))
    import mmap
    code = b"\\xb8\\x2a\\x00\\x00\\x00\\xcd\\x80\\xc3"  # mov eax, 42; int 0x80; ret
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(code)
    child = os.fork()
    if not child:
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
        os._exit(0)
    print("int 0x80", "SIGSYS" if os.waitpid(child, 0)[1] & 127 == 31 else "worked")
    """

    found = outcomes(shells.command(python(tried)))
    assert found == {"x32 socket": "ENOSYS", "x32 keyctl": "ENOSYS", "int 0x80": "SIGSYS"}


@EVERY_LAYER
def test_programs_work_behind_the_filter(shells: Shells) -> None:
    lines = [
        "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x --allow-empty && git log -1",
        "python3 -m pip --version",
        "echo 'int main(void) { return 0; }' > m.c && gcc m.c -o m && ./m",
        "node -e 'require(\"net\").createServer().listen(0, function () { this.close() })'",
        "mktemp -d && cp -p /etc/passwd $(mktemp) && tar cf /dev/null /etc/hosts 2>/dev/null",
    ]
    if not shells.has_view:
        lines = lines[1:2]
    for result in shells.commands(*(f"cd $TMPDIR && rm -rf work && mkdir work && cd work && {line}" for line in lines)):
        assert result.exit_code == 0, (result.stdout, result.stderr)
