"""Kimi Code: `kimi -p`."""

_CONFIG = """default_model = "mock"
telemetry = false
[providers.mock]
type = "openai"
base_url = "{url}/v1"
api_key = "none"
[models.mock]
provider = "mock"
model = "mock"
max_context_size = 200000
"""


def agent(url, home):
    from benchmarks.peers.install import npm_program

    folder = home / ".kimi-code"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(_CONFIG.format(url=url))
    return {
        "argv": [npm_program("kimi_code", "kimi"), "-p", "go"],
        "env": {"KIMI_CODE_NO_AUTO_UPDATE": "1", "KIMI_DISABLE_TELEMETRY": "1"},
    }
