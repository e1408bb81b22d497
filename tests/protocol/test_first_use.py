"""Models are built when they are used first, which may be in several threads at once."""

import subprocess
import sys

PROGRAM = """
import sys, threading

from toolgate import ToolCall, ToolResponse
from toolgate.protocol.record import CallRecord
from toolgate.sessions.types import Message
from toolgate.settings import GatewaySettings
from toolgate.tools.builtin.edit_file import FileEditParams

assert not ToolResponse.__pydantic_complete__ and not FileEditParams.__pydantic_complete__
sys.setswitchinterval(1e-6)
together = threading.Barrier(8)
good = []

def use() -> None:
    together.wait()
    response = ToolResponse(status="partial", data={}, text="cut")
    assert ToolResponse.model_validate_json(response.to_json()) == response
    assert CallRecord(kind="started", session_id=None, call_id="1", tool_name="x", payload={}).kind == "started"
    edits = FileEditParams.model_validate_json('{"path": "a", "edits": [{"old_string": "b", "new_string": "c"}]}').edits
    assert edits[0].new_string == "c"
    assert GatewaySettings(port=1).port == 1
    call = ToolCall(id="1", name="x", arguments="{}")
    assert Message(role="assistant", content="", tool_calls=(call,)).model_dump()["tool_calls"][0]["id"] == "1"
    good.append(1)

threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(good))
"""


def test_threads_may_use_a_model_first_at_the_same_time() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=50, check=False)

    assert (ended.stdout, ended.stderr) == ("8\n", "")
