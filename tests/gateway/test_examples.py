"""The files for Docker and systemd name what exists."""

import argparse
import re
import tomllib
from pathlib import Path

from toolgate.cli import serve
from toolgate.settings import variables

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "docker/Dockerfile").read_text(encoding="utf-8")
UNIT = (ROOT / "docker/toolgate.service").read_text(encoding="utf-8")


def test_every_variable_is_a_setting() -> None:
    for text in (DOCKERFILE, UNIT, (ROOT / "docs/gateway.md").read_text(encoding="utf-8")):
        mentioned = set(re.findall(r"\b(?:TOOLGATE|SESSION|TOOL_OUTPUT)_[A-Z_]+\b", text)) - {"SESSION_BUSY"}
        assert mentioned
        assert mentioned <= variables()


def test_every_option_of_serve_exists() -> None:
    parser = argparse.ArgumentParser()
    serve.configure(parser)
    known = {option for action in parser._actions for option in action.option_strings}
    for text in (DOCKERFILE.partition('CMD ["toolgate"')[2], UNIT):
        options = set(re.findall(r"(?<![\w-])--[a-z-]+", text.partition("serve")[2].partition("\n")[0]))
        assert options
        assert options <= known
    documented = set(re.findall(r"`(--[a-z-]+)", (ROOT / "docs/gateway.md").read_text(encoding="utf-8")))
    assert known - {"-h", "--help"} - documented == set()


def test_every_file_and_extra_exists() -> None:
    for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists(), name
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wanted = re.search(r'"\.\[([a-z,]+)\]"', DOCKERFILE)
    assert wanted is not None
    assert set(wanted[1].split(",")) <= set(extras)
    assert "/health/ready" in DOCKERFILE
    assert "-HUP" in UNIT
