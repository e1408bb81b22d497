"""mini-swe-agent: `mini -y`; it ends when a command prints what it waits for."""

import sys
from pathlib import Path


def agent(url, home):
    program = str(Path(sys.executable).parent / "mini")
    return {
        "argv": [program, "-t", "go", "-y", "--exit-immediately", "-m", "openai/mock"],
        "final": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
        "env": {
            "OPENAI_API_BASE": f"{url}/v1",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_SILENT_STARTUP": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    }
