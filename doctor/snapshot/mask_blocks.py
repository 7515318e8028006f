"""Secrets over several lines: private keys, Secrets of Kubernetes, cookie files, tables with a column of serials."""

from __future__ import annotations

from collections.abc import Iterator

from .secret_keys import is_nothing
from .spans import Scan, Span, compiled

_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----[\s\S]{0,20000}?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----|\Z|(?=\n\s*\n\s*\n))"
)
_DOCUMENT = 20_000
_DATA = r"(?m)^([ \t]*)(?:data|stringData):[ \t]*\r?\n((?:\1[ \t]+\S.*\r?\n?)+)"
_ENTRY = r"(?m)^[ \t]+[\w.-]{1,100}:[ \t]+[\"']?([^\s\"'|>][^\n\"']{0,4000}?)[\"']?[ \t]*\r?$"
_JSON_DATA = r"\"(?:data|stringData)\"\s{0,4}:\s{0,4}\{([^{}]{0,20000})\}"
_JSON_ENTRY = r":\s{0,4}\"([^\"]{1,8000})\""
_COOKIE_ROW = r"(?m)^(?:#HttpOnly_)?[\w.-]+\t(?:TRUE|FALSE)\t\S*\t(?:TRUE|FALSE)\t\d+\t\S+\t(\S+)"
_CRYPT = r"\$(?:apr1|1|2[abxy]?|5|6|7|y|gy|argon2\w{0,2}|pbkdf2[\w-]{0,12}|scrypt|sha1)\$[\w./$=,+-]{16,300}"
_USER = r"[A-Za-z_][\w.-]{0,40}:\Z"
"""A password's hash as crypt(3) writes it, with the user before it."""
_SSH_KEY = r"(?<=[ \"'])AAAA[A-Za-z0-9+/=]{40,}(?: [\w.-]+@[\w.-]+)?"
_ARN = r"(?<=arn:aws)[\w-]*:[\w-]*:[\w-]*:\d{12}:\S+"
_SID = r"\bS-1-5-21(?:-\d{1,10}){3,4}\b"


def find_blocks(scan: Scan) -> Iterator[Span]:
    """Secrets that their surroundings tell."""
    text = scan.text
    for mark, pattern, group in (
        ("-----BEGIN", _KEY, 0),
        ("\tTRUE\t", _COOKIE_ROW, 1),
        ("AAAA", _SSH_KEY, 0),
        ("arn:aws", _ARN, 0),
        ("S-1-5-21", _SID, 0),
    ):
        if mark in text:
            for found in compiled(pattern).finditer(text):
                yield Span(*found.span(group))
    for at in scan.places("$") if "$" in text else ():
        if hashed := compiled(_CRYPT).match(text, at):
            before = compiled(_USER).search(text, max(text.rfind("\n", 0, at) + 1, at - 42), at)
            yield Span(before.start() if before else at, hashed.end())
    if scan.may_hold("Secret") and scan.may_hold("kind"):
        for at in scan.places("kind"):
            if compiled(r"kind[\"']?\s{0,4}:\s{0,4}[\"']?Secret\b").match(text, at):
                yield from _secret(text, at)


def _secret(text: str, at: int) -> Iterator[Span]:
    """The data of the document that this line is of."""
    first = max(text.rfind("\n---", 0, at), at - _DOCUMENT, 0)
    last = text.find("\n---", at)
    last = min(len(text) if last < 0 else last, at + _DOCUMENT)
    for data, entry in ((_DATA, _ENTRY), (_JSON_DATA, _JSON_ENTRY)):
        for block in compiled(data).finditer(text, first, last):
            start, end = block.span(block.lastindex or 0)
            for found in compiled(entry).finditer(text, start, end):
                if not is_nothing(found[1]):
                    yield Span(*found.span(1))
