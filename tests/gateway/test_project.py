"""What the page says about the project."""

import asyncio
import threading
from pathlib import Path

import pytest

from tests.gateway.kit import PATIENCE, gateway, settings_for
from tests.gateway.test_project_methods import a_project
from toolgate.gateway import service
from toolgate.gateway.project import project_label
from toolgate.testing import ScriptedModel
from toolgate.workspace import Stop


async def test_the_project_is_described_with_suggestions_from_itself(tmp_path: Path) -> None:
    a_project(tmp_path)
    async with gateway(settings_for(tmp_path), ScriptedModel([])) as running, running.client() as client:
        info = await client.data("project.info")
        async with asyncio.timeout(PATIENCE):
            while not info["sandbox"]:  # it is being found out
                info = await client.data("project.info")
        assert (info["name"], info["branch"], info["coding_enabled"]) == ("root", "main", True)
        assert info["sandbox"] in ("bwrap", "namespaces", "landlock", "off", "unavailable"), info["sandbox"]
        assert info["suggestions"] == [
            "Read the README and explain how this project works",
            "Run the tests and fix what fails",
            "Explain the last commit, “Sell pears”",
        ]
        asked = await client.data("project.info", mode="chat_safe")
        assert not set(asked["suggestions"]) & set(info["suggestions"])


async def test_nobody_waits_until_the_sandbox_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, asked = threading.Event(), list[str]()

    def slowly(_stop: Stop, wanted: str, _bubblewrap: str | None) -> str:
        asked.append(wanted)
        known.wait(PATIENCE)
        return "bwrap"

    monkeypatch.setattr(service, "sandbox", slowly)
    async with gateway(settings_for(tmp_path), ScriptedModel([])) as running, running.client() as client:
        assert (await client.data("project.info"))["sandbox"] == ""
        assert (await client.data("project.info"))["name"] == "root"
        known.set()
        async with asyncio.timeout(PATIENCE):
            while (await client.data("project.info"))["sandbox"] != "bwrap":
                pass
        assert len(asked) == 1


def test_a_root_is_named_below_the_home_or_by_its_last_parts() -> None:
    assert project_label("/home/ann/work/shop", "/home/ann") == "~/work/shop"
    assert project_label("/srv/data/shop", "/home/ann") == "…/data/shop"
    assert project_label("/srv/shop", "") == "/srv/shop"
    assert project_label("shop", "") == "shop"
