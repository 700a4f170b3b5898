"""Where a client's command finds its server and its token.

The server is the first of: the option or GCTL_SERVER, the profile that `gctl login` wrote, the server that runs on
this machine, which leaves its address in the data folder. The token: the option or GCTL_TOKEN, one that is made here
for `--subject`, the profile's. A profile's token goes to the profile's server and to no other.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click
import platformdirs

PROFILE = "profile.json"
RUNNING = "server.json"
LOCAL_TOKEN_LIFE = timedelta(minutes=15)

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Connection:
    """A server's address without a slash at its end, and the token to show it. The token is in no repr."""

    address: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Given:
    """What options and the environment say."""

    server: str | None = None
    token: str | None = field(default=None, repr=False)
    subject: str | None = None
    workspace: str = "default"
    data_dir: Path | None = None

    @property
    def profile_file(self) -> Path:
        return (self.data_dir or platformdirs.user_config_path("gctl")) / PROFILE

    @property
    def running_file(self) -> Path:
        return (self.data_dir or platformdirs.user_data_path("gctl")) / RUNNING


def connection_options() -> list[click.Parameter]:
    """The options of every command that asks a server. Their values make a Given."""
    return [
        click.Option(["--server"], envvar="GCTL_SERVER", show_envvar=True, metavar="URL", help="The server's address."),
        click.Option(
            ["--token"],
            envvar="GCTL_TOKEN",
            show_envvar=True,
            metavar="TOKEN",
            help="The token. The variable is the better place: other users of a machine see a command's options.",
        ),
        click.Option(
            ["--subject"],
            metavar="SUBJECT",
            help="Ask a server on this machine as this subject, with a token that is signed here.",
        ),
        click.Option(["--workspace"], default="default", show_default=True, help="The workspace, for --subject."),
        click.Option(["--data-dir"], envvar="GCTL_DATA_DIR", type=click.Path(path_type=Path), hidden=True),
    ]


def connected(command: Decorated) -> Decorated:
    """Give a function that click decorates the connection's options."""
    parameters: list[click.Parameter] = getattr(command, "__click_params__", [])
    command.__click_params__ = [*parameters, *reversed(connection_options())]  # type: ignore[attr-defined]  # click's
    return command


def find_connection(given: Given) -> Connection:
    """Raises click.UsageError when there is no server to ask, or an address is none."""
    profile = read_profile(given.profile_file)
    address = given.server or (profile.address if profile else None) or running_server(given.running_file)
    if not address:
        raise click.UsageError(
            "There is no server to ask. Name one with --server or GCTL_SERVER, sign in with gctl login, or start one "
            "with gctl serve."
        )
    address = checked_address(address)
    if given.token is not None:
        return Connection(address, checked_token(given.token))
    if given.subject is not None:
        return Connection(address, _local_token(given, given.subject, address))
    return Connection(address, profile.token if profile and profile.address == address else None)


def checked_address(address: str) -> str:
    """The address without a slash at its end. Raises click.UsageError for what is no http or https address."""
    try:
        parts = urlsplit(address)
        wrong = parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0
    except ValueError:
        wrong = True
    if wrong or parts.username is not None or parts.query or parts.fragment:
        raise click.UsageError("The server's address must be like https://host:port, without a user or a query.")
    return address.rstrip("/")


def checked_token(token: str) -> str:
    """The token. Raises click.UsageError, which does not show it, for what a header cannot hold."""
    if not (token.isascii() and token.isprintable() and token) or " " in token:
        raise click.UsageError("The token is malformed: it has characters that no token has, or none at all.")
    return token


def is_local(address: str) -> bool:
    """Whether an address is a loopback address."""
    host = urlsplit(address).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _local_token(given: Given, subject: str, address: str) -> str:
    """A token signed with the secret that a server on this machine reads too: who can read it may be anybody."""
    if not is_local(address):
        raise click.UsageError("--subject is for a server on this machine. For another one use a token of its own.")
    # Late: settings and signing cost 0.2 s, and no other client command needs them.
    from app.access.tokens import issue
    from app.cli.running import ending, read_settings

    settings = read_settings()
    if given.data_dir is not None:
        settings = settings.model_copy(update={"data_dir": given.data_dir})
    with ending():
        return issue(settings, subject, given.workspace, (), LOCAL_TOKEN_LIFE)


def read_profile(file: Path) -> Connection | None:
    """What `gctl login` wrote; None where it did not. Raises click.UsageError for a file that is not its."""
    found = _read(file)
    if found is None:
        return None
    server, token = found.get("server"), found.get("token")
    if not (isinstance(server, str) and isinstance(token, str)):
        raise click.UsageError(f"{file} is no profile. Sign in again: gctl login")
    return Connection(server, token)


def write_profile(file: Path, connection: Connection) -> None:
    """Readable by this user alone."""
    _write(file, {"server": connection.address, "token": connection.token})


def announce(data_dir: Path, address: str) -> None:
    """Say where the server of this process can be asked, for clients on this machine."""
    _write(data_dir / RUNNING, {"address": address, "pid": os.getpid()})


def withdraw(data_dir: Path) -> None:
    """Take back what this process announced."""
    found = _read(data_dir / RUNNING)
    if found is not None and found.get("pid") == os.getpid():
        (data_dir / RUNNING).unlink(missing_ok=True)


def running_server(file: Path) -> str | None:
    """The address of the server that announced itself and whose process lives."""
    found = _read(file) or {}
    address, pid = found.get("address"), found.get("pid")
    if not (isinstance(address, str) and isinstance(pid, int)):
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None  # it was killed before it could take the file away
    except PermissionError:
        pass  # another user's, and alive
    return address


def _read(file: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _write(file: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all, and from the first moment with mode 0600."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
            json.dump(content, opened)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
