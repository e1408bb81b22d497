"""The commands and the chat speak the language of the terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LONG = 60


def toolgate(home: Path, *words: str, typed: str = "", **environ: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "toolgate", *words],
        input=typed,
        capture_output=True,
        encoding="utf-8",
        cwd=home,
        env={**kept, "HOME": str(home), "PYTHONUTF8": "1", **environ},
        timeout=LONG,
        check=False,
    )


@pytest.mark.parametrize(
    ("environ", "first"),
    [
        ({}, "usage: toolgate COMMAND [...]"),
        ({"LANG": "C.UTF-8"}, "usage: toolgate COMMAND [...]"),
        ({"LANG": "fr_FR.UTF-8"}, "usage: toolgate COMMAND [...]"),
        ({"LANG": "zh_CN.UTF-8"}, "用法：toolgate COMMAND [...]"),
        ({"LANG": "zh_CN.UTF-8", "TOOLGATE_LANGUAGE": "en"}, "usage: toolgate COMMAND [...]"),
        ({"TOOLGATE_LANGUAGE": "zh-CN"}, "用法：toolgate COMMAND [...]"),
    ],
)
def test_the_help_is_in_the_language_of_the_terminal(tmp_path: Path, environ: dict[str, str], first: str) -> None:
    assert toolgate(tmp_path, "--help", **environ).stdout.splitlines()[0] == first


def test_the_language_may_be_in_the_config_file(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('language = "zh-CN"\n')
    done = toolgate(tmp_path, "dcotor", TOOLGATE_CONFIG_FILE=str(config))
    assert (done.returncode, done.stderr) == (2, "toolgate：没有命令 'dcotor'；您是指 'doctor' 吗？\n")


def test_a_broken_config_file_is_reported_by_the_command_and_not_by_the_language(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("language = [")
    assert toolgate(tmp_path, "--help", TOOLGATE_CONFIG_FILE=str(config)).stdout.startswith("usage:")
    done = toolgate(tmp_path, "chat", "--print", "current_time", TOOLGATE_CONFIG_FILE=str(config))
    assert (done.returncode, "is not TOML" in done.stderr) == (2, True)


def test_a_language_that_there_is_not_is_refused_like_every_setting(tmp_path: Path) -> None:
    done = toolgate(tmp_path, "chat", "--print", "current_time", TOOLGATE_LANGUAGE="tlh")
    assert (done.returncode, "TOOLGATE_LANGUAGE: Input should be 'auto', 'en' or 'zh-CN'" in done.stderr) == (2, True)


def test_the_doctor_speaks_chinese_to_people_and_english_to_programs(tmp_path: Path) -> None:
    said = toolgate(tmp_path, "doctor", LANG="zh_CN.UTF-8").stdout
    assert "所有必要的部分都正常" in said or "项损坏" in said or "一切都可用" in said
    found = json.loads(toolgate(tmp_path, "doctor", "--json", LANG="zh_CN.UTF-8").stdout)
    assert all(check["finding"].isascii() for check in found)


def test_the_chat_speaks_chinese_and_the_model_english(tmp_path: Path) -> None:
    done = toolgate(
        tmp_path, "chat", typed="/help\n/mode\n/nothing\ncurrent_time timezone=No/Where\n", LC_ALL="zh_CN.UTF-8"
    )
    assert "显示命令和按键" in done.stderr
    assert "chat_safe：没有文件，没有命令。" in done.stderr
    assert "没有 /nothing。/help 会列出命令。" in done.stderr
    assert done.stdout.isascii()  # what a model would read
    assert "INVALID_PARAM" in done.stderr


def test_a_usage_error_is_chinese(tmp_path: Path) -> None:
    done = toolgate(tmp_path, "chat", "--json", LANG="zh_CN.UTF-8")
    assert (done.returncode, done.stderr) == (2, "toolgate chat: --json 要与 --print MESSAGE 一起使用\n")


def test_the_agents_shell_speaks_chinese_and_its_answers_english(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    typed = ":nothing\n:env\n:access\n:explain rm a.txt\nrm a.txt\n"
    done = toolgate(tmp_path, "sh", "--root", "project", typed=typed, LANG="zh_CN.UTF-8")

    assert "没有 :nothing。\n像模型那样输入命令：" in done.stderr
    assert "还没有运行过命令。" in done.stderr
    assert "命令的访问权限是 write。" in done.stderr
    assert "原因  'rm'：它删除文件" in done.stdout
    assert "nobody can be asked here" in done.stderr  # what a model reads of the denial


def test_the_reasons_of_the_policy_are_chinese_for_people_and_english_for_programs(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    words = ("policy", "explain", "Bash", "git push; rm -r build", "--root", "project")
    shown = toolgate(tmp_path, *words, LANG="zh_CN.UTF-8").stdout
    for_programs = json.loads(toolgate(tmp_path, *words, "--json", LANG="zh_CN.UTF-8").stdout)

    assert shown.splitlines()[0] == "ask"
    assert "原因  它发布提交；'rm'：它删除文件" in shown
    assert for_programs["reason"].isascii()


def test_sessions_are_listed_and_shown_in_chinese(tmp_path: Path) -> None:
    assert toolgate(tmp_path, "sessions", "list", LANG="zh_CN.UTF-8").stdout.startswith("还没有会话。")
    toolgate(tmp_path, "chat", "--print", "current_time")
    listed = toolgate(tmp_path, "sessions", "list", LANG="zh_CN.UTF-8").stdout.splitlines()
    shown = toolgate(tmp_path, "sessions", "show", listed[1].split()[0], LANG="zh_CN.UTF-8").stdout
    pruned = toolgate(tmp_path, "sessions", "prune", "--older-than", "1d", LANG="zh_CN.UTF-8").stdout

    assert listed[0].split() == ["ID", "时间", "模式", "回合", "TOKEN", "项目", "标题"]
    assert "── 回合 1 · " in shown
    assert "完成" in shown
    assert "\n您\n" in shown
    assert pruned == "没有这么久的会话。\n"
