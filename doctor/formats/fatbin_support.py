"""From counts to a judgement: what share of a library's kernels can run on a GPU.

Three kinds of containers must not be counted against an architecture: those without kernels, those that hold only
architecture- or family-specific code (``a``, ``f``: NCCL 2.32 has 20 of 76 for 10.0f alone), and those that were
compiled for one generation only (cuDNN 9.28: hundreds of engines for one chip). What remains, the base containers, is
the library's general code, and in it every supported architecture is present almost everywhere.
"""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Tuple

from .fatbin import PTX, SASS, Target
from .fatbin_summary import FatbinSummary, Pattern, SectionSummary

NEARLY_ALL = 0.9
"""From this share of the base containers on, an architecture counts as supported.

Measured: torch 2.15, NCCL 2.32, bitsandbytes and seven of cuDNN 9.28's libraries have 96 to 100 % for what they
support, and extras reach 12 % (torch: 10.3f). Only cuDNN's collection of separately compiled engines lies between:
80 % for 9.0, 49 % for the dropped 6.1.
"""
MOST = 0.5
"""Below NEARLY_ALL and from here on the bytes alone do not decide."""
SOME = 0.2
"""Up to this share, code for an architecture is that of a few special kernels (torch 2.10: 10.0a in 14 %)."""
_OWN_CODE_ONLY = ("3.2", "5.3", "6.2", "7.2", "8.7", "8.8", "10.1", "11.0")
"""Systems on a chip: what was compiled for another GPU of their generation does not run on them, or was not seen to."""


class Share(NamedTuple):
    """``having`` of ``total`` containers."""

    having: int
    total: int

    @property
    def ratio(self) -> float:
        """0.0 to 1.0; 0.0 of nothing."""
        return self.having / self.total if self.total else 0.0

    @property
    def grade(self) -> str:
        """``full`` (supported), ``partial`` (cannot be told from this), ``few`` (special kernels only) or ``none``."""
        if self.having == 0:
            return "none"
        return "full" if self.ratio >= NEARLY_ALL else "partial" if self.ratio >= MOST else "few"


def loaded_section(summary: FatbinSummary) -> "SectionSummary | None":
    """The section that decides: ``.nv_fatbin`` where it holds kernels, else the inputs of the device linker.

    None where the library holds no kernels at all.
    """
    holding = [section for section in summary.sections if section.kernel_containers]
    return next((s for s in holding if s.name == ".nv_fatbin"), holding[0] if holding else None)


def base_patterns(section: SectionSummary) -> Tuple[Pattern, ...]:
    """The patterns of the general code (see the module), or of all of it where nothing is general."""
    patterns = section.patterns
    several = tuple(p for p in patterns if len({t.arch.split(".")[0] for t in p.targets}) > 1)
    generic = tuple(p for p in several if any(not t.variant for t in p.targets))
    return generic or several or tuple(p for p in patterns if any(not t.variant for t in p.targets)) or patterns


def served(section: SectionSummary, runs: Callable[[Target], bool]) -> Share:
    """The share of base containers that hold a target for which ``runs`` says yes.

    ``runs`` is the rule of binary compatibility for one GPU; a container with 9.0a serves a 9.0 GPU as one with 9.0.
    """
    base = base_patterns(section)
    return Share(
        sum(p.containers for p in base if any(map(runs, p.targets))),
        sum(p.containers for p in base),
    )


def coverage(summary: FatbinSummary, kind: str, arch: str, variant: str = "") -> float:
    """Share (0.0 to 1.0) of the base containers of the loaded section that hold exactly this target.

    PTX of a device-linked library lies among the linker's inputs, from which the driver can still link at load; so for
    PTX the better of the sections counts.
    """
    target = Target(kind, arch, variant)
    section = loaded_section(summary)
    if section is None:
        return 0.0
    sections = [s for s in summary.sections if s.kernel_containers] if kind == PTX else [section]
    return max(served(s, target.__eq__).ratio for s in sections)


def _helped(summary: FatbinSummary, target: Target) -> bool:
    """Whether a good part of the base containers holds the target, and nearly all others what its GPU runs as well.

    That is older code of its generation (torch 1.12 links static libraries: 40 % have 3.7, nearly all others 3.5) and
    code for this GPU or its family alone (vLLM 0.33: 65 % have 12.0, 27 % 12.0f).
    """
    section = loaded_section(summary)
    if section is None or target.kind != SASS or target.variant or target.arch in _OWN_CODE_ONLY:
        return False
    major, minor = (int(part) for part in target.arch.split("."))
    run = {Target(SASS, target.arch, variant) for variant in ("", "a", "f")}
    run |= {Target(SASS, "%d.%d" % (major, older)) for older in range(minor)}
    return served(section, target.__eq__).ratio > SOME and served(section, run.__contains__).ratio >= NEARLY_ALL


def supported(summary: FatbinSummary) -> Tuple[Target, ...]:
    """The targets that nearly all base containers hold or can do without, SASS first, in order of architecture."""
    targets: List[Target] = []
    for kind in (SASS, PTX):
        seen = {c.target for s in summary.sections for c in s.targets if c.target.kind == kind}
        targets += [
            target
            for target in sorted(seen, key=lambda t: ([int(n) for n in t.arch.split(".")], t.variant))
            if coverage(summary, *target) >= NEARLY_ALL or _helped(summary, target)
        ]
    return tuple(targets)
