"""Keys in the languages that people write in (`key_words.json`), and telephone numbers: `mot de passe : x`, `密码: x`.

A phrase is found as a name writes it too (`mot_de_passe`), without its accents, and as JSON escapes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from msgspec.json import decode

from ..formats.lazy import lazy
from .secret_keys import is_nothing, is_secret_like
from .spans import NameSpan, Scan, compiled

_SIGN = lazy(
    r"[\"'`»”」』)\\]{0,4}[ \t]{0,40}(?::(?!:)|=(?!=)|\||->)[ \t]{0,40}|[\"'],[ \t]{0,8}(?=[\"'])"
    r"|[ \t]{0,4}(?:は|是|为|為)[ \t]{0,4}"
)
_SPOKEN = lazy(r"[ \t]{1,4}(?:(?:is|ist|lautet|est|es|é|è|jest|это)[ \t:]{1,4})?(?=\S)")
"""Between a phrase and its value in a sentence: only what looks made up is a value there."""
_CLOSING = {"'": "'", '"': '"', "`": "`", "«": "»", "“": "”", "「": "」", "『": "』"}
_BARE = lazy(r"[^\s\"'`<>|,;，；。、」』»”]+")
_NAME = lazy(r"[^\W\d_][\w.@-]{1,80}")
_NUMBER = lazy(r"(?=[\w./-]{0,60}\d)[A-Za-z0-9][A-Za-z0-9./-]{3,60}")
DIAL = lazy(r"[+(]?\d[\d ()./-]{5,22}\d")
_INTERNATIONAL = r"\+[1-9]\d{0,2}(?:[ .-]?\(\d{1,5}\)|[ .-]\d{1,5})(?:[ .-]\d{1,8}){1,5}(?![\w.%]|[ .-]\d)"
_NATIONAL = r"\(\d{3}\) \d{3}-\d{4}(?!\w)"
_DIGITS = range(9, 16)
"""How many an international number has (ITU-T E.164: at most 15)."""
_END = ".:!?)]}\\"
_IDEOGRAPHS = "\u2e80"
"""From here on, scripts that put no blanks between words."""


@cache
def _phrases() -> tuple[tuple[str, str, str], ...]:
    """(what is searched, pattern of the phrase, kind), the longest first."""
    with open(os.path.join(os.path.dirname(__file__), "key_words.json"), "rb") as file:  # noqa: PTH118, PTH120
        table: dict[str, dict[str, list[str]]] = decode(file.read())
    rows: dict[tuple[str, str], None] = {}
    for kind, languages in table.items():
        for phrase in (phrase for phrases in languages.values() for phrase in phrases):
            rows[phrase, kind] = None
            if not phrase.isascii():
                rows["".join(c if c.isascii() else rf"\u{ord(c):04x}" for c in phrase), kind] = None
                if (plain := without_accents(phrase)).isascii():
                    rows[plain, kind] = None
    ordered = sorted(rows, key=lambda row: -len(row[0]))
    return tuple((phrase.split()[0], _pattern(phrase), kind) for phrase, kind in ordered)


def without_accents(phrase: str) -> str:
    """The letters alone, as in names of variables."""
    from unicodedata import combining, normalize

    return "".join(c for c in normalize("NFD", phrase) if not combining(c))


def _pattern(phrase: str) -> str:
    words = "[ _-]{0,2}".join(re.escape(word).replace("'", "['’_]?") for word in phrase.split())
    return words if phrase[0] >= _IDEOGRAPHS else rf"{words}(?![^\W\d_])"


def find_translated(scan: Scan) -> list[NameSpan]:
    """Values of such keys, and telephone numbers; the kind is secret, user, host or number."""
    return scan.kept("translated", _find)


def kind_of_phrase(name: str) -> str:
    """What the value of a key in lower case is: secret, likely, user, host, number, phone, or nothing."""
    likely = ((pattern, kind) for word, pattern, kind in _phrases() if name.startswith(word.partition("'")[0]))
    return next((kind for pattern, kind in likely if compiled(pattern).fullmatch(name)), "")


def _find(scan: Scan) -> Iterator[NameSpan]:
    text, plain, done = scan.text, scan.text.isascii(), set[int]()
    for word, pattern, kind in scan.kept("phrases", _wanted):
        for at in scan.offsets(word):
            found = None if at in done else compiled(pattern).match(scan.lower, at)
            if found and not (at and word[0] < _IDEOGRAPHS and text[at - 1].isalpha()):
                done.update(range(at, found.end()))
                yield from _value(text, found.end(), kind)
    if "+" in text and (not plain or compiled(r"\+[1-9]\d{0,2}[ .(-]").search(text)):
        for at in scan.offsets("+"):
            inside = not at or text[at - 1].isalnum() or text[at - 1] in "\n.+:/)-_"  # `+` begins a line of a diff
            dialed = None if inside else compiled(_INTERNATIONAL).match(text, at)
            if dialed and sum(c.isdigit() for c in dialed[0]) in _DIGITS:
                yield NameSpan(*dialed.span(), "secret")
    if ") " in text:
        for dialed in compiled(_NATIONAL).finditer(text):
            yield NameSpan(*dialed.span(), "secret")


def _wanted(scan: Scan) -> Iterator[tuple[str, str, str]]:
    """The phrases whose first word a text may hold."""
    plain, escaped = scan.text.isascii(), "\\u" in scan.text
    for row in _phrases():
        head, escape, _ = row[0].partition("\\")
        if not head.isascii():
            wanted = not plain and head in scan.lower
        else:
            wanted = (escaped or not escape) and (not head or scan.may_begin(head.strip(".").partition("/")[0]))
        if wanted:
            yield row


def phrase_offsets(scan: Scan) -> Iterator[int]:
    """Where a phrase may begin."""
    for word in {word for word, _, _ in scan.kept("phrases", _wanted)}:
        yield from scan.offsets(word)


def _value(text: str, end: int, kind: str) -> Iterator[NameSpan]:
    """The value of a phrase that ends here."""
    sign = _SIGN.match(text, end)
    between = sign or (_SPOKEN.match(text, end) if kind in ("secret", "likely") else None)
    if not between:
        return
    at = between.end()
    quote = _CLOSING.get(text[at : at + 1], "")
    at += bool(quote)
    if kind in ("secret", "likely"):
        line = text.find("\n", at)
        last = text.find(quote, at, line if line >= 0 else len(text)) if quote else -1
        if last < 0:
            bare = _BARE.match(text, at)
            last = at + len(bare[0].rstrip(_END)) if bare else at
        value = text[at:last]
        strict = kind == "likely" or not sign
        if value and not is_nothing(value) and not (strict and not is_secret_like(value)):
            yield NameSpan(at, last, "secret")
        return
    found = {"phone": DIAL, "number": _NUMBER}.get(kind, _NAME).match(text, at)
    if not found:
        return
    last = at + len(found[0].rstrip(_END))
    if kind in ("user", "host") and not quote and "=" not in between[0] and _goes_on(text, last):
        return  # a sentence
    yield NameSpan(at, last, "secret" if kind == "phone" else kind)


def _goes_on(text: str, at: int) -> bool:
    """Whether more words follow on the line."""
    return text[at : at + 1] in (" ", "\t") and text[at : at + 8].lstrip(" \t")[:1].isalnum()
