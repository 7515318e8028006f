"""What URLs carry before `@` and behind `?`, and connection strings without a scheme."""

from __future__ import annotations

from collections.abc import Iterator

from .secret_keys import NO, is_nothing, is_secret_like, kind_of
from .spans import Scan, Span, compiled, left_of

_USERINFO = (
    r"(?:(?!git@)[^/\s'\"<>@]{1,300}|[^/\s'\"<>@:]{1,80}:(?!\d{1,5}/)[^\s'\"<>@]{1,200})"
    r"(?:@[^/\s'\"<>@]{1,60})*@(?=[\w\[.-])"
)
_REST = r"[^\s'\"<>]*"
_LONGEST_USER, _LONGEST_QUERY = 310, 2000
"""Characters."""
_QUERY = r"(?<=[?&;#])([\w.%~\[\]-]{1,80})=([^&;#\s'\"<>)\\]+)"
_HARMLESS = r"[\d.]{1,12}|(?:[A-Za-z]{1,16}(?:[-_+]|%3A|%20|%2F)?){1,8}|v?\d+(?:\.\d+){1,3}[\w.+-]{0,12}"
_HEX_DIGITS = {"md5": 32, "sha1": 40, "sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128}
"""Checksums that pip writes behind a file's URL: anybody can work them out from the file."""
_BARE_SIGNS = frozenset("_.%+-")
_BARE = (
    r"(?<![\w.:/@-])[\w.%+-]{1,100}:[^\s:@/'\"]{1,200}@(?!sha256:)"
    r"(?=(?:tcp|unix|udp)\(|[\w.-]+:\d{2,5}\b|[\w-]+(?:\.[\w-]+)+(?:/|\b))"
)


def find_in_urls(scan: Scan) -> Iterator[Span]:
    """User names and passwords of URLs, values of their queries, `user:password@host:port`."""
    text = scan.text
    if "://" in text:
        done = 0
        for at in scan.offsets("://"):
            has_user = text.find("@", at + 3, at + _LONGEST_USER) >= 0
            found = compiled(_USERINFO).match(text, at + 3) if has_user else None
            if found and not text.startswith(("git@", "***@"), at + 3):
                yield Span(at + 3, found.end() - 1)
            start = max(at + 3, done)  # an address inside another's query was looked at with it
            rest = compiled(_REST).match(text, start, max(start, at + 3 + _LONGEST_QUERY))
            if rest:
                done = rest.end()
                if "=" in rest[0]:
                    yield from _query(text, start, done)
    if "@" in text:
        for at in scan.offsets("@"):
            colon = text.rfind(":", max(at - 201, 0), at)
            if 0 <= colon < at - 1:
                left = left_of(text, colon, _BARE_SIGNS, 101)
                for found in compiled(_BARE).finditer(text, left, min(at + 310, len(text))):
                    if found.start() > colon:
                        break
                    yield Span(found.start(), found.end() - 1)


def _query(text: str, start: int, end: int) -> Iterator[Span]:
    for found in compiled(_QUERY).finditer(text, start, end):
        name, value = found.groups()
        if is_nothing(value) or ("#" in text[start : found.start()] and _of_pip(name, value)):
            continue
        if name.lower().endswith("color") and compiled(r"[0-9A-Fa-f]{3,8}").fullmatch(value):
            continue
        if kind_of(name) != NO or not compiled(_HARMLESS).fullmatch(value) or is_secret_like(value):
            yield Span(*found.span(2))


def _of_pip(name: str, value: str) -> bool:
    """Whether this is what pip writes behind `#`: a checksum, `egg=NAME`, `subdirectory=PATH`."""
    if name in ("egg", "subdirectory"):
        return compiled(r"[\w.,\[\]/-]{1,80}").fullmatch(value) is not None and not is_secret_like(value)
    return len(value) == _HEX_DIGITS.get(name.lower()) and compiled(r"[0-9a-fA-F]+").fullmatch(value) is not None
