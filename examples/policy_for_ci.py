"""Rules and answers for a program that runs without a person: python examples/policy_for_ci.py [DIRECTORY]."""

import asyncio
import sys

import toolgate
from toolgate import ApprovalRule, Policy, PolicyApprover, Rule

POLICY = Policy.of(
    Rule(tool="Bash", words=("git", "push"), decision="deny", reason="the pipeline publishes, not the agent"),
    Rule(tool="write_file", args={"path": "reports/**"}, decision="allow", match=("reports/a.md",)),
)
"""Decides before anybody is asked. The files of the user and of the project count as well; the strictest rule wins."""

APPROVER = PolicyApprover(
    [
        ApprovalRule(decision="allow", max_risk="low"),
        ApprovalRule(decision="deny", message="only changes that can be undone are allowed here"),
    ]
)
"""Answers what is still asked about."""


async def main(root: str) -> None:
    """Make four calls, and say what became of each."""
    async with toolgate.open(root, "coding", approver=APPROVER, policy=POLICY) as toolset:
        calls = {
            "write a report": toolset.call("write_file", path="reports/today.md", content="# Today\n"),
            "write a note": toolset.call("write_file", path="note.txt", content="fine\n"),
            "remove the note": toolset.call("Bash", command="rm note.txt"),
            "push": toolset.call("Bash", command="git push origin main"),
        }
        for what, call in calls.items():
            result = await call
            print(f"{what}: {result.error_code or 'done'}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "."))
