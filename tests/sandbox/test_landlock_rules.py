"""The view as Landlock rules: rights can only be added, so what is hidden is left out by listing around it."""

from pathlib import Path

from toolgate.sandbox.landlock_rules import cover, root_grants, system_grants


def test_a_directory_without_exceptions_is_one_rule(tmp_path: Path) -> None:
    assert list(cover(str(tmp_path), ())) == [(str(tmp_path), "read")]


def test_around_an_exception_everything_else_is_listed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "open.txt").write_text("")
    (tmp_path / "a" / "secret.txt").write_text("")
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to("a")

    found = list(cover(str(tmp_path), [str(tmp_path / "a" / "secret.txt")]))

    assert found == [
        (str(tmp_path), "list"),
        (str(tmp_path / "a"), "list"),
        (str(tmp_path / "a" / "open.txt"), "read"),
        (str(tmp_path / "b"), "read"),
    ]


def test_a_directory_with_a_similar_name_is_not_an_exception(tmp_path: Path) -> None:
    assert list(cover(str(tmp_path), [f"{tmp_path}-evil/secret"])) == [(str(tmp_path), "read")]


def test_the_root_is_writable_as_a_whole_or_readable_without_what_is_hidden(tmp_path: Path) -> None:
    hidden = [str(tmp_path / ".toolgate")]
    (tmp_path / ".toolgate").mkdir()

    assert list(root_grants(str(tmp_path), "write", hidden)) == [(str(tmp_path), "write")]
    assert list(root_grants(str(tmp_path), "read", hidden)) == [(str(tmp_path), "list")]


def test_only_harmless_devices_of_the_system_can_be_written() -> None:
    writable = {path for path, right in system_grants(()) if right == "write"}

    assert writable == {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
