"""What programs that copy, move, pack and convert files overwrite."""

import pytest

from tests.command.analysis.kit import dangers


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cp a f", "it overwrites 'f', which exists"),
        ("cp a new", ""),
        ("cp a src", ""),
        ("cp f src", "it overwrites 'src/f', which exists"),
        ("cp -t src f", "it overwrites 'src/f', which exists"),
        ("cp -n a f", ""),
        ("install a f", "it overwrites 'f', which exists"),
        ("ln -sf a f", "it overwrites 'f', which exists"),
        ("rsync a f", "it overwrites 'f', which exists"),
        ("rsync -n a f", ""),
    ],
)
def test_a_copy_overwrites_what_is_at_its_target(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cp -rT src .", "it overwrites 'f', which exists"),
        ("cp -a src/. .", "it overwrites 'f', which exists"),
        ("rsync -a src/ .", "it overwrites 'f', which exists"),
        ("rsync -a src .", ""),
        ("cp -rnT src .", ""),
        ("cp -r /tmp/src .", "it may overwrite files in 'src'"),
        ("cp -r /tmp/other .", ""),
        ("cp /tmp/src .", ""),
    ],
)
def test_a_directory_that_is_copied_over_another_overwrites_its_files(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize("command", ["cp list x; sh x", "mv list src/x; bash src/x", "ln list x && . ./x"])
def test_what_was_copied_is_not_run_unseen(command: str) -> None:
    assert "which it writes itself" in dangers(command)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("mv f /tmp", "it moves 'f' out of the project"),
        ("mv f new", ""),
        ("mv nothere /tmp", ""),
        ("rsync a host:b", "'rsync': it acts on another machine"),
    ],
)
def test_what_leaves_the_project_is_lost(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("ln -s ../x l", "'/project/../x' is outside the root"),
        ("ln -s ../x src/l", ""),
        ("ln -s /etc/hosts l", "'/etc/hosts' is outside the root"),
    ],
)
def test_the_target_of_a_link_is_resolved_from_the_link(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("tar cf f src", "it overwrites 'f', which exists"),
        ("tar -cf new src", ""),
        ("tar xf f", ""),
        ("tar -I'rm x' -cf new src", "'rm': it removes files"),
        ("tar -zcI 'rm x' -f new src", "'rm': it removes files"),
        ("tar cIf 'rm x' new src", "'rm': it removes files"),
        ("tar -czf new.tgz -C src F I", ""),
        ("gzip f", "it replaces 'f' by a compressed file"),
        ("gzip -k f", ""),
        ("convert f f", "'convert': it replaces 'f'"),
        ("convert a f", "it overwrites 'f', which exists"),
        ("ffmpeg -i a f", ""),
        ("ffmpeg -y -i a f", "it overwrites 'f', which exists"),
    ],
)
def test_archives_and_conversions_write_files(command: str, reason: str) -> None:
    assert dangers(command) == reason
