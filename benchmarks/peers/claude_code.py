"""Claude Code: `claude -p`, with Bash allowed."""


def agent(url, home):
    from benchmarks.peers.install import npm_program

    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return {
        "argv": [
            npm_program("claude_code", "@anthropic-ai/claude-code-*/claude"),
            "-p",
            "go",
            "--allowedTools",
            "Bash",
        ],
        "env": {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", **quiet},
    }
