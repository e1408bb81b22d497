"""The scan for secret and denied files."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toolgate.runtime.policy.globs import PathGlob
from toolgate.workspace import Workspace, secret_scan
from toolgate.workspace.secret_scan import SecretScan


def scan_of(root: Path) -> SecretScan:
    return SecretScan(Workspace(root))


def _settle(root: Path) -> None:
    """Wait until the scan trusts the time of change of every folder."""
    folders = (root, *(path for path in root.rglob("*") if path.is_dir()))
    last = max(folder.stat().st_ctime_ns for folder in folders)
    while time.time_ns() - last <= secret_scan._SETTLED:
        time.sleep(0.01)


def test_secret_files_are_found_by_name_and_by_content(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / ".env").write_text("A=1")
    (tmp_path / "api" / ".env.example").write_text("A=")
    (tmp_path / "deploy.pem").write_text("-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n")
    (tmp_path / "public.pem").write_text("-----BEGIN CERTIFICATE-----\n" + "A" * 64 + "\n")
    assert sorted(scan_of(tmp_path).find().secrets) == ["api/.env", "deploy.pem"]


def test_what_appears_between_two_scans_is_found(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    _settle(tmp_path)
    scan = scan_of(tmp_path)
    assert scan.find().secrets == {}
    (tmp_path / "a" / "b" / ".env").write_text("A=1")
    assert list(scan.find().secrets) == ["a/b/.env"]
    (tmp_path / "a" / "b" / ".env").unlink()
    assert scan.find().secrets == {}


def test_a_key_that_is_written_into_a_known_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "site.key").write_text("")
    _settle(tmp_path)
    scan = scan_of(tmp_path)
    assert scan.find().secrets == {}
    (tmp_path / "site.key").write_text("-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n")
    assert list(scan.find().secrets) == ["site.key"]


def test_other_hard_links_and_the_targets_of_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".env").write_text("A=1")
    (tmp_path / "sub" / "notes.txt").hardlink_to(tmp_path / ".env")
    (tmp_path / "values").write_text("B=1")
    (tmp_path / "sub" / ".env").symlink_to("../values")
    (tmp_path / "outside.env").symlink_to("/etc/passwd")
    assert sorted(scan_of(tmp_path).find().secrets) == [".env", "sub/notes.txt", "values"]


def test_denied_paths_are_found_under_every_name_and_after_a_move(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "prod.yml").write_text("x")
    (tmp_path / "vault" / "deep").mkdir(parents=True)
    (tmp_path / "vault" / "deep" / "file").write_text("x")
    (tmp_path / "alias").hardlink_to(tmp_path / "config" / "prod.yml")
    rules = (PathGlob("config/prod.yml"), PathGlob("vault/**"))
    scan = scan_of(tmp_path)
    assert sorted(scan.find(rules).denied) == ["alias", "config/prod.yml", "vault"]
    (tmp_path / "alias").unlink()
    (tmp_path / "config").rename(tmp_path / "moved")
    assert sorted(scan.find(rules).denied) == ["moved/prod.yml", "vault"]


def test_a_tree_that_is_too_large_is_not_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (tmp_path / str(number)).mkdir()
    monkeypatch.setattr(secret_scan, "MAX_FOLDERS", 3)
    assert not scan_of(tmp_path).find().complete
    monkeypatch.undo()
    assert scan_of(tmp_path).find().complete


def test_a_directory_with_the_name_of_an_output_file_is_looked_into(tmp_path: Path) -> None:
    name = "tool_20260301_101500_Bash.log"
    (tmp_path / name).mkdir()
    (tmp_path / name / ".env").write_text("A=1")
    assert list(scan_of(tmp_path).find().secrets) == [f"{name}/.env"]


def test_an_output_file_that_a_rule_denies_is_denied(tmp_path: Path) -> None:
    (tmp_path / "tool_20260301_101500_Bash.log").write_text("")
    assert scan_of(tmp_path).find([PathGlob("*.log")]).denied == {"tool_20260301_101500_Bash.log"}


def test_a_folder_that_was_moved_is_found_although_the_time_was_set_back(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / ".env").write_text("KEY=1")
    _settle(tmp_path)
    scan = scan_of(tmp_path)
    assert set(scan.find().secrets) == {"config/.env"}
    before = tmp_path.stat()
    (tmp_path / "config").rename(tmp_path / "moved")
    os.utime(tmp_path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert set(scan.find().secrets) == {"moved/.env"}


def test_a_tree_that_did_not_change_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / ".env").write_text("KEY=1")
    _settle(tmp_path)
    scan = scan_of(tmp_path)
    first = scan.find()
    monkeypatch.setattr(secret_scan, "_read", lambda *_: pytest.fail("it was read again"))
    monkeypatch.setattr(SecretScan, "_walk", lambda *_: pytest.fail("it was walked through again"))
    assert scan.find() == first
    assert set(first.secrets) == {"a/b/.env"}


def test_only_the_folder_that_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    _settle(tmp_path)
    scan = scan_of(tmp_path)
    scan.find()
    (tmp_path / "a" / ".env").write_text("KEY=1")
    usual_read, usual_stat, read, looks = secret_scan._read, os.stat, list[str](), list[object]()

    def noted_read(path: str, *how: Any) -> Any:
        read.append(path)
        return usual_read(path, *how)

    def noted_stat(path: Any, **how: Any) -> os.stat_result:
        looks.append(path)
        return usual_stat(path, **how)

    monkeypatch.setattr(secret_scan, "_read", noted_read)
    monkeypatch.setattr(os, "stat", noted_stat)
    assert set(scan.find().secrets) == {"a/.env"}
    assert read == ["a"]
    assert [looks.count(path) for path in (".", "a", "a/b", "c")] == [1, 1, 1, 1]


def test_folders_that_appear_and_go_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / ".env").write_text("KEY=1")
    _settle(tmp_path)
    scan = scan_of(tmp_path)
    assert (set(scan.find().secrets), scan.folders) == ({"a/b/.env"}, 3)
    (tmp_path / "a").rename(tmp_path / "new")
    (tmp_path / "new" / "more").mkdir()
    assert (set(scan.find().secrets), scan.folders) == ({"new/b/.env"}, 4)
    (tmp_path / "new" / "b" / ".env").unlink()
    (tmp_path / "new" / "b").rmdir()
    assert (set(scan.find().secrets), scan.folders) == (set(), 3)


def test_a_scan_with_other_rules_meanwhile_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").write_text("x")
    _settle(tmp_path)
    scan = scan_of(tmp_path)
    usual = secret_scan._read

    def beside(*arguments: Any) -> Any:
        """Another thread looks with the rules as they are now, before this one is done."""
        monkeypatch.setattr(secret_scan, "_read", usual)
        assert scan.find([PathGlob("plain")]).denied == {"plain"}
        return usual(*arguments)

    monkeypatch.setattr(secret_scan, "_read", beside)
    assert scan.find().denied == set()
    assert scan.find([PathGlob("plain")]).denied == {"plain"}


def test_a_folder_that_could_not_be_read_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".env").write_text("KEY=1")
    _settle(tmp_path)
    usual = Workspace.open_directory

    def refused(self: Workspace, parts: Sequence[str]) -> int:
        if list(parts) == ["a"]:
            raise PermissionError
        return usual(self, parts)

    scan = scan_of(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Workspace, "open_directory", refused)
        assert scan.find().secrets == {}
    assert set(scan.find().secrets) == {"a/.env"}


def test_another_name_of_a_file_in_a_denied_folder_is_denied(tmp_path: Path) -> None:
    (tmp_path / "vault" / "deep").mkdir(parents=True)
    (tmp_path / "vault" / "deep" / "a").write_text("x")
    (tmp_path / "plain.txt").write_text("y")
    _settle(tmp_path)
    scan = scan_of(tmp_path)
    assert scan.find((PathGlob("vault/**"),)).denied == {"vault"}

    os.link(tmp_path / "vault" / "deep" / "a", tmp_path / "other")

    assert scan.find((PathGlob("vault/**"),)).denied == {"vault", "other"}


def test_a_large_denied_folder_does_not_make_a_scan_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_scan, "MAX_FOLDERS", 5)
    for number in range(10):
        (tmp_path / "vault" / str(number)).mkdir(parents=True)

    found = scan_of(tmp_path).find((PathGlob("vault/**"),))

    assert found.denied == {"vault"}
    assert found.complete
