"""Texts that try to be more than text, for what is shown of a passage (SPEC R14)."""

from hypothesis import strategies as st

MARKUP = [
    *("<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "</textarea><svg/onload=alert(1)>", "<!--", "-->"),
    *(
        "&lt;img src=x onerror=alert(1)&gt;",
        "&amp;",
        "&amp;lt;",
        "&#60;b&#62;",
        "&notit;",
        "&",
        "&&",
        "<",
        ">",
        '"',
        "'",
    ),
    *('"><b onmouseover="alert(1)">', "javascript:alert(1)", "<a href='javascript:alert(1)'>x</a>", "{{constructor}}"),
    *("<iframe src=//example.invalid></iframe>", "<link rel=stylesheet href=//example.invalid/x.css>", "]]>", "${1}"),
    *("<style>@import '//example.invalid/x.css'</style>", "<title>", "<plaintext>", "</div></body>", "\\u003cb\\u003e"),
]
UNSEEN = [
    *"\u202a\u202b\u202d\u202e\u202c\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200c\u200d\u2060\ufeff\u00ad"
]
CONTROLS = [chr(code) for code in (*range(1, 32), *range(127, 160))]
SPACES = [" ", "  ", "\n", "\n\n", "\t", "\u00a0", "\u3000", "\u2028", "\u2029", "\r\n", " \u202e ", " " * 400]
LETTERS = [
    "👩‍👩‍👧‍👦",
    "👍🏽",
    "🇩🇪",
    "❤️",
    "1️⃣",
    "e\u0301",
    "q\u0307\u0323",
    "ก็",
    "नि",
    "각",
    "﷽",
    "½",
    "ﬁ",
    "№",
    "東京",
    "案内",
    "İ",
]
LONG = [
    "x" * 3_000,
    "e\u0301" * 400,
    "👩‍👩‍👧‍👦" * 60,
    "a" + "\u0301" * 700,
    "https://example.org/" + "path/" * 100 + "quay",
]
WORDS = [
    "quay",
    "Quays",
    "crane",
    "the",
    "it's",
    "don’t",
    "P-8A",
    "budget_2026-q3.xlsx",
    "rigging.",
    "(load)",
    "a",
    "O’Brien",
]

pieces = (
    st.sampled_from(WORDS)
    | st.sampled_from(WORDS)
    | st.sampled_from(MARKUP)
    | st.sampled_from(UNSEEN + CONTROLS)
    | st.sampled_from(LETTERS)
    | st.text(max_size=6)
)
long_pieces = st.sampled_from(LONG) | st.integers(1, 60).map(lambda count: "filler " * count)
separators = st.sampled_from([" ", " ", " ", " ", "", *SPACES])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A passage's text: no NUL and no half of a surrogate pair, as the Library stores none."""
    drawn = draw(st.lists(st.tuples(pieces | pieces | long_pieces, separators), min_size=1, max_size=40))
    text = "".join(piece + separator for piece, separator in drawn)
    return "".join(c for c in text if c != "\0" and not "\ud800" <= c <= "\udfff")


queries = st.lists(
    st.sampled_from(
        [*WORDS, "half", "1/2", '"the quay"', '"quay crane"', "script", "alert", "path", "x" * 3_000, "東京"]
    ),
    min_size=1,
    max_size=4,
).map(" ".join)
