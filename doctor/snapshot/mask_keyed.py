"""Secrets behind a name: `key = value`, JSON, YAML, flags, headers, tables, environment lists and plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .secret_keys import HEADER, LIKELY, NO, SURE, is_nothing, is_secret_like, kind_of
from .spans import Scan, Span, compiled

_STEMS = ("token", "secret", "pass", "key", "cred", "auth", "cookie", "sess", "csrf", "xsrf", "jwt",
          "bearer", "dsn", "sig", "otp", "psk", "pin", "connection", "connstr", "licen", "salt", "webhook", "sid",
          "mnemonic", "phrase", ".pat", "_pat", "nonce", "login", "pw")  # fmt: skip
_NAME_LEFT = 60
_NAME_RIGHT = lazy(r"[\w.-]{0,60}")
_SPACED = lazy(
    r"(?i)(?:(?:api|access|private|secret|license|account|auth|recovery|encryption|product|shared|preshared|"
    r"signing) keys?|pin code|(?:recovery|seed|secret|pass) phrase|connection string)\b"
)
_QUOTES = r"[\"'`\\\])]{0,4}"
_FOLLOWS = frozenset("\"'`\\]) \t\r\n:=|-")
"""After a name that has a value."""
_OF_TWO = frozenset(("pin", "phrase", "key", "keys", "connection"))
"""Words of a name of two words: `api key`, `connection string`."""
_SIGN = lazy(
    rf"{_QUOTES}\s{{0,20}}(?::=|=>|->|:(?!:)|=(?!=)|\|)[ \t]{{0,40}}(?:[rbfu]{{0,2}}(?=[\"']))?"
    rf"|[\"'],?\s{{1,60}}(?:-\s)?[\"']?[Vv]alue[\"']?\s{{0,4}}[:=][ \t]{{0,8}}"
    rf"|[\"'],[ \t]{{0,4}}(?=[\"'])"
    rf"|[ \t]{{0,4}}\r?\n[ \t-]{{0,40}}[\"']?[Vv]alue[\"']?[ \t]{{0,4}}:[ \t]{{1,8}}"
)
"""Between a name and its value: a sign; or the name is itself a value and the next line or pair is its value."""
_BLANK = lazy(
    r"[\"'`]?[ \t]{1,20}(?:(?:is|was|are|were|set to|to be|equals|reads|of|ist|as)(?: now)?[ \t:=]{1,4}"
    r"|(?![-=|:]))"
)
_BLOCK = lazy(r"[|>][+-]?\d?[ \t]*\r?\n")
_BARE = lazy(r"[^\s\"'`<>]+")
_MORE = lazy(r"[,;&](?=\s|$|[\w.-]{1,40}[=:]|[\w.-]{1,40}\s)|\\n|\|(?=\s|$)")
_END = ".,;:!?)]}\\"


def find_keyed(scan: Scan) -> Iterator[Span]:
    """The values of every name that has secrets for values."""
    text, done = scan.text, -1
    starts = sorted(at for stem in _STEMS if scan.may_hold(stem) for at in scan.offsets(stem))
    for at in starts:
        if at < done:
            continue
        name_end = _NAME_RIGHT.match(text, at)
        end = name_end.end() if name_end else at
        while end > at and text[end - 1] in ".-":
            end -= 1
        done = end
        if text[end : end + 1] not in _FOLLOWS:
            continue
        left = at
        while left and at - left < _NAME_LEFT and (text[left - 1].isalnum() or text[left - 1] in "_.-"):
            left -= 1
        name = text[left:end]
        spoken = name.lower() in _OF_TWO
        if spoken and (
            spaced := _SPACED.match(text, left)
            or _SPACED.match(text, max(text.rfind(" ", max(left - 12, 0), max(left - 1, 0)) + 1, left - 12))
        ):
            name, end = (spaced[0], spaced.end()) if spaced.end() >= end else (name, end)
        kind = kind_of(name)
        if kind != NO:
            yield from _value(scan, name, kind, left, end)


def _value(scan: Scan, name: str, kind: str, left: int, end: int) -> Iterator[Span]:
    text = scan.text
    if _may_be_sign(text, end) and (sign := _SIGN.match(text, end)):
        at = sign.end()
        if kind == HEADER:
            yield from _header(text, at, text[left - 1 : left])
        elif block := _BLOCK.match(text, at):
            yield from _block(text, left, block.end())
        else:
            strict = (
                kind == LIKELY or "->" in sign[0] or ("token" in name.lower() and ":" in sign[0] and not name.isupper())
            )
            quoted = text[at : at + 1] in ('"', "'", "`")
            yield from _one(text, at, strict and not (quoted and kind == SURE), name)
    elif kind != HEADER and " " in text[end : end + 2] and (blank := _BLANK.match(text, end)):
        flag = name.startswith("-") or text[left - 1 : left] in ("-", "/")
        variable = kind == SURE and name.isupper() and "_" in name
        loose = flag and kind == SURE and name.startswith("--")
        if not loose or text[blank.end() : blank.end() + 1] != "-":
            yield from _one(text, blank.end(), not loose, name, expected=variable or flag)


def _may_be_sign(text: str, end: int) -> bool:
    """Whether `_SIGN` is worth its compilation: our own sentences have words such as `pass` in them."""
    rest = text[end : end + 80]
    return rest[:1] in "\"'`\\])" or rest.lstrip("\"'`\\]) \t")[:1] in ":=|-,\r\n"


def _one(text: str, at: int, strict: bool, name: str, expected: bool = True) -> Iterator[Span]:
    """The value that begins here."""
    opening = text[at : at + 1]
    if text.startswith(('\\"', "\\'"), at):
        opening, last = text[at : at + 2], text.find(text[at : at + 2], at + 2)
        start = at + 2
    elif opening in ('"', "'", "`") and opening:
        start = at + (3 if text.startswith(opening * 3, at) else 1)
        last = _closing(text, opening, start)
    else:
        found = _BARE.match(text, at)
        if not found:
            return
        start, last = at, found.end()
        if cut := _MORE.search(text, start, last):
            last = cut.start()
        while last > start and text[last - 1] in _END:
            last -= 1
        if "phrase" in name.lower() or "mnemonic" in name.lower():
            line = text.find("\n", start)
            last = line if line >= 0 else len(text)
    if last <= start:
        return
    value = text[start:last]
    if is_nothing(value) or "\n" in value or (strict and not is_secret_like(value)):
        return
    if value.startswith(("http://", "https://", "file://")) and "@" not in value and "dsn" not in name.lower():
        return  # what it holds is masked by its own rules
    yield Span(start, last)


def _closing(text: str, quote: str, start: int) -> int:
    line = text.find("\n", start)
    limit = min(line if line >= 0 else len(text), start + 4000)
    at = start
    while (at := text.find(quote, at, limit)) >= 0:
        if text[at - 1] != "\\":
            return at
        at += 1
    return limit


def _header(text: str, at: int, before: str) -> Iterator[Span]:
    """The rest of the line, or of the string that the header stands in; a dict of cookies value by value."""
    if text[at : at + 1] in ("{", "["):
        last = text.find("}", at, at + 4000)
        for found in compiled(r"[:=]\s{0,4}[\"']([^\"'\n]{1,2000})[\"']").finditer(text, at, last if last > 0 else at):
            yield Span(*found.span(1))
        return
    quote = before if before in ('"', "'", "`") else ""
    if text[at : at + 1] in ('"', "'"):
        quote = text[at]
        at += 1
    last = _closing(text, quote or "\n", at)
    if escaped := compiled(r"\\[nr]").search(text, at, last):
        last = escaped.start()
    value = text[at:last].strip()
    if value and not is_nothing(value) and not value.startswith(("***", "$", "{{")):
        scheme = compiled(r"(?i)(?:bearer|basic|token|digest|apikey|negotiate|ntlm)\s+").match(text, at)
        start = scheme.end() if scheme else at
        if not is_nothing(text[start:last].strip()):
            yield Span(start, start + len(text[start:last].rstrip()))


def _block(text: str, left: int, at: int) -> Iterator[Span]:
    """The lines of a YAML block under a key: deeper than the key."""
    line = text.rfind("\n", 0, left) + 1
    deep = len(text[line:left]) - len(text[line:left].lstrip(" "))
    while at < len(text):
        ends = text.find("\n", at)
        ends = len(text) if ends < 0 else ends
        row = text[at:ends]
        if row.strip():
            if len(row) - len(row.lstrip(" ")) <= deep:
                return
            yield Span(at + len(row) - len(row.lstrip(" ")), at + len(row.rstrip()))
        at = ends + 1
