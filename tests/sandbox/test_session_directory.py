"""The private directories of a session."""

from tests.sandbox.kit import VIEWED, outcomes, python
from tests.support.shells import Shells


@VIEWED
def test_links_planted_in_the_private_directories_lead_the_next_set_up_nowhere(shells: Shells) -> None:
    top = shells.root.parts[2]
    shells.commands(
        f"cd /tmp; mv {top} moved; ln -s {shells.evil} {top}; ln -s /oldroot{shells.evil} x; cd ~; mv .cargo c;"
        f"ln -sfn /oldroot{shells.evil} .local; ln -sfn /oldroot{shells.evil} .cargo",
        "true",
        "cd ~; ls",
    )

    assert [path.name for path in shells.evil.iterdir()] == ["secret.txt"]


@VIEWED
def test_the_private_temp_lasts_as_long_as_the_session(shells: Shells) -> None:
    first, second = shells.commands("echo kept > /tmp/f; echo $TMPDIR", "cat /tmp/f")

    assert (first.stdout, second.stdout) == ("/tmp\n", "kept\n")


@VIEWED
def test_directories_in_memory_are_small(shells: Shells) -> None:
    tried = """
    for place in ("/dev/shm", "/dev", "/run", "/run/toolgate", "/", "/proc", "/var"):
        def fill():
            with open(place + "/filling", "wb") as file:
                for _ in range(400):
                    file.write(b"x" * (1 << 20))
        attempt(place, fill)
    """
    found = outcomes(shells.command(python(tried)))

    assert found.pop("/dev/shm") == "ENOSPC"
    assert set(found.values()) <= {"EROFS", "EACCES", "ENOENT"}, found


@VIEWED
def test_private_directories_that_a_command_has_closed_are_open_for_the_next_one(shells: Shells) -> None:
    closed, after = shells.commands("chmod 000 /tmp ~; echo closed", "echo new > /tmp/file; cat /tmp/file; ls ~")

    assert (closed.stdout, after.stdout, after.stderr) == ("closed\n", "new\n", "")
