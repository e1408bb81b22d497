"""The line reader agrees with bash about simple commands."""

import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate.command.line import read_line

SHELLISH = st.text(st.sampled_from(list("abrm \t\n'\"\\$`(){}[]<>|&;#~*?!=-x1")), max_size=14)


@settings(max_examples=60, deadline=None)
@given(SHELLISH)
def test_the_line_reader_agrees_with_bash_about_simple_commands(text: str) -> None:
    command = f"printf '%s\\0' {text}"
    line = read_line(command)
    if line.operator or line.problem or line.content or not all(word.known for word in line.words):
        return
    if any(mark in word.raw for word in line.words[2:] for mark in "*?[{!"):
        return
    ran = subprocess.run(
        ["bash", "-c", command], capture_output=True, check=False, cwd="/", env={"PATH": "/usr/bin:/bin"}
    )
    words = [word.text for word in line.words[2:]]
    assert ran.stdout.decode() == ("".join(f"{word}\0" for word in words) if words else "\0")
