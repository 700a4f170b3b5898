"""Every command and every query of the guides is run, in order, as a reader would."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.world import World

DOCS = Path(__file__).parents[1] / "docs"
BIN = Path(sys.executable).parent


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _run(page: str, folder: Path) -> str:
    """Run the page's commands in one shell, in an empty folder; what they print. Everything it started is ended."""
    environment = {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(folder),
        "GCTL_DATA_DIR": str(folder / "data"),
        "GCTL_PORT": str(_free_port()),
        "GCTL_LOG_LEVEL": "error",
    }
    script = "set -euo pipefail\ntrap 'kill $(jobs -p); wait' EXIT\n" + "\n".join(_blocks(page, "sh"))
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        raise
    assert shell.returncode == 0, printed
    return printed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o711)  # as root, the database runs as another user, who must get there
    return tmp_path


def test_the_quickstart(folder: Path) -> None:
    printed = _run("quickstart.md", folder)
    assert "1 added, 0 changed, 0 unchanged, 0 skipped" in printed
    assert "0 added, 0 changed, 1 unchanged, 0 skipped" in printed
    assert printed.count("Travel policy 2026") >= 3
    assert re.findall(r"^\d$", printed, re.MULTILINE) == ["2", "1"]


def test_the_agent_guide(folder: Path) -> None:
    printed = _run("agent-guide.md", folder)
    assert "Travel policy 2026" in printed
    assert '"subject":"agent:helper"' in printed.replace(" ", "")


@pytest.mark.parametrize("query", _blocks("quickstart.md", "graphql"))
async def test_the_queries_of_the_quickstart(world: World, query: str) -> None:
    source_id = await world.add("Travel policy 2026", "Flights and hotels.")
    answer = await world.reader.ask(query, **({"sourceId": source_id} if "$sourceId" in query else {}))
    if "retrieve" in answer:
        assert [hit["source"]["title"] for hit in answer["retrieve"]["hits"]] == ["Travel policy 2026"]
    else:
        assert answer["explainRetrieval"]["found"] is False
