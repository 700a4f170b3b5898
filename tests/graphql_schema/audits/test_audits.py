"""GraphQL over HTTP as npm's graphql-http audits it: every MUST, SHOULD and MAY (SPEC R21)."""

import subprocess

import pytest

from tests.graphql_schema.audits import runner
from tests.graphql_schema.door import Door
from tests.serving import serving


async def test_every_audit_passes() -> None:
    try:
        runner.install()
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"npm's registry is not reached: {error}")
    async with serving(Door().app) as address:
        audits = await runner.run(f"{address}/graphql")
    assert [audit for audit in audits if audit["status"] != "ok"] == []
    assert len(audits) == 61
