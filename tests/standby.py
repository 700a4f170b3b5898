"""A streaming standby of an embedded server: a real one, for tests and benchmarks.

    with running(data_dir) as url, standby(url) as second:
        Settings.model_validate({"database_url": url, "database_replica_urls": second.url, ...})

It can be killed, frozen, started again, and its replay halted. It is stopped, and its folder removed, whatever happens.
"""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil

from app import embedded_watcher

START_SECONDS = 20.0


@contextmanager
def standby(primary_url: str, **settings: str) -> Iterator["Standby"]:
    """A standby of the embedded server at this address, ready for reading. `settings` beside the embedded server's."""
    account = embedded_watcher._account()
    folder = Path(tempfile.mkdtemp(prefix="gctl-standby-"))
    embedded_watcher._give(folder, account)
    made = Standby(folder, settings)
    try:
        made._copy(primary_url)
        made.start()
        yield made
    finally:
        made.kill()
        shutil.rmtree(folder)


@dataclass
class Standby:
    """Its folder holds the data, the socket and the log."""

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/gctl?host={self.folder}&port=5432"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def start(self, **settings: str) -> None:
        """Return when it can be read from, which may be before it has caught up. `settings` are for this time."""
        account = embedded_watcher._account()
        settings = (
            embedded_watcher._SETTINGS
            | {"unix_socket_directories": str(self.folder), "wal_retrieve_retry_interval": "100ms"}
            | {**self.settings, **settings}
        )
        command = [str(embedded_watcher._binaries(account) / "postgres"), "-D", str(self.folder / "data")]
        options = [f"--{name}={value}" for name, value in settings.items()]
        (self.folder / "data/postmaster.pid").unlink(missing_ok=True)  # of one that was killed
        with self.log.open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **embedded_watcher._surroundings(account),
            )
        self._process = process
        self._wait_until_ready(process)

    def kill(self) -> None:
        """All of it at once, as when the machine goes. Nothing if it does not run."""
        for process in self._processes():
            process.send_signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def freeze(self) -> None:
        """It answers no more, and its connections stay: as when it is overloaded, or the network is cut."""
        for process in self._processes():
            process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        for process in self._processes():
            process.send_signal(signal.SIGCONT)

    def _copy(self, primary_url: str) -> None:
        account = embedded_watcher._account()
        address = urlsplit(primary_url)
        host = parse_qs(address.query)["host"][0]
        command = [str(embedded_watcher._binaries(account) / "pg_basebackup"), "-h", host, "-p", "5432"]
        options = ["-U", "postgres", "-D", str(self.folder / "data"), "--write-recovery-conf", "--checkpoint=fast"]
        done = embedded_watcher._run([*command, *options, "--no-sync"], account)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def _processes(self) -> list[psutil.Process]:
        """The first before its children, so that it starts no others."""
        if self._process is None:
            return []
        try:
            first = psutil.Process(self._process.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        ends = time.monotonic() + START_SECONDS
        while self._status(process.pid) != "ready":
            if process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(self.log.read_text(errors="replace")[-2_000:])
            time.sleep(0.02)

    def _status(self, process: int) -> str | None:
        """What the server of this id has written down of itself."""
        with suppress(OSError):
            lines = (self.folder / "data/postmaster.pid").read_text().splitlines()
            return lines[7].strip() if len(lines) > 7 and lines[0] == str(process) else None
        return None
