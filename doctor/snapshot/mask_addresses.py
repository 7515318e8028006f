"""E-mail, MAC and network addresses, and numbers of containers: each becomes a documentation address.

A dotted quad may be an address or a version of four parts (`libcurand 10.3.9.90`); what stands before it decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..formats.lazy import lazy
from .spans import NameSpan, Scan, Span, any_of, compiled, left_of

_MAIL = r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@(?:[\w-]{1,63}\.)+[A-Za-z]{2,24}(?![\w.@-]*[\w@])"
_MAIL_SIGNS = frozenset("_.+-")
UNITS = (".service", ".so", ".socket", ".target", ".timer", ".slice")
_COLONS = bytes(c if chr(c) in "0123456789abcdefABCDEF:" else 32 for c in range(128)) + b" " * 128
_MAC = r"(?:[0-9A-Fa-f]{2}:){5,19}[0-9A-Fa-f]{2}"
_GUID = r"(?:[0-9A-Fa-f]{4}:){3}[0-9A-Fa-f]{4}"
_IPV6 = r"(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}"
_DASHED_MAC = r"(?<![\w-])(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}(?![\w-])"
_DOTTED_MAC = r"[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}"
_DASHED_IP = r"ip-(\d{1,3}(?:-\d{1,3}){3})\b"
_INTERFACE = r"\b(?:enx|wlx)[0-9a-f]{12}\b"
_LONG_ID = r"(?<=[/:])(?<!\bsha256:)[0-9a-f]{64}(?![\w.-])"
_IPV4 = r"(?:\d{1,3}\.){3}\d{1,3}(?![\w+]|-(?!\d)|\.\w)"
_VERSION_BEFORE = lazy(
    r"(?i)(?:\b(?:lib|cu[a-z]{2}|nv|trt|tensorrt|npp|version|driver|release|build|package|toolkit|torch|python|"
    r"firmware|kernel|linux|vbios|bios|chrome|wsl|wddm)[\w.-]*|(?:older|newer|lower|higher|less|later|earlier) than|"
    r"(?:at least|up to|needs|requires|since|before|until)|-cu\d\d|\bv|[=<>~!]=)[\s|:=\"',()\[\]v-]*$"
)
_ADDRESS_BEFORE = lazy(
    r"(?i)(?:\b\w*(?:ip|addr(?:ess)?|host|server|peer|inet|gateway|gw|dns|node|url|endpoint|master|bind|listen|src|dst|"
    r"connect|connect to|connected to|route|ssh|ping|remote|local|proxy|nfs|client|interface|subnet|cidr|worker|"
    r"rank ?\d*)"
    r"[\s|:=\"',()\[\]-]*|//|@)$"
)

_EVERYWHERE = ("172.17.", "192.168.122.", "169.254.169.254")
"""Bridges of Docker and libvirt, and the metadata service of clouds: the same on all machines, and checks know them."""

Number = Callable[[str, str], int]
"""(kind, original) to the number of its pseudonym, the same for the same original."""


def find_addresses(scan: Scan, number: Number) -> Iterator[Span]:
    """E-mail, MAC and IPv6 addresses of a text and documentation addresses for them (IPv4 needs to be learned)."""
    if len(scan.text) < 8:
        return
    for start, end, kind in sorted(scan.kept("addresses", _found)):  # in their order: numbers are given as they come
        whole = scan.text[start:end]
        mask = _MASKS[kind](whole, number)
        if mask != whole:
            yield Span(start, end, mask)


def _found(scan: Scan) -> Iterator[NameSpan]:
    yield from _mails(scan)
    yield from _colons(scan)
    yield from _words(scan)


def _mails(scan: Scan) -> Iterator[NameSpan]:
    text = scan.text
    for at in scan.offsets("@") if "@" in text else ():
        left = left_of(text, at, _MAIL_SIGNS, 65)
        if left < at and (text[at + 1 : at + 2].isalnum() or text[at + 1 : at + 2] in ("_", "-")):
            found = compiled(_MAIL).match(text, left, min(at + 200, len(text)))
            in_path = text[left - 1 : left] == "/" and text[left - 2 : left] != "//"
            if found and not in_path and not found[0].endswith(UNITS):
                yield NameSpan(*found.span(), "mail")


def _colons(scan: Scan) -> Iterator[NameSpan]:
    """MAC, IPv6 and InfiniBand addresses: runs of hexadecimal digits and colons."""
    text = scan.text
    if text.count(":") < 2:
        return
    runs = set(text.encode("utf-8", "replace").translate(_COLONS).decode("ascii").split())
    wanted = []
    for run in runs:
        if ":" not in run or (count := run.count(":")) < 2:
            continue
        if (count < 5 and "::" not in run and (count < 3 or len(run) < 19)) or len(run) - count < 2:
            continue
        wanted.append(run)
    for at, run in any_of(text, wanted, r"[0-9A-Fa-f:]+"):
        start, end = at, at + len(run)
        if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start = text.index(":", start) + 1  # of `mac:aa:...`
        if end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end = text.rindex(":", start, end) if ":" in text[start:end] else start
        whole = text[start:end]
        bare = whole.lstrip(":") if not whole.startswith("::") else whole
        start, bare = end - len(bare), bare if bare.endswith("::") else bare.rstrip(":")
        for kind, pattern in (("mac", _MAC), ("guid", _GUID), ("ipv6", _IPV6)):
            if compiled(pattern).fullmatch(bare):
                yield NameSpan(start, start + len(bare), kind)
                break


def _words(scan: Scan) -> Iterator[NameSpan]:
    """Addresses with dashes or dots, and long numbers, in words that may hold them."""
    dashed = scan.dashed
    long = [word for word in scan.words if len(word) >= 14]
    for kind, pattern, words in (
        ("dashed", _DASHED_IP, [word for word in dashed if "ip-" in word]),
        ("dashed mac", _DASHED_MAC, [word for word in dashed if len(word) >= 17 and word.count("-") != 4]),
        ("interface", _INTERFACE, [word for word in long if word[:3] in ("enx", "wlx")]),
        ("dotted mac", _DOTTED_MAC, [word for word in long if len(word) == 14 and word[4] == word[9] == "."]),
    ):
        for found in scan.each(words, pattern):
            yield NameSpan(*found.span(), kind)
    if any(len(word) >= 64 and word.isalnum() for word in long):
        for found in compiled(_LONG_ID).finditer(scan.text):
            yield NameSpan(*found.span(), "long")


def find_ipv4(scan: Scan) -> list[Span]:
    """Addresses in a text; loopback, wildcard and masks are not among them, nor what stands as a version."""
    return scan.kept("ipv4", _find_ipv4)


def _find_ipv4(scan: Scan) -> Iterator[Span]:
    text = scan.text
    words = [word for word in scan.words if "." in word and word.count(".") >= 3 and not word.strip("0123456789.-")]
    for found in sorted(scan.each(words, _IPV4), key=lambda found: found.start()):
        if _is_somebodys(found[0]) and _is_address(text, found):
            yield Span(*found.span(), found[0])


def _is_address(text: str, found: re.Match[str]) -> bool:
    """Whether a dotted quad of a text is an address there, by what stands before it on its line and after it."""
    before = text[max(found.start() - 2, 0) : found.start()]
    if before and (before[-1].isalnum() or before[-1] in "_.+<>~!-" or (before[-1] == "/" and before != "//")):
        return False
    first = max(text.rfind("\n", 0, found.start()) + 1, found.start() - 40)
    before = text[first : found.start()]
    if _ADDRESS_BEFORE.search(before):
        return True
    if _VERSION_BEFORE.search(before):
        return False
    if compiled(r":\d{2,5}\b|/\d{1,2}\b|:/").match(text, found.end()):
        return True
    octet, second, third = (int(part) for part in found[0].split(".")[:3])
    return octet > 31 or octet == 10 or second > 40 or third > 40  # no library's version of four parts is such


def ipv4_mask(index: int) -> str:
    """The n-th documentation address (RFC 5737), then private ones."""
    nets = ("192.0.2.", "198.51.100.", "203.0.113.")
    if index <= 750:
        return nets[(index - 1) // 250] + str((index - 1) % 250 + 1)
    return f"240.{index >> 16 & 255}.{index >> 8 & 255}.{index & 255}"


def _is_somebodys(text: str) -> bool:
    parts = [int(part) for part in text.split(".")]
    if max(parts) > 255 or any(len(part) > 1 and part[0] == "0" for part in text.split(".")):
        return False
    if parts[0] in (0, 127, 240) or parts == [255] * 4:
        return False
    return not text.startswith(("192.0.2.", "198.51.100.", "203.0.113.", *_EVERYWHERE))


def _mail(text: str, number: Number) -> str:
    return text if text.endswith("@host.invalid") else f"mail-{number('mail', text)}@host.invalid"


def _dashed(text: str, number: Number) -> str:
    """As in `ip-10-0-3-7`, the host name that a cloud makes of an address."""
    return text if text.startswith("ip-192-0-2-") else f"ip-192-0-2-{number('dashed-ip', text[3:]) % 250 + 1}"


def _long_id(text: str, number: Number) -> str:
    """The 64 digits of a container or a layer: 'id' in hexadecimal, then a number."""
    return text if text.startswith("6964" + "0" * 40) else f"6964{number('long-id', text):060x}"


def _mac(text: str, number: Number) -> str:
    if text.startswith("02:00:00:00:"):
        return text
    index = number("mac", text.lower())
    groups = text.count(":") + 1
    return ":".join(["02", "00", "00", "00", *["00"] * (groups - 6), f"{index >> 8 & 255:02x}", f"{index & 255:02x}"])


def _ipv6(text: str, number: Number) -> str:
    groups = text.split(":")
    short = "::" in text
    if text.count("::") > 1 or ":::" in text or (not short and len(groups) != 8 and "." not in text):
        return text
    if sum(1 for group in groups if group) < 2 or compiled(r"2001:db8::[0-9a-f]{1,4}").fullmatch(text.lower()):
        return text  # ::1 and :: say nothing, and that is our own mask
    return f"2001:db8::{number('ipv6', text.lower()):x}"


def _dashed_mac(text: str, number: Number) -> str:
    return _mac(text.replace("-", ":"), number).replace(":", "-")


def _dotted_mac(text: str, number: Number) -> str:
    if text.startswith("0200.0000.") or text.replace(".", "").isdigit():
        return text
    return f"0200.0000.{number('mac', text.lower()):04x}"


def _guid(text: str, number: Number) -> str:
    return text if text.startswith("0200:0000:") else f"0200:0000:0000:{number('mac', text.lower()):04x}"


def _interface(text: str, number: Number) -> str:
    return text if text[3:].startswith("02000000") else f"{text[:3]}02000000{number('mac', text):04x}"


_MASKS: dict[str, Callable[[str, Number], str]] = {
    "mail": _mail, "mac": _mac, "guid": _guid, "ipv6": _ipv6, "dashed": _dashed,
    "dashed mac": _dashed_mac, "interface": _interface, "dotted mac": _dotted_mac, "long": _long_id,
}  # fmt: skip
