"""Secrets over several lines: private keys, Secrets of Kubernetes, cookie files, tables with a column of serials."""

from __future__ import annotations

from collections.abc import Iterator

from .secret_keys import is_nothing
from .spans import Scan, Span, compiled

_KEY = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----"
_KEY_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----|(?=\n[^\S\n]*\n[^\S\n]*\n)"
_LONGEST_KEY = 20_000
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
        ("\tTRUE\t", _COOKIE_ROW, 1),
        ("AAAA", _SSH_KEY, 0),
        ("arn:aws", _ARN, 0),
        ("S-1-5-21", _SID, 0),
    ):
        if mark in text:
            for found in compiled(pattern).finditer(text):
                yield Span(*found.span(group))
    if "-----BEGIN" in text:
        yield from _private_keys(text)
    done = 0
    for at in scan.offsets("$") if "$" in text else ():
        if at >= done and (hashed := compiled(_CRYPT).match(text, at)):
            done = hashed.end()
            before = compiled(_USER).search(text, max(text.rfind("\n", 0, at) + 1, at - 42), at)
            yield Span(before.start() if before else at, hashed.end())
    if scan.may_hold("Secret") and scan.may_hold("kind"):
        first, last = 0, -1
        for at in scan.offsets("kind"):
            if compiled(r"kind[\"']?\s{0,4}:\s{0,4}[\"']?Secret\b").match(text, at):
                start, end = _document(text, at)
                if start >= last:
                    yield from _secret(text, first, last)
                    first = start
                last = end
        yield from _secret(text, first, last)


def _private_keys(text: str) -> Iterator[Span]:
    """Each to its end, to two empty lines or to the end of the text; without one of them within reach it is none."""
    ends = compiled(_KEY_END).finditer(text)
    end = next(ends, None)
    done = 0
    for begin in compiled(_KEY).finditer(text):
        if begin.start() < done:
            continue
        while end and end.start() < begin.end():
            end = next(ends, None)
        start, done = (end.start(), end.end()) if end else (len(text), len(text))
        if start - begin.end() <= _LONGEST_KEY:
            yield Span(begin.start(), done)
        else:
            done = 0


def _document(text: str, at: int) -> tuple[int, int]:
    """The document that a line is of, as far as it is looked at."""
    least, most = max(at - _DOCUMENT, 0), min(at + _DOCUMENT, len(text))
    last = text.find("\n---", at, most)
    return max(text.rfind("\n---", least, at), least), most if last < 0 else last


def _secret(text: str, first: int, last: int) -> Iterator[Span]:
    """The data of a document."""
    for data, entry in ((_DATA, _ENTRY), (_JSON_DATA, _JSON_ENTRY)):
        for block in compiled(data).finditer(text, first, last):
            start, end = block.span(block.lastindex or 0)
            for found in compiled(entry).finditer(text, start, end):
                if not is_nothing(found[1]):
                    yield Span(*found.span(1))
