"""Which of the two media types a client gets. https://graphql.github.io/graphql-over-http/draft/ sections 4.1, 5.2."""

from functools import lru_cache

GRAPHQL_RESPONSE = "application/graphql-response+json"
JSON = "application/json"


@lru_cache(maxsize=64)
def response_type(accept: str) -> str | None:
    """The media type to answer with; None when the client takes neither.

    graphql-response+json goes to clients that name it and like it at least as well. A client that names neither is
    older than it, and gets JSON.
    """
    if not accept.strip():
        return JSON
    weights = _weights(accept)
    ours, plain = _weight(GRAPHQL_RESPONSE, weights), _weight(JSON, weights)
    if ours > 0 and (ours > plain or (ours == plain and GRAPHQL_RESPONSE in weights)):
        return GRAPHQL_RESPONSE
    return JSON if plain > 0 else None


@lru_cache(maxsize=64)
def is_json(content_type: str) -> bool:
    """Whether a request's Content-Type is JSON in UTF-8, the only one that is read."""
    name, *parameters = [part.strip().lower() for part in content_type.split(";")]
    charsets = [value.strip('"') for key, _, value in (p.partition("=") for p in parameters) if key == "charset"]
    return name == JSON and all(charset in {"utf-8", "utf8"} for charset in charsets)


def _weights(accept: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for part in accept.lower().split(","):
        name, *parameters = [piece.strip() for piece in part.split(";")]
        weights[name] = max(weights.get(name, 0.0), _quality(parameters))
    return weights


def _quality(parameters: list[str]) -> float:
    """RFC 9110, 12.4.2; a weight that is no number counts as none, a media range that is unreadable as refused."""
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0


def _weight(media_type: str, weights: dict[str, float]) -> float:
    """RFC 9110, 12.5.1: the most specific range that matches decides."""
    for name in (media_type, "application/*", "*/*"):
        if name in weights:
            return weights[name]
    return 0.0
