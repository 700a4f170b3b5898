"""The log: one JSON object a line, whoever logs; one write a line; and a line that can't be written stops nothing."""

import json
import os
import subprocess
import sys
from typing import Any

BEFORE = """
import io, logging, sys, structlog
from app.logs import configure_logs
from app.settings import Settings

class Raw(io.RawIOBase):
    written = []
    def writable(self): return True
    def write(self, data):
        if self.written is None: raise OSError(28, "No space left on device")
        self.written.append(bytes(data))
        return len(data)

raw = Raw()
sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", line_buffering=True)
configure_logs(Settings())
log = structlog.get_logger("app.there")
"""
AFTER = """
import json
print(json.dumps([part.decode() for part in raw.written or []]))
"""


def _written(script: str, **settings: str) -> list[str]:
    """What a process writes that runs this script with `log`: a string for each write to standard error."""
    environment = os.environ | settings
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + script + AFTER], capture_output=True, text=True, check=True, env=environment
    )
    written: list[str] = json.loads(done.stdout)
    return written


def _told(line: str) -> dict[str, Any]:
    assert line.endswith("\n")
    assert line.count("\n") == 1
    told: dict[str, Any] = json.loads(line)
    assert told.pop("timestamp").endswith("Z")
    return told


def test_a_line_is_one_write_in_one_form_whoever_logs() -> None:
    ours, theirs, failed, long = _written("""
with structlog.contextvars.bound_contextvars(request_id="r-1"):
    log.info("request", path="/graphql", status=200)
    logging.getLogger("uvicorn.error").warning("Closed by %s.", "them")
    try: 1 / 0
    except ZeroDivisionError: log.exception("failed")
log.warning("long", text="x" * 100_000)
log.debug("not told")
logging.getLogger("there").debug("not told")
""")
    assert _told(ours) == {
        "path": "/graphql",
        "status": 200,
        "request_id": "r-1",
        "event": "request",
        "level": "info",
        "logger": "app.there",
    }
    assert _told(theirs) == {
        "event": "Closed by them.",
        "request_id": "r-1",
        "level": "warning",
        "logger": "uvicorn.error",
    }
    assert _told(failed)["exception"].splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert len(_told(long)["text"]) == 100_000


def test_a_line_is_ascii_whatever_it_tells() -> None:
    (line,) = _written(r'log.info("request", path="/\x9b31m\udcff\n", number=2**70, kind=Raw)')
    assert line.isascii()
    told = _told(line)
    assert (told["path"], told["number"]) == ("/\x9b31m\udcff\n", 2**70)
    assert "Raw" in told["kind"]


def test_a_line_that_cannot_be_written_stops_nothing() -> None:
    assert (
        _written("""
stream, sys.stderr = sys.stderr, sys.__stderr__
Raw.written = None
log.info("lost: the disk is full")
try: stream.close()
except OSError: pass
log.info("lost: the stream is closed")
""")
        == []
    )


def test_a_person_gets_text() -> None:
    (line,) = _written('log.info("request", path="/graphql")', GCTL_LOG_FORMAT="console", NO_COLOR="1")
    assert "request" in line
    assert "path" in line
    assert not line.startswith("{")
