"""The commands of the servers that are measured, each on a free port, over the database of the bed."""

import asyncio
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.performance.bed import SECRET, Bed
from tests.benchmarks.performance.processes import Server, free_port, serving

BIN = Path(sys.executable).parent


def environment(bed: Bed) -> dict[str, str]:
    """What a process of the product needs to know."""
    return {
        "DATABASE_URL": bed.url,
        "GCTL_DATA_DIR": str(bed.folder),
        "GCTL_JWT_SECRET": SECRET,
        "GCTL_WORKER_IN_SERVER": "false",
    }


@contextlib.contextmanager
def server(bed: Bed, name: str, *command: str, **more: str) -> Iterator[Server]:
    """The command's server; PORT in it is replaced. `more` goes into its environment."""
    port = free_port()
    filled = [part.replace("PORT", str(port)) for part in command]
    variables = environment(bed) | {"BENCHMARK_URL": bed.url, "PORT": str(port)} | more
    with serving(filled, port, variables, bed.folder / f"{name}.log") as started:
        yield started


def product(bed: Bed, name: str, *options: str, **more: str) -> contextlib.AbstractContextManager[Server]:
    """`gctl serve`."""
    return server(bed, name, str(BIN / "gctl"), "serve", "--port", "PORT", "--no-sample", *options, **more)


def rival(bed: Bed, module: str) -> contextlib.AbstractContextManager[Server]:
    """One of ours, behind uvicorn."""
    target = f"tests.benchmarks.performance.rivals.{module}:app"
    return server(bed, module, str(BIN / "uvicorn"), target, "--factory", "--port", "PORT", "--no-access-log")


async def rest(started: Server) -> None:
    """Wait until it does nothing: of a server of several processes all have started then."""
    before = started.cpu
    while True:
        await asyncio.sleep(0.5)
        now = started.cpu
        if now - before < 0.02:
            return
        before = now
