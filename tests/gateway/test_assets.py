"""Only the page's own files are served."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.gateway.kit import (
    PATIENCE,
    Gateway,
    gateway,
    settings_for,
)
from toolgate.gateway.assets import STATIC, Assets, in_language


async def raw(port: int, head: str, *, body: bytes = b"") -> tuple[int, str]:
    """Send these very bytes and return the status and everything that comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("\n", "\r\n").encode("latin-1") + body)
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read(65_536)
    writer.close()
    return int(answer.split(b" ", 2)[1]) if answer else 0, answer.decode("latin-1")


async def get(running: Gateway, path: str, **headers: str) -> tuple[int, str]:
    given = {"Host": running.address, "Connection": "close", **headers}
    head = "\n".join([f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())])
    return await raw(running.port, head + "\n\n")


async def test_g15_only_the_pages_own_files_are_served(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        passwd = ["/static/..%2f..%2fetc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/../../../../etc/passwd"]
        passwd += [
            "/static//etc/passwd",
            "/static/....//etc/passwd",
            "/static/%00",
            "/static/index.html%00.js",
            "/static/",
        ]
        passwd += [
            "/static/..\\..\\etc\\passwd",
            "/static/%252e%252e/app.py",
            "/static/../app.py",
            "/static/.",
            "/static/INDEX.HTML",
        ]
        for path in passwd:
            status, answer = await get(running, path)
            assert status == 404, path
            assert "root:" not in answer
        status, answer = await get(running, "/static/index.html")
        assert status == 200
        assert "default-src 'none'" in answer


def test_g15_links_in_the_directory_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "outside.js").write_text("secret")
    static = tmp_path / "static"
    (static / "real").mkdir(parents=True)
    (static / "real/a.js").write_text("fine")
    (static / ".hidden.js").write_text("secret")
    (static / "notes.txt").write_text("secret")
    (static / "link.js").symlink_to(tmp_path / "outside.js")
    (static / "dir").symlink_to(tmp_path)
    assert list(Assets(static)._files) == ["real/a.js"]


PAGE = (STATIC / "index.html").read_text()

STATUS = (STATIC / "status.html").read_text()

MODULES = sorted(STATIC.glob("*.js"))


def test_nothing_is_inline() -> None:
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", PAGE + STATUS) == []


LATER = {name for module in MODULES for name in re.findall(r'\bimport\("\./([\w.]+)"\)', module.read_text())}
"""Modules that are loaded when someone opens what they show."""


def test_every_module_is_joined_or_loaded_when_it_is_opened() -> None:
    script = Assets()._files["joined/main.js"].body.decode()
    at_once = {f"{name}.js" for name in re.findall(r"^// (\w+)\.js$", script, re.MULTILINE)}
    assert at_once & LATER == set()
    assert at_once | LATER == {module.name for module in MODULES} - {"status.js", "theme.js"}


async def test_the_page_is_five_files_and_its_modules_for_a_debugger(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        page, modules = (await get(running, "/"))[1], (await get(running, "/?modules"))[1]
        files = ["icon.svg", "page.css", "theme.js"]
        assert re.findall(r'"static/([^"]+)"', page) == [*files, "joined/main.js"]
        assert re.findall(r'"static/([^"]+)"', modules) == [*files, "main.js"]
        for path in ("joined/main.js", "joined/zh-CN.js", *(f"joined/{name}" for name in LATER)):
            assert (await get(running, f"/static/{path}"))[0] == 200
        chinese = (await get(running, "/", **{"Accept-Language": "zh"}))[1]
        assert "joined/main.js" in chinese
        assert 'lang="zh-CN"' in chinese


def test_everything_together_is_at_most_90_kilobytes_over_the_network() -> None:
    plain = {module.name for module in MODULES} - {"theme.js"} | {"modules.html"}
    sizes = [len(asset.compressed or asset.body) for name, asset in Assets()._files.items() if name not in plain]
    assert sum(sizes) <= 90_000


def test_every_file_is_used() -> None:
    used = set(re.findall(r"^// (\w+\.js)$", Assets()._files["joined/main.js"].body.decode(), re.MULTILINE)) | LATER
    used |= set(re.findall(r'"static/([\w.]+)"', PAGE + STATUS)) | {"index.html", "status.html"}
    assert used == {path.name for path in STATIC.iterdir()}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_is_small_and_has_no_way_around_the_policy(module: Path) -> None:
    text = module.read_text()
    ways = re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setAttribute\(.style", text
    )
    assert ways == (["innerHTML"] if module.name == "dom.js" else [])
    lines = text.splitlines()
    assert lines[0].startswith("// ")
    assert len(lines) <= 250
    assert max(map(len, lines)) <= 120


def test_icons_that_are_used_exist() -> None:
    drawn = set(re.findall(r'symbol id="i-([\w-]+)"', PAGE))
    text = PAGE + "".join(module.read_text() for module in MODULES)
    named = set(re.findall(r'icon\("([\w-]+)"\)|href="#i-([\w-]+)"', text))
    assert {name for pair in named for name in pair if name} <= drawn
    assert {"success", "partial", "error", "denied", "cancelled", "running", "waiting"} <= drawn


def test_scripts_are_served_without_comments_and_with_their_line_numbers() -> None:
    served = Assets()._files
    for module in MODULES:
        source, body = module.read_text().splitlines(), served[module.name].body.decode().splitlines()
        kept = ["" if re.fullmatch(r"\s*(//.*|/\*\*.*\*/)", line) else line for line in source]
        assert body == kept, module.name
    assert "/**" not in served["text.js"].body.decode()


def test_no_comment_is_inside_a_template() -> None:
    for module in MODULES:
        for template in re.findall(r"`[^`]*`", re.sub(r"(?m)^\s*(//|/\*\*).*$", "", module.read_text())):
            assert "\n" not in template, f"{module.name}: {template}"


@pytest.mark.parametrize(
    ("path", "accept", "language"),
    [
        ("/", "zh-CN,zh;q=0.9", "zh-CN"),
        ("/static/index.html", "zh", "zh-CN"),
        ("/", "de, en;q=0.5", "en"),
        ("/", "", "en"),
    ],
)
async def test_a_page_is_in_the_language_that_the_browser_prefers(
    tmp_path: Path, path: str, accept: str, language: str
) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        status, answer = await get(running, path, **{"Accept-Language": accept})
    assert status == 200
    assert f'<html lang="{language}">' in answer
    assert "vary: accept-encoding, accept-language" in answer


async def test_the_setting_decides_about_the_language_of_the_page(tmp_path: Path) -> None:
    settings = settings_for(tmp_path).model_copy(update={"language": "en"})
    async with gateway(settings) as running:
        assert '<html lang="en">' in (await get(running, "/", **{"Accept-Language": "zh-CN"}))[1]
        assert (await get(running, "/static/zh-CN.js"))[0] == 200
        assert (await get(running, "/static/fr.js"))[0] == 404


def test_a_page_in_another_language_has_the_same_elements() -> None:
    def elements(page: str) -> list[str]:
        return re.findall(r"<(/?[\w-]+)", page)

    for page in (PAGE, STATUS):
        assert elements(in_language(page, "zh-CN")) == elements(page)
        assert in_language(page, "en") == page
