"""Codex: `codex exec`, without and with its sandbox."""


def _agent(sandbox):
    def agent(url, home):
        from benchmarks.peers.install import npm_program

        provider = f'model_providers.mock={{name="mock",base_url="{url}/v1",wire_api="responses",env_key="MOCK_KEY"}}'
        settings = ["model_provider=mock", provider, "analytics.enabled=false", "check_for_update_on_startup=false"]
        options = [word for setting in settings for word in ("-c", setting)]
        program = npm_program("codex", "codex")
        return {
            "argv": [program, "exec", "--skip-git-repo-check", "-s", sandbox, "-m", "mock", *options, "go"],
            "env": {"MOCK_KEY": "none"},
        }

    return agent


agent = {"no-sandbox": _agent("danger-full-access"), "sandbox": _agent("workspace-write")}
