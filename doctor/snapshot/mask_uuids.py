"""GPU and MIG UUIDs: masks keep the form, and abbreviations keep meaning what they meant.

CUDA accepts any unique beginning of a UUID in CUDA_VISIBLE_DEVICES, so a beginning that picked one GPU must become a
beginning of that GPU's mask, one that picked none must pick none, and an ambiguous one must stay ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .spans import Scan, Span, replaced

FULL = lazy(r"\b(MIG-GPU-|MIG-|GPU-)?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b")
_PART = lazy(r"(MIG-GPU-|MIG-|GPU-)([0-9a-fA-F][0-9a-fA-F-]{0,34})(?=$|[,\s/:'\"])")
_BUILD = lazy(r"(?:\d\.\d[\w.]*[+_-]|/[\w.-]{1,60}:|(?i:\bbuild|tag|revision|commit|image)[\w ]{0,8}[-_. :=#]{1,3})\Z")
"""Before the UUID of a build, which is a version."""
_MARK = "6d61736b6564"
"""Last group of every mask: the word 'masked' in hexadecimal."""
_PUBLIC = ("8be4df61-93ca-11d2-aa0d-00e098032b8c",)
"""The EFI specification's own: part of a path under /sys that is the same everywhere."""
_ELSEWHERE = "d0c"
"""Beginning of the masks of abbreviations that belong to no GPU of the report."""


class Uuids:
    """Masks of the UUIDs of one report. The mask of a full UUID is a hash: the same in every report."""

    def __init__(self) -> None:
        self._full: dict[str, str] = {}
        self._beginnings: dict[str, str] = {}

    def learn(self, scan: Scan) -> None:
        """Know the full UUIDs in a text."""
        for _ in self.find(scan):
            pass

    def learn_beginnings(self, text: str) -> None:
        """Know the abbreviated UUIDs in the value of a variable that selects devices; after all calls of `learn`."""
        for kind, digits in _PART.findall(text):
            if len(digits) < 36:
                self._beginnings[kind + digits] = kind + self._beginning(digits.lower())

    def text(self, text: str) -> str:
        """Replace every UUID, and every known abbreviation of one."""
        return replaced(text, self.find(Scan(text))) if "-" in text else text

    def find(self, scan: Scan) -> Iterator[Span]:
        """The masks of every UUID in a text, and of every known abbreviation of one."""
        text = scan.text
        if text.count("-") >= 4:
            words = [word for word in scan.dashed if len(word) >= 36 and FULL.search(word)]
            for found in scan.each(words, FULL.pattern):
                at = found.start()
                if not _BUILD.search(text, max(text.rfind("\n", 0, at) + 1, at - 60), at):
                    yield Span(at, found.end(), (found[1] or "") + self._mask(found[2]))
        if self._beginnings and ("GPU-" in text or "MIG-" in text):
            for found in _PART.finditer(text):
                yield Span(*found.span(), self._beginnings.get(found[0], found[0]))

    def hexadecimal(self, digits: str) -> str:
        """The mask of a UUID written as 32 digits without dashes."""
        d = digits.lower()
        return self._mask(f"{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:]}").replace("-", "")

    def _mask(self, digits: str) -> str:
        known = digits.lower()
        if known.endswith(_MARK) or known in _PUBLIC:
            self._full.setdefault(known, known)
            return digits
        if known not in self._full:
            h = _hash(known)
            self._full[known] = f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{_MARK}"
        mask = self._full[known]
        return mask.upper() if digits.isupper() else mask

    def _beginning(self, digits: str) -> str:
        masks = sorted(set(self._full.values()))
        meant = sorted({mask for full, mask in self._full.items() if full.startswith(digits)})
        if len(meant) > 1:
            return _common(meant)
        if meant:
            mine = meant[0]
            others = [mask for mask in masks if mask != mine]
            return next(mine[:n] for n in range(len(digits), 37) if not any(o.startswith(mine[:n]) for o in others))
        # Of no GPU here: it must stay so. Idempotent, because what begins like a mask of this kind is left alone.
        other = _ELSEWHERE + (digits[3:] if digits.startswith(_ELSEWHERE) else _hash(digits))
        lengths = range(min(len(digits), 32), 33)
        return next((other[:n] for n in lengths if not any(mask.startswith(other[:n]) for mask in masks)), other[:32])


def _common(texts: list[str]) -> str:
    length = next((i for i, group in enumerate(zip(*texts, strict=False)) if len(set(group)) > 1), 0)
    return texts[0][:length]


def _hash(text: str) -> str:
    from hashlib import blake2s  # only machines with GPUs pay for this import

    return blake2s(text.encode(), digest_size=16, person=b"gpudoc").hexdigest()
