"""Compares an extension's libraries with a GPU, using the machine code in them."""

from __future__ import annotations

from msgspec import Struct

from compat_matrix.versions import numbers

from ..findings import Matrix
from ..snapshot import CodeLibrary, Snapshot, known
from ._linked import libraries_of

FEW = 0.2
"""Up to this share of containers, code that would run belongs to a few special kernels and is not support."""
_MAIN = {
    "flash-attn": ("flash_attn_2_cuda", "flash_attn_cuda"), "vllm": ("/vllm/_C", "/vllm/_moe_C"),
    "xformers": ("/xformers/_C",), "torchvision": ("/torchvision/_C.so",), "deepspeed": ("/deepspeed/ops/",),
}  # fmt: skip
"""For packages that also ship libraries for one generation only (FlashAttention 3 next to 2): the general ones."""


class Reach(Struct, frozen=True):
    """Whether code reaches a GPU: yes, no, or unknown if the bytes do not decide; and the code that is held."""

    verdict: str
    reason: str
    held: tuple[str, ...]


def main_libraries(s: Snapshot, package: str) -> tuple[CodeLibrary, ...]:
    """The libraries with kernels that a package needs on every GPU (all of them if none is named)."""
    found = [lib for lib in libraries_of(s, package) if any(sec.containers for sec in lib.sections)]
    if package == "bitsandbytes":
        chosen = bitsandbytes_library(s)
        return tuple(lib for lib in found if chosen and lib.path == chosen.path)
    general = [lib for lib in found if any(mark in lib.path for mark in _MAIN.get(package, ()))]
    return tuple(general or found)


def reaches(s: Snapshot, m: Matrix, libraries: tuple[CodeLibrary, ...], capability: str) -> Reach:
    """A package reaches a GPU if any of its general libraries does; it misses it if none does."""
    verdicts = [_reach(s, m, library, capability) for library in libraries]
    for wanted in ("yes", "unknown"):
        for verdict in verdicts:
            if verdict.verdict == wanted:
                return verdict
    return verdicts[0]


def _reach(s: Snapshot, m: Matrix, library: CodeLibrary, capability: str) -> Reach:
    driver = known(s.driver.cuda_version) or known(s.driver.nvml_cuda_version)
    kinds = {e.arch for sec in library.sections for e in sec.archs if e.kind == "sass"}
    held = tuple(sorted(kinds, key=lambda arch: (numbers(arch), arch)))  # 9.0 and 9.0a have the same numbers
    if library.problem:
        return Reach("unknown", library.problem, held)
    if library.sass or library.ptx:
        grade = m.code_for_gpu(capability, library.sass, library.ptx, driver, known(s.torch.cuda))
        if grade.kind in ("sass", "ptx-jit"):
            return Reach("yes", grade.reason, held)
        if grade.ptx_needs_cuda or grade.kind == "unknown":
            return Reach("unknown", grade.reason, held)
    share = share_for(m, library, capability)
    if share > FEW:
        return Reach("unknown", f"at most {share:.0%} of its kernels have code for {capability}", held)
    words = f"for {', '.join(held)}" if held else "PTX"
    few = f", except in {share:.0%} of its kernels" if share else ""
    return Reach("no", f"no code for {capability}, only {words}{few}", held)


def share_for(m: Matrix, library: CodeLibrary, capability: str) -> float:
    """The share (0.0 to 1.0) of a library's containers that have code for a GPU, at most: a container may hold several
    kinds of code that run on it."""
    share = 0.0
    for section in library.sections:
        having = [
            e.containers
            for e in section.archs
            if (
                m.code_for_gpu(capability, (e.arch,)) if e.kind == "sass" else m.code_for_gpu(capability, (), (e.arch,))
            ).kind
            in ("sass", "ptx-jit")
        ]
        share = max(share, sum(having) / section.containers if section.containers else 0.0)
    return min(share, 1.0)


def bitsandbytes_versions(s: Snapshot) -> dict[tuple[int, int], CodeLibrary]:
    """CUDA version -> library of bitsandbytes (libbitsandbytes_cuda128.so); those without cuBLASLt are left out."""
    import re

    found = {}
    for library in libraries_of(s, "bitsandbytes"):
        match = re.search(r"/libbitsandbytes_cuda(\d\d)(\d)\.so$", library.path)
        if match:
            found[int(match[1]), int(match[2])] = library
    return found


def bitsandbytes_library(s: Snapshot) -> CodeLibrary | None:
    """The library that bitsandbytes loads for torch's CUDA: the same version; from 0.50 on, else the nearest lower one,
    else the lowest higher one, of the same major. BNB_CUDA_VERSION overrides it. None if there is none."""
    have, cuda = bitsandbytes_versions(s), numbers(known(s.torch.cuda))[:2]
    override = s.host.env("BNB_CUDA_VERSION")
    if isinstance(override, str) and override.isdecimal() and len(override) == 3:
        return have.get((int(override[:2]), int(override[2])))
    if len(cuda) < 2:
        return None
    if (cuda[0], cuda[1]) in have:
        return have[cuda[0], cuda[1]]
    d = s.python.distribution("bitsandbytes")
    if numbers(getattr(d, "version", ""))[:2] < (0, 50):
        return None
    same = sorted(v for v in have if v[0] == cuda[0])
    lower = [v for v in same if v < cuda]
    return have[lower[-1]] if lower else have[same[0]] if same else None
