"""Whom a visitor of our pages may be with a click: the sample library's people, and only on this very machine."""

import re

from starlette.requests import Request

from app.sample.seeding import SampleToken, sample_tokens
from app.settings import Settings

_LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")


def offered(settings: Settings, request: Request) -> list[SampleToken]:
    """A token for each of them, signed for this visit; none where there is no sample.

    Whoever opens the page can read these tokens, so a page that was asked for by another name (a proxy's, or one that
    somebody pointed at the loopback address) has none.
    """
    if not settings.sample or not _LOOPBACK.fullmatch(request.headers.get("host", "")):
        return []
    return sample_tokens(settings)
