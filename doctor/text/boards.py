"""Which GPUs a text names, and which code and memory they have: for the conditions of messages."""

from __future__ import annotations

import re

from ..formats.lazy import lazy
from ..snapshot import Snapshot, known


def memory_held(s: Snapshot) -> bool:
    """Whether much GPU memory is in use; also True if the text does not say."""
    sizes = [
        (used, known(gpu.memory_total_mib) or 0)
        for gpu in known(s.gpus) or ()
        if (used := known(gpu.memory_used_mib)) is not None
    ]
    return not sizes or any(used > max(500, total / 5) for used, total in sizes)


def is_jetson(s: Snapshot) -> bool:
    """Whether a GPU of the text is a Jetson's, or the kernel is."""
    if "-tegra" in (known(s.host.kernel) or ""):
        return True
    names = " ".join(known(g.name) or "" for g in known(s.gpus) or ()).lower()
    return any(word in names for word in ("jetson", "orin", "xavier", "tegra"))


def list_against_gpus(s: Snapshot) -> str:
    """Whether torch's list of architectures ends below every GPU ('older') or begins above every GPU ('newer')."""
    names = [name.partition("_")[2].rstrip("af") for name in known(s.torch_run.arch_list) or ()]
    held = [(int(name[:-1]), int(name[-1])) for name in names if name.isdecimal() and len(name) > 1]
    caps = capabilities(s)
    if not held or not caps:
        return ""
    return "older" if max(held) < min(caps) else "newer" if min(held) > max(caps) else ""


_ARCH = lazy(r"(sm_?|compute_)?(\d{1,2})\.?(\d)[af]?(\+PTX)?", re.I)


def lacks(listed: str, caps: list[tuple[int, ...]]) -> bool:
    """Whether these architectures (`sm_70, sm_80`, `7.0;8.0+PTX`) leave one of the GPUs out."""
    codes = [(int(a[2]), int(a[3]), bool(a[4]) or a[1] == "compute_") for a in _ARCH.finditer(listed)]
    return bool(codes) and any(
        not any((major == cap[0] and minor <= cap[1]) or (ptx and (major, minor) <= cap) for major, minor, ptx in codes)
        for cap in caps
    )


_BY_CONDA = (
    ("libcublas", "nvidia-cublas"), ("libcusolver", "nvidia-cusolver"), ("libcusparse", "nvidia-cusparse"),
    ("libcufft", "nvidia-cufft"), ("libcurand", "nvidia-curand"), ("libnvjitlink", "nvidia-nvjitlink"),
    ("cuda-cudart", "nvidia-cuda-runtime"), ("cuda-nvrtc", "nvidia-cuda-nvrtc"), ("nccl", "nvidia-nccl"),
    ("cuda-cupti", "nvidia-cuda-cupti"), ("cudnn", "nvidia-cudnn"), ("cusparselt", "nvidia-cusparselt"),
)  # fmt: skip
"""A CUDA library as conda and as pip name it."""


def two_sources(s: Snapshot, family: str) -> bool:
    """Whether conda and pip both brought a library whose name holds `family`, in versions that differ."""
    found = {d.name: numbers(d.version)[:2] for d in known(s.python.distributions) or ()}
    for conda, pip in _BY_CONDA:
        if family in conda:
            first = [version for name, version in found.items() if name in (conda, f"{conda}-dev")]
            second = [version for name, version in found.items() if name.startswith(f"{pip}-cu")]
            if any(a and b and a != b for a in first for b in second):
                return True
    return False


_FAMILIES = (
    (r"(?:rtx|pro) ?50\d\d|rtx pro \d{4} blackwell", (12, 0)), (r"\b(?:b200|gb200)\b", (10, 0)),
    (r"\b(?:b300|gb300)\b", (10, 3)), (r"\bgb10\b", (12, 1)), (r"\b(?:h100|h200|gh200|h800|h20)\b", (9, 0)),
    (r"rtx ?40\d\d|\b(?:l4|l40s?|l20)\b|ada generation", (8, 9)),
    (r"rtx ?30\d\d|\ba(?:10g?|40|16|2|4000|5000|6000)\b", (8, 6)),
    (r"\ba(?:100|30|800)\b", (8, 0)), (r"rtx ?20\d\d|gtx ?16\d\d|\bt4\b|quadro rtx|titan rtx", (7, 5)),
    (r"\bv100s?\b|titan v\b", (7, 0)), (r"\bp100\b", (6, 0)),
    (r"gtx ?10\d\d|\bp(?:4|40)\b|titan xp?\b|gt ?1030|quadro p\d{3,4}\b|\bmx ?(?:1[135]|2[35]|3[1357])0\b", (6, 1)),
    (r"gtx ?9\d\d|\bm(?:40|60)\b|quadro m\d{3,4}m?\b|\b(?:gt ?|geforce )?9[1-4]0mx?\b", (5, 2)),
    (r"quadro k\d{3,4}m?\b", (5, 0)), (r"\bk(?:80|40|20|10)[cmstx]{0,2}\b|\bgrid k\d{3}\b|gt ?7\d\d", (3, 7)),
    (r"gtx? ?6[1-9]\d\b|gtx ?7[678]\d", (3, 0)),
    (r"\bgt[xs] ?[45][1-9]\d\b|\btesla m20[579][05]\b|\bnvs 3\d\d\b", (2, 0)),
)  # fmt: skip
"""Families of names, by what every board of the family can do: enough for 'older than' and 'newer than'."""


def capabilities(s: Snapshot) -> list[tuple[int, ...]]:
    """The compute capability of each GPU, told or by its family's name; empty where one of them is not known."""
    found: list[tuple[int, ...]] = []
    for gpu in known(s.gpus) or ():
        capability, name = known(gpu.compute_capability), (known(gpu.name) or "").lower()
        family = next((cap for pattern, cap in _FAMILIES if re.search(pattern, name)), None)
        if capability is None and family is None:
            return []
        found.append(numbers(capability) if capability else family or ())
    return found


def numbers(text: str) -> tuple[int, ...]:
    """The parts of a version."""
    return tuple(int(part) for part in text.split(".") if part.isdecimal())
