"""`gctl serve`."""

import asyncio
import ipaddress
import os
import signal
import sys
import threading
from contextlib import ExitStack

import click
import uvicorn
from uvicorn.supervisors import Multiprocess

from app.cli.profile import withdraw
from app.cli.running import ending, read_settings
from app.cli.welcome import welcome
from app.embedded import running
from app.sample.seeding import is_empty, is_seeded, seed
from app.services import open_services
from app.settings import Settings


@click.command()
@click.option("--host", help="The address to listen on [default: GCTL_HOST or 127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port [default: GCTL_PORT or 8400]; 0: any free one.")
@click.option("--workers", type=click.IntRange(1), help="Processes that serve [default: GCTL_WORKERS or 1].")
@click.option(
    "--sample/--no-sample", default=True, help="Fill an empty embedded database with a small sample library [default]."
)
def serve(host: str | None, port: int | None, workers: int | None, sample: bool) -> None:
    """Run the server: GraphQL at /graphql, GraphiQL there in a browser, and the worker. Stops on SIGTERM or ^C.

    Requests that are running are given GCTL_SHUTDOWN_SECONDS to end.
    """
    given = {"host": host, "port": port, "workers": workers}
    settings = read_settings().model_copy(update={name: value for name, value in given.items() if value is not None})
    with ending(), ExitStack() as stack:
        if settings.embedded:
            # Held by this process too: the server's processes come and go, the database stays.
            stack.enter_context(running(settings.data_dir))
        shows_sample = asyncio.run(_prepare(settings, sample))
        _serve(settings, shows_sample and _is_loopback(settings.host))


async def _prepare(settings: Settings, sample: bool) -> bool:
    """Run the migrations, fill an empty embedded database if that is wanted; whether it holds the sample."""
    async with open_services(settings) as services:
        if settings.embedded and sample and await is_empty(services):
            click.echo("The database is empty: filling it with the sample library (--no-sample leaves it empty) …")
            await seed(services)
        return settings.embedded and settings.jwks_url is None and await is_seeded(services)


def _serve(settings: Settings, shows_sample: bool) -> None:
    config = uvicorn.Config(
        "graphql_schema.asgi:app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        log_config=None,
        access_log=False,
        ws_max_size=settings.max_body_bytes,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    sock = config.bind_socket()
    address = f"http://{_in_url(settings.host)}:{sock.getsockname()[1]}"
    # The serving processes read the same settings as this one: what options changed goes to them by the environment.
    os.environ |= {
        "GCTL_HOST": settings.host,
        "GCTL_WORKERS": str(settings.workers),
        "GCTL_SAMPLE": str(shows_sample).lower(),
    }
    threading.Thread(target=welcome, args=(address, settings, shows_sample), daemon=True).start()
    # uvicorn hands a signal back when it has shut down, and what ends a process by default passes over `finally`.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        if settings.workers > 1:
            Multiprocess(config, sockets=[sock]).run()
        else:
            uvicorn.Server(config).run(sockets=[sock])
    finally:
        withdraw(settings.data_dir)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _in_url(host: str) -> str:
    """The host for a URL that opens on this machine."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
