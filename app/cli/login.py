"""`gctl login` and `gctl logout`."""

import sys
from pathlib import Path
from typing import Any

import click

from app.cli.client import call
from app.cli.profile import Given, connected, find_connection, write_profile
from app.operations import find_operation

MORE_THAN_A_TOKEN = 10_000


@click.command()
@connected
def login(**given: Any) -> None:
    """Keep a server's address and a token, for the commands that come.

    The token is read from standard input, or asked for on a terminal; GCTL_TOKEN, --token and --subject are taken too.
    It is kept only when the server takes it, in a file that nobody else may read.
    """
    asked = Given(**given)
    if asked.token is None and asked.subject is None:
        asked = Given(**given | {"token": _read_token()})
    connection = find_connection(asked)
    viewer = call(asked, find_operation("access.viewer"), {})
    write_profile(asked.profile_file, connection)
    click.echo(f"Signed in to {connection.address} as {viewer['subject']} in the workspace {viewer['workspace']}.")


def _read_token() -> str:
    if sys.stdin.isatty():
        token: str = click.prompt("Token", hide_input=True, err=True)
        return token
    return sys.stdin.read(MORE_THAN_A_TOKEN).strip()


@click.command()
@click.option("--data-dir", envvar="GCTL_DATA_DIR", type=click.Path(path_type=Path), hidden=True)
def logout(data_dir: Path | None) -> None:
    """Forget what `gctl login` kept."""
    file = Given(data_dir=data_dir).profile_file
    known = file.exists()
    file.unlink(missing_ok=True)
    click.echo("Signed out." if known else "Nobody was signed in.")
