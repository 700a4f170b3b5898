"""The embedded PostgreSQL: started by whoever needs it first, shared by all, stopped when the last one leaves.

    data_dir/postgres/         the server's folder, 0700, or a link to it (see `running`)
    data_dir/postgres/data     the cluster; the socket lies beside it: who cannot enter the folder cannot connect
    data_dir/postgres.log      what the server says
    data_dir/postgres.locks/   four flocks. The kernel lets go of them however their holder dies:

        door      held by whoever comes in or goes out, so that one does so after another
        users     shared by all who use the server
        watcher   held by the process that waits for the last user's death
        server    inherited by every process of the server: while it is held, one of them lives

Coming in: take the door and a share of `users`. If the watcher or the server is missing, run embedded_watcher: it
starts the server, even if we are killed meanwhile, and stays behind as the watcher.
Going out: take the door. Whoever then gets `users` alone was the last, and stops the server.
The watcher queues for `users` alone: it gets it when the last user died without going out, and stops the server.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from app import embedded_watcher
from app.embedded_watcher import (
    BINARIES,
    EmbeddedPostgresError,
    is_held,
    is_ready,
    open_lock,
    socket_folder,
    stop,
    try_lock,
)

__all__ = ["BINARIES", "EmbeddedPostgresError", "running"]


@contextmanager
def running(data_dir: Path) -> Iterator[str]:
    """Yield the postgresql:// URL of the server of this data folder, starting it if nobody has.

    The URL names the database `gctl` and its superuser `postgres`, over a unix socket that only the user who runs this,
    and root, can reach; no TCP port is open. asyncpg takes the URL as it is, SQLAlchemy with `postgresql+asyncpg`. Any
    number of processes may be inside at once, and one process more than once. When the last one leaves, the server is
    down before this returns; when the last one is killed, soon after. A server that crashed is started again by the
    next one to come in. A forked child shares its parent's place: it need not come in, nor outlive the parent's visit.

    `data_dir` is made (0700) if it is missing. As root, whom PostgreSQL refuses, the server runs as the user
    `gctl-postgres`, made with useradd, and a `data_dir` made here is 0710 with that user's group. A `data_dir` that
    this user cannot enter, such as any below /root, stays as it is: `data_dir/postgres` becomes a link to a folder in
    /var/lib/gctl. Binaries that this user cannot run are copied there too (33 MB, once for each version of them).

    Blocks for as long as the start takes: about 1 s the first time, 0.2 s later, more after a crash.
    Raises EmbeddedPostgresError.
    """
    home = data_dir.resolve()
    try:
        _make_home(home)
        users = open_lock(home, "users")
    except OSError as error:
        raise EmbeddedPostgresError(f"The data folder {home} cannot be used: {error}") from error
    with users:
        _come_in(home, users)
        try:
            # The port is named, or the drivers would heed PGPORT.
            yield f"postgresql://postgres@/gctl?host={socket_folder(home)}&port=5432"
        finally:
            _go_out(home, users)


def _make_home(home: Path) -> None:
    mode = 0o710 if os.geteuid() == 0 else 0o700  # the group is root's until the server's user is known
    with suppress(FileExistsError):
        home.mkdir(mode, parents=True)
        home.chmod(mode)  # whatever the umask
    if os.geteuid() == 0 and (owner := home.stat().st_uid):  # who owns it could lead root astray with a link
        raise PermissionError(f"it belongs to user {owner}. Run this as that user, not as root")
    (home / "postgres.locks").mkdir(0o700, exist_ok=True)


def _come_in(home: Path, users: IO[bytes]) -> None:
    with open_lock(home, "door") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_SH)  # waits for a watcher that is stopping the server
        if is_held(home, "watcher") and is_ready(home):
            return
        command = [sys.executable, "-P", str(Path(embedded_watcher.__file__).resolve()), str(home)]
        # Not subprocess.run: at Ctrl-C that would kill the program when the server is started and not yet watched.
        with subprocess.Popen(  # noqa: S603  our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
        ) as program:
            _, complaint = program.communicate()
    if program.returncode:
        raise EmbeddedPostgresError(complaint.decode(errors="replace").strip())


def _go_out(home: Path, users: IO[bytes]) -> None:
    with open_lock(home, "door") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        if try_lock(users):
            with open_lock(home, "server") as server:
                stop(home, server)
        else:
            fcntl.flock(users, fcntl.LOCK_SH)  # others are inside, or the watcher was faster: then wait for its stop
