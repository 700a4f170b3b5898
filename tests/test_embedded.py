"""The embedded PostgreSQL: real servers, real processes, real deaths."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from app import embedded_watcher
from app.embedded import BINARIES, EmbeddedPostgresError, running

VISITOR = """
import sys
from pathlib import Path
from app.embedded import running
with running(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def folder() -> Iterator[Path]:
    """A new folder that the server's user can enter when the tests run as root, unlike tmp_path."""
    made = Path(tempfile.mkdtemp(prefix="gctl-test-")).resolve()
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def fresh() -> Iterator[Path]:
    with folder() as made:
        yield made


@pytest.fixture(scope="module")
def used() -> Iterator[Path]:
    """A data folder whose server was started once, and stopped: spares the tests that are not about that the time."""
    with folder() as made:
        with running(made) as url:
            ask(url, "CREATE TABLE t AS SELECT 41 AS n")
        yield made


@contextmanager
def visitor(data_dir: Path, program: str = VISITOR) -> Iterator[subprocess.Popen[str]]:
    """Another process that uses the server until its stdin is closed or it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", program, data_dir], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def leave(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.close()
    assert process.wait() == 0


def ask(url: str, query: str) -> object:
    async def answer() -> object:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    return asyncio.run(answer())


def processes(*command: str | Path) -> list[int]:
    """Those whose command line has these words in a row. A process that is ending has none."""
    words = b"\0".join([b"", *(os.fsencode(word) for word in command), b""])
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if words in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def servers(data_dir: Path) -> list[int]:
    found = processes("-D", (data_dir / "postgres/data").resolve())
    return [process for process in found if parent(process) not in found]  # a new child is named as its parent at first


def parent(process: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def watchers(data_dir: Path) -> list[int]:
    return processes("-P", embedded_watcher.__file__, data_dir)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def assert_soon_stopped(data_dir: Path) -> None:
    wait_until(lambda: not servers(data_dir) and not watchers(data_dir))
    assert_stopped(data_dir)


def assert_stopped(data_dir: Path) -> None:
    assert servers(data_dir) == []
    assert (data_dir / "postgres.log").read_text().endswith("database system is shut down\n")


def test_first_start_makes_folder_and_database_and_the_next_finds_its_data(fresh: Path) -> None:
    data_dir = fresh / "a" / "b"
    with running(data_dir) as url:
        assert data_dir.stat().st_mode & 0o777 == (0o710 if os.geteuid() == 0 else 0o700)
        assert (data_dir / "postgres").stat().st_mode & 0o777 == 0o700
        assert ask(url, "SELECT current_database() || ' ' || current_user") == "gctl postgres"
        ask(url, "CREATE TABLE t AS SELECT 41 AS n")
        assert len(servers(data_dir)) == 1
    assert_stopped(data_dir)
    with running(data_dir) as url:
        assert ask(url, "SELECT n FROM t") == 41


def test_the_server_is_set_up_alike_everywhere(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    names = [
        "listen_addresses",
        "fsync",
        "synchronous_commit",
        "jit",
        "wal_level",
        "max_connections",
        "timezone",
        "server_encoding",
    ]
    with running(used) as url:
        assert [ask(url, f"SELECT current_setting('{name}')") for name in names] == (
            ["", "on", "on", "off", "replica", "100", "UTC", "UTF8"]
        )
        assert ask(url, "SELECT datcollate || ' ' || datctype FROM pg_database WHERE datname = 'gctl'") == "C C"


async def test_drivers_take_the_url_whatever_the_environment_says(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGPORT", "PGUSER", "PGDATABASE", "PGHOST"):
        monkeypatch.setenv(name, "1")
    with running(used) as url:
        connection = await asyncpg.connect(url)
        assert await connection.fetchval("SELECT n FROM t") == 41
        await connection.close()
        engine = create_async_engine("postgresql+asyncpg" + url[len("postgresql") :])
        async with engine.connect() as checked_out:
            assert await checked_out.scalar(text("SELECT n FROM t")) == 41
        await engine.dispose()


def test_processes_share_one_server_until_the_last_has_left(used: Path) -> None:
    with visitor(used) as first:
        url = url_of(first)
        (server,) = servers(used)
        with running(used) as ours:
            assert ours == url
            with running(used):
                pass
            leave(first)
            assert ask(ours, "SELECT n FROM t") == 41
            assert servers(used) == [server]
    assert_stopped(used)


def test_an_exception_leaves_too(used: Path) -> None:
    with pytest.raises(ZeroDivisionError), running(used):
        raise ZeroDivisionError
    assert_stopped(used)


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_user_leaves_no_server_behind(used: Path, death: signal.Signals) -> None:
    with visitor(used) as only:
        ask(url_of(only), f"CREATE TABLE {death.name} AS SELECT 42 AS n")
        only.send_signal(death)
        assert only.wait() == -death
    assert_soon_stopped(used)
    with running(used) as url:
        assert ask(url, f"TABLE {death.name}") == 42


@pytest.mark.parametrize("stage", ["new/PG_VERSION", "data", "data/postmaster.pid"])
def test_a_user_killed_during_the_first_start_leaves_no_server_behind(fresh: Path, stage: str) -> None:
    with visitor(fresh) as only:
        wait_until((fresh / "postgres" / stage).exists)
        only.kill()
    assert_soon_stopped(fresh)
    with running(fresh) as url:
        assert ask(url, "SELECT 1") == 1


@pytest.mark.parametrize("stage", ["new/PG_VERSION", "data/postmaster.pid"])
def test_a_first_start_killed_as_a_whole_is_made_good_by_the_next(fresh: Path, stage: str) -> None:
    with visitor(fresh) as only:
        wait_until((fresh / "postgres" / stage).exists)
        only.kill()
        for program in watchers(fresh):
            os.kill(program, signal.SIGKILL)
    with running(fresh) as url:
        assert ask(url, "SELECT current_database()") == "gctl"
    assert_soon_stopped(fresh)


def test_a_killed_watcher_is_replaced_by_the_next_user(used: Path) -> None:
    with visitor(used) as first:
        url_of(first)
        (server,) = servers(used)
        (watcher,) = watchers(used)
        os.kill(watcher, signal.SIGKILL)
        wait_until(lambda: not watchers(used))
        with visitor(used) as second:
            url_of(second)
            assert servers(used) == [server]
            assert len(watchers(used)) == 1
            first.kill()
            second.kill()
    assert_soon_stopped(used)


def test_a_folder_that_is_removed_at_once_stays_away(fresh: Path) -> None:
    locks = fresh / "data/postgres.locks"
    with running(fresh / "data"):
        (watcher,) = watchers(fresh / "data")
        os.kill(watcher, signal.SIGSTOP)
    for lock in locks.iterdir():
        lock.unlink()
    os.kill(watcher, signal.SIGCONT)
    wait_until(lambda: not watchers(fresh / "data"))
    assert list(locks.iterdir()) == []


def test_the_last_user_stops_the_server_without_a_watcher(used: Path) -> None:
    with running(used):
        (watcher,) = watchers(used)
        os.kill(watcher, signal.SIGKILL)
    assert_stopped(used)


def test_a_crashed_server_is_started_again_by_the_next_user(used: Path) -> None:
    with running(used) as url:
        (server,) = servers(used)
        os.kill(server, signal.SIGKILL)
        with suppress(ConnectionRefusedError):
            while True:
                connect(url)
        with running(used) as again:
            assert again == url
            assert len(watchers(used)) == 1
        assert ask(url, "SELECT n FROM t") == 41
    assert_soon_stopped(used)


def test_five_first_starts_at_once_make_one_server(fresh: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(visitor(fresh)) for _ in range(5)]
        assert len({url_of(user) for user in users}) == 1
        assert len(servers(fresh)) == 1
        assert len(watchers(fresh)) == 1
        for user in users:
            assert user.stdin
            user.stdin.close()  # they leave at once, too
        assert [user.wait() for user in users] == [0] * 5
    assert_stopped(fresh)
    assert (fresh / "postgres.log").read_text().count("is ready to accept connections") == 1


def test_who_comes_while_the_last_leaves_finds_a_server(used: Path) -> None:
    def come_and_go() -> None:
        for _ in range(8):
            with running(used) as url:
                assert ask(url, "SELECT n FROM t") == 41

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(come_and_go) for _ in range(3)]:
            done.result()
    assert_soon_stopped(used)


def test_a_child_process_does_not_keep_the_server(used: Path) -> None:
    start = "import subprocess; print(subprocess.Popen(['sleep', '60'], close_fds=False).pid, flush=True)"
    with visitor(used, VISITOR.replace("sys.stdin", start + "; sys.stdin")) as user:
        url_of(user)
        child = int(url_of(user))
        user.kill()
    try:
        assert_soon_stopped(used)
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("name", ["l" + "o" * 150 + "ng", "with spaces, 'quotes' & ünïcode?#%20:=$HOME\\"])
def test_any_name_of_a_folder_will_do(fresh: Path, name: str) -> None:
    with running(fresh / name) as url:
        assert ask(url, "SELECT current_database()") == "gctl"
        assert (fresh / name / "postgres/data/PG_VERSION").read_text() == "18\n"
        sockets = socket_of(url).parent
        assert sockets.stat().st_mode & 0o777 == 0o700
    sockets.rmdir()


def test_a_start_that_fails_says_why_and_where_the_log_is(used: Path) -> None:
    conf = used / "postgres/data/postgresql.conf"
    good = conf.read_text()
    conf.write_text("nonsense = 1\n")
    try:
        with pytest.raises(EmbeddedPostgresError) as caught, running(used):
            pass
    finally:
        conf.write_text(good)
    assert str(used / "postgres.log") in str(caught.value)
    assert 'unrecognized configuration parameter "nonsense"' in str(caught.value)
    assert watchers(used) == []
    with running(used) as url:
        assert ask(url, "SELECT n FROM t") == 41


def test_a_data_folder_that_cannot_be_made_is_named(fresh: Path) -> None:
    (fresh / "file").touch()
    with (
        pytest.raises(EmbeddedPostgresError, match=f"The data folder {fresh}/file/x cannot be used"),
        running(fresh / "file/x"),
    ):
        pass


def test_the_binaries_of_replicas_are_there() -> None:
    done = subprocess.run([BINARIES / "pg_basebackup", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pg_basebackup (PostgreSQL) 18.")


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


@needs_root
@pytest.mark.parametrize("name", ["short", "l" + "o" * 150 + "ng"])
def test_other_users_cannot_connect(fresh: Path, name: str) -> None:
    with running(fresh / name) as url:
        connect(url)
        with as_nobody(), pytest.raises(PermissionError):
            connect(url)
        socket_of(url).parent.chmod(0o777)
        with as_nobody(), pytest.raises(PermissionError):
            connect(url)  # the socket itself is the second wall
        socket_of(url).parent.chmod(0o700)
        socket_of(url).chmod(0o777)
        with as_nobody(), pytest.raises(PermissionError):
            connect(url)
        sockets = socket_of(url).parent
    if name != "short":
        sockets.rmdir()


@contextmanager
def as_nobody() -> Iterator[None]:
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def connect(url: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(socket_of(url)))


def socket_of(url: str) -> Path:
    query = parse_qs(urlsplit(url).query)
    return Path(query["host"][0]) / f".s.PGSQL.{query['port'][0]}"


@needs_root
def test_root_opens_no_folder_that_was_closed(fresh: Path) -> None:
    closed = fresh / "closed"
    closed.mkdir(0o700)
    data_dir = closed / "data"
    try:
        with running(data_dir) as url:
            ask(url, "CREATE TABLE t AS SELECT 41 AS n")
        place = (data_dir / "postgres").readlink()
        assert closed.stat().st_mode & 0o777 == 0o700
        assert place.parent == Path("/var/lib/gctl")
        assert place.stat().st_mode & 0o777 == 0o700
        closed.chmod(0o755)
        with running(data_dir) as url:
            assert ask(url, "SELECT n FROM t") == 41
    finally:
        shutil.rmtree((data_dir / "postgres").readlink())
    with pytest.raises(EmbeddedPostgresError, match="is missing"), running(data_dir):
        pass


@needs_root
def test_root_keeps_out_of_the_folders_of_others(fresh: Path) -> None:
    os.chown(fresh, 65534, 65534)
    with pytest.raises(EmbeddedPostgresError, match="belongs to user 65534"), running(fresh):
        pass
    assert list(fresh.iterdir()) == []
