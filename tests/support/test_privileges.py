"""Tests as another user: which directory keeps that user from the project."""

from pathlib import Path

from tests.support.privileges import closed_directory, public_directory


def test_the_first_directory_that_other_users_cannot_enter_is_named() -> None:
    with public_directory() as base:
        inner = base / "closed" / "open"
        inner.mkdir(parents=True)
        before = closed_directory(inner)
        (base / "closed").chmod(0o700)

        assert (before, closed_directory(inner), closed_directory(base)) == (None, base / "closed", None)


def test_a_directory_that_is_closed_itself_is_named(public_path: Path) -> None:
    public_path.chmod(0o700)

    assert closed_directory(public_path) == public_path
