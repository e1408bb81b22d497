"""Run the tests that failed in the last run once more, and name those that then pass: they are flaky.

Exits with 0 if every one of them passes now, with 1 if one fails again or if the last run failed although no test
did: a crash, or a skip that is not allowed.
"""

import json
import subprocess
import sys
from pathlib import Path

LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    """The exit code."""
    failed = sorted(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.exists() else []
    if not failed:
        print("the run failed, but no test did: see above")
        return 1
    print(f"running {len(failed)} failed tests once more", flush=True)
    code = subprocess.run([sys.executable, "-m", "pytest", "--last-failed", "-v"], check=False).returncode
    again = json.loads(LAST_FAILED.read_text()) if LAST_FAILED.exists() else {}
    flaky = [test for test in failed if test not in again]
    if flaky:
        print("\n== flaky: failed, then passed ==", *flaky, sep="\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
