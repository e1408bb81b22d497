"""Record calls, replay them later, and list what is different: python examples/record_and_replay.py [DIRECTORY]."""

import asyncio
import sys
import tempfile
from pathlib import Path

import toolgate
from toolgate.testing import Transcript


async def main(root: Path) -> None:
    """Record two calls, change a file, replay."""
    with tempfile.TemporaryDirectory() as place:
        transcript = Transcript()
        async with toolgate.open(root, "coding") as toolset:
            recording = transcript.recording(toolset)
            await recording.call("read_file", path="README.md", limit=1)
            await recording.call("read_file", path="CHANGES.md")
        transcript.save(Path(place) / "calls.json")

        (root / "CHANGES.md").write_text("# Changes\n", encoding="utf-8")
        async with toolgate.open(root, "coding") as toolset:
            for difference in await Transcript.load(Path(place) / "calls.json").replay(toolset, compare=("status",)):
                print(difference)
        (root / "CHANGES.md").unlink()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
