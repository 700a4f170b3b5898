"""Processes: started, asked for their CPU time and memory, stopped."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process that runs."""

    pid: int

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far, with its threads and children. schedstat counts nanoseconds, stat hundredths."""
        tasks = (path for pid in _family(self.pid) for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))
        return sum(int(path.read_text().split()[0]) for path in tasks) / 1e9

    @property
    def memory(self) -> int:
        """Resident bytes, without its children."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Server(Process):
    """A process that serves HTTP on a port of the loopback interface."""

    port: int


def _family(pid: int) -> list[int]:
    """The process, its children and theirs: a command may be a script that starts the server."""
    lists = (path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [pid, *(one for children in lists for child in children for one in _family(int(child)))]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def started(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[Process]:
    """Run a command until the block ends."""
    with _popen(command, environment, log) as process:
        yield Process(process.pid)


@contextlib.contextmanager
def serving(command: Sequence[str], port: int, environment: Mapping[str, str], log: Path) -> Iterator[Server]:
    """Run a command that serves on `port` until the block ends. Raises RuntimeError if it does not within 30 s."""
    with _popen(command, environment, log) as process:
        _wait(process, port, log)
        yield Server(process.pid, port)


@contextlib.contextmanager
def _popen(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """With its children: a script that is stopped leaves the server that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError(log.read_text(errors="replace")[-2_000:])
