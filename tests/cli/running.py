"""Runs `gctl` as people do: a process of its own, its output, its exit status."""

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GCTL = Path(sys.executable).with_name("gctl")


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    status: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        assert self.status == 0, self
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        assert (self.status, self.out) == (1, ""), self
        error: dict[str, Any] = json.loads(self.err)
        return error


@dataclass(frozen=True)
class Shell:
    """An environment to run commands in: only these variables of GCTL_… and its own folder for data."""

    folder: Path
    variables: dict[str, str]

    def environment(self, **more: str) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("GCTL_", "DATABASE_URL"))}
        return plain | {"GCTL_DATA_DIR": str(self.folder)} | self.variables | more

    async def gctl(self, *arguments: str, stdin: str = "", **more: str) -> Done:
        process = await asyncio.create_subprocess_exec(
            GCTL,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.environment(**more),
        )
        out, err = await asyncio.wait_for(process.communicate(stdin.encode()), 60)
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())

    async def ask(self, room: str, verb: str, **body: Any) -> Done:
        return await self.gctl(room, verb, "--body", json.dumps(body))
