"""Preparing texts: the same rows in a process of its own, and no process is left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import UUID

import pytest

from app.knowledge_bases.preparing import Preparer

SOURCE, VERSION = UUID(int=1), UUID(int=2)
TEXT = "\n\n".join(
    f"Crane {number} is inspected every quarter, and whoever finds a fault writes it down." for number in range(200)
)
# Prepares in a process, says its id, and waits to be killed.
PARENT = """
import asyncio, multiprocessing, time, uuid
from app.knowledge_bases.preparing import Preparer

if __name__ == "__main__":
    preparer = Preparer(long_text=0)
    asyncio.run(preparer.prepare(uuid.uuid4(), uuid.uuid4(), "Some text."))
    print(multiprocessing.active_children()[0].pid, flush=True)
    time.sleep(60)
"""


async def test_a_long_text_comes_out_of_a_process_as_a_short_one_of_a_thread() -> None:
    apart, here = Preparer(long_text=100), Preparer()
    try:
        processed = await apart.prepare(SOURCE, VERSION, TEXT)
        threaded = await here.prepare(SOURCE, VERSION, TEXT)
    finally:
        apart.close()
    assert len(processed) > 5
    assert [(p.text, p.text_hash, p.ordinal, p.start, p.end, vector) for p, vector in processed] == [
        (p.text, p.text_hash, p.ordinal, p.start, p.end, vector) for p, vector in threaded
    ]
    assert {(p.source_id, p.version_id) for p, _ in processed} == {(SOURCE, VERSION)}
    assert len({p.id for p, _ in processed} | {p.id for p, _ in threaded}) == 2 * len(processed)


def test_a_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=environment, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        os.kill(child, 0)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if _is_dead(child):
            return
        time.sleep(0.05)
    pytest.fail("the process lives on")


def _is_dead(process: int) -> bool:
    """Whether it has ended, and nobody has asked for its status yet."""
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z"
