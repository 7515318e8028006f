"""Tokens, passwords, credentials in URLs, e-mail and network addresses inside any text.

Patterns are compiled on first need, behind a cheap substring test: most texts hold nothing to mask.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

GONE = "***"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_TOKENS = {
    "hf_": r"\bhf_[A-Za-z0-9]{16,}",
    "gh": r"\bgh[pousr]_[A-Za-z0-9]{16,}",
    "github_pat_": r"\bgithub_pat_\w{16,}",
    "glpat-": r"\bglpat-[\w-]{16,}",
    "xox": r"\bxox[abeoprs]-[\w-]{10,}",
    "sk-": r"\bsk-(?=[\w-]*\d)[\w-]{20,}",
    "KIA": r"\bAKIA[A-Z0-9]{16}\b",
    "SIA": r"\bASIA[A-Z0-9]{16}\b",
    "AIza": r"\bAIza[\w-]{30,}",
    "ya29.": r"\bya29\.[\w.-]{16,}",
    "eyJ": r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",
    "nvapi-": r"\bnvapi-[\w-]{16,}",
    "rpa_": r"\brpa_[A-Za-z0-9]{16,}",
    "npm_": r"\bnpm_[A-Za-z0-9]{16,}",
    "pypi-": r"\bpypi-[\w-]{40,}",
    "dckr_pat_": r"\bdckr_pat_[\w-]{16,}",
    "k_live_": r"\b[rsp]k_live_[A-Za-z0-9]{16,}",
    "gsk_": r"\bgsk_[A-Za-z0-9]{16,}",
    "r8_": r"\br8_[A-Za-z0-9]{16,}",
    "SG.": r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
    ":AA": r"\b\d{8,10}:AA[\w-]{30,}",
    "hooks.": r"(?<=://hooks\.slack\.com/services/)[\w/-]+",
    "/webhooks/": r"(?<=/webhooks/)\d+/[\w-]+",
    " AAAA": r"(?<= )AAAA[A-Za-z0-9+/=]{40,}(?: [\w.-]+@[\w.-]+)?",
    "ookie:": r"(?<=ookie:)[^\r\n]+",
    " -u ": r"(?<= -u )[^\s:'\"]{1,100}:[^\s'\"]+",
    "machine ": r"(?:(?<=\blogin )|(?<=\bpassword )|(?<=\baccount ))\S+",
    '"auth': r"(?<=\"auth\": \")[\w+/=-]+",
    "S-1-5-21": r"\bS-1-5-21(?:-\d{1,10}){3,4}\b",
    "erial ": r"(\b[Ss]erial (?:Number|number|No\.?)\s{0,60}[:=]\s{0,9})(?!serial-\d)\S+",
    "arn:aws": r"(?<=arn:aws)[\w-]*:[\w-]*:[\w-]*:\d{12}:\S+",
    "i-0": r"\bi-0[0-9a-f]{16}\b",
    "earer": r"(?<=[Bb]earer )[\w.~+/=-]{12,}",
    "uthorization": r"(?<=uthorization: )\S+(?: [\w.~+/=-]{8,})?",
    "-----BEGIN": r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\Z)",
}
_WORD = (
    r"(?:token|secret|passwd|password|passphrase|api[_-]?key|access[_-]?key|account_?key|private[_-]?key|auth_?key"
    r"|credential)s?"
)
_ASSIGNED = (
    rf"(?i)({_WORD}(?:[_.-][\w.-]{{0,64}})?[\"']?\s{{0,4}}=(?!=)\s{{0,4}}|{_WORD}[\"']\s{{0,4}}:\s{{0,4}}|--?{_WORD}\s"
    r"|\b(?:password|passwd|passphrase|x-api-key|api[_-]?key):\s{1,4})"
    r"(\"[^\"]*\"|'[^']*'|[^\s,;&\"'}]+)"
)
_HINTS = ("token", "secret", "passw", "passp", "key", "credential")
_USERINFO = r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)(?!git@)[^/\s'\"]{1,300}@"
_BARE_USERINFO = r"(?<![\w.:/@-])[\w.%+-]{1,100}:[^\s:@/'\"]{1,200}@(?=[\w.-]+:\d{2,5}\b)"
_QUERY = r"([?&;][\w.%~-]{1,80}=)[^&;#\s'\"]+"
_URL = r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s'\"<>]+"
_MAIL = r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@(?:[\w-]{1,63}\.)+[A-Za-z]{2,24}(?![\w.@-]*[\w@])"
_MAC = r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}:){5}(?:[0-9A-Fa-f]{2}:){0,14}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])"
_DASHED_MAC = r"(?<![\w-])(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}(?![\w-])"
_DASHED_IP = r"\bip-(\d{1,3}(?:-\d{1,3}){3})\b"
_LONG_ID = r"(?<=[/:-])[0-9a-f]{64}(?=[/.:,\s\"')]|$)"
_IPV6 = r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])"
IPV4 = r"(?<![\w.=<>~!+-])(?<![^/]/)(?:\d{1,3}\.){3}\d{1,3}(?![\w+-]|\.\w)"

Number = Callable[[str, str], int]
"""(kind, original) to the number of its pseudonym, the same for the same original."""


def mask_secrets(text: str) -> str:
    """`text` without tokens, passwords, and what stands in URLs before `@` or behind `?`."""
    for mark, pattern in _TOKENS.items():
        if mark in text:
            text = _compiled(pattern).sub(lambda m: (m[1] if m.re.groups else "") + GONE, text)
    if "://" in text:
        if "@" in text:
            text = _compiled(_USERINFO).sub(rf"\1{GONE}@", text)
        if "=" in text:
            text = _compiled(_URL).sub(lambda url: _compiled(_QUERY).sub(rf"\1{GONE}", url[0]), text)
    elif "@" in text and ":" in text:
        text = _compiled(_BARE_USERINFO).sub(f"{GONE}@", text)
    if len(text) > 6 and ("=" in text or ":" in text or "--" in text):
        lower = text.lower()
        if any(hint in lower for hint in _HINTS):
            text = _compiled(_ASSIGNED).sub(rf"\1{GONE}", text)
    return text


def mask_addresses(text: str, number: Number) -> str:
    """`text` with e-mail, MAC and IPv6 addresses replaced by documentation addresses (IPv4 needs to be learned)."""
    if "@" in text:
        text = _compiled(_MAIL).sub(lambda m: _mail(m[0], number), text)
    if text.count(":") >= 2:
        if text.count(":") >= 5:
            text = _compiled(_MAC).sub(lambda m: _mac(m[0], number), text)
        text = _compiled(_IPV6).sub(lambda m: _ipv6(m[0], number), text)
    dashes = text.count("-")
    if dashes >= 4 and "ip-" in text:
        text = _compiled(_DASHED_IP).sub(lambda m: f"ip-{_dashed(m[1], number)}", text)
    if dashes >= 5:
        text = _compiled(_DASHED_MAC).sub(lambda m: _mac(m[0].replace("-", ":"), number).replace(":", "-"), text)
    if len(text) >= 64 and "sha256" not in text:
        text = _compiled(_LONG_ID).sub(lambda m: _long_id(m[0], number), text)
    return text


def find_ipv4(text: str) -> list[str]:
    """Addresses in a text; loopback, wildcard and masks are not among them. Versions of four parts may be."""
    if text.count(".") < 3:
        return []
    return [found for found in _compiled(IPV4).findall(text) if _is_private_ipv4(found)]


def replace_ipv4(text: str, masks: dict[str, str]) -> str:
    """Replace the addresses that `masks` knows, where they do not stand as a version."""
    if not masks or text.count(".") < 3:
        return text
    return _compiled(IPV4).sub(lambda m: masks.get(m[0], m[0]), text)


def ipv4_mask(index: int) -> str:
    """The n-th documentation address (RFC 5737), then private ones."""
    nets = ("192.0.2.", "198.51.100.", "203.0.113.")
    if index <= 750:
        return nets[(index - 1) // 250] + str((index - 1) % 250 + 1)
    return f"240.{index >> 16 & 255}.{index >> 8 & 255}.{index & 255}"


def _is_private_ipv4(text: str) -> bool:
    parts = [int(part) for part in text.split(".")]
    if max(parts) > 255 or any(len(part) > 1 and part[0] == "0" for part in text.split(".")):
        return False
    if parts[0] in (0, 127, 240) or parts == [255] * 4:
        return False
    return not text.startswith(("192.0.2.", "198.51.100.", "203.0.113."))


def _mail(text: str, number: Number) -> str:
    return text if text.endswith("@host.invalid") else f"mail-{number('mail', text)}@host.invalid"


def _dashed(text: str, number: Number) -> str:
    """As in `ip-10-0-3-7`, the host name that a cloud makes of an address."""
    return text if text.startswith("192-0-2-") else f"192-0-2-{number('dashed-ip', text) % 250 + 1}"


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
    if sum(1 for group in groups if group) < 2 or text.lower().startswith("2001:db8:"):
        return text  # ::1 and :: say nothing
    return f"2001:db8::{number('ipv6', text.lower()):x}"
