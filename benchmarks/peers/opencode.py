"""opencode: `opencode run`."""

import json


def agent(url, home):
    from benchmarks.peers.install import npm_program

    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "mock",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"mock": {"name": "mock", "tool_call": True}},
    }
    config = {"autoupdate": False, "share": "disabled", "model": "mock/mock", "small_model": "mock/mock"}
    (home / "work" / "opencode.json").write_text(json.dumps(config | {"provider": {"mock": provider}}))
    quiet = ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD")
    return {
        "argv": [npm_program("opencode", "opencode-linux-*/bin/opencode"), "run", "--auto", "go"],
        "env": dict.fromkeys(quiet, "1"),
    }
