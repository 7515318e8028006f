"""Which message decides what: alone, or with the other facts of the same text (the conditions are data)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..snapshot import Missing, Snapshot, Symptom, known
from .messages import Hit


def symptoms(hits: list[Hit], s: Snapshot, more: Iterable[str] = ()) -> tuple[Symptom, ...]:
    """One Symptom for each entry that was hit, at its first line; deciding ones first, else in the text's order."""
    said = {hit.message.id for hit in hits} | set(more)
    found: dict[str, Symptom] = {}
    for hit in hits:
        if hit.message.id in found:
            continue
        message = hit.message
        decided = next((check for check, when in message.decides if holds(when, s, said, hit.groups)), "")
        hinted = tuple(check for check, when in message.hints if holds(when, s, said, hit.groups))
        found[message.id] = Symptom(
            id=message.id,
            line=hit.line.number,
            text=hit.line.text.strip()[:300],
            means=message.means,
            decides=decided,
            suggests=(*message.suggests, *dict.fromkeys(hinted)),
            fix=message.fix,
            command=message.command,
            where=message.where,
            mention=message.mention,
        )
    return tuple(sorted(found.values(), key=lambda symptom: not symptom.decides))


def holds(when: dict[str, Any], s: Snapshot, said: set[str], groups: tuple[str, ...] = ()) -> bool:
    """Whether every condition is true; a fact that is not known makes it false."""
    return all(_one(key, value, s, said, groups) for key, value in when.items())


def _one(key: str, value: Any, s: Snapshot, said: set[str], groups: tuple[str, ...]) -> bool:
    if key == "said":
        return all(name in said for name in value)
    if key == "any":
        return any(name in said for name in value)
    if key == "unsaid":
        return not any(name in said for name in value)
    if key == "container":
        inside = known(s.container.kind) not in (None, "none") or known(s.host.scheduler) == "kubernetes"
        return inside is value
    if key == "jetson":
        return (jetson(s) or "jetson" in said) is value
    if key == "memory-held":
        return _memory_held(s) is value
    if key == "gpu-below":
        return bool(caps := _capabilities(s)) and all(cap < _numbers(value) for cap in caps)
    if key == "gpu-above":
        return bool(caps := _capabilities(s)) and all(cap > _numbers(value) for cap in caps)
    if key == "versions-differ":
        first, second = (s.fact(path) for path in value)
        return isinstance(first, str) and isinstance(second, str) and _numbers(first)[:2] != _numbers(second)[:2]
    if key == "packages":
        return set(value) <= {d.name for d in known(s.python.distributions) or ()}
    if key in ("any-package", "packages-not"):
        return bool(set(value) & {d.name for d in known(s.python.distributions) or ()}) is (key == "any-package")
    if key == "source-build":
        return bool(re.search(r"\+git|\da0", known(s.torch.version) or "")) is value
    if key == "set":
        return bool(s.host.env(value)) and not isinstance(s.host.env(value), Missing)
    if key == "nvjitlink-wheel":  # against the version in the symbol's name: __nvJitLinkCreate_12_5
        links = (d for d in known(s.python.distributions) or () if d.name.startswith("nvidia-nvjitlink"))
        have = next((d.version for d in links), "")
        asked = tuple(int(group) for group in groups if group.isdecimal())
        return bool(have and len(asked) == 2) and ((_numbers(have)[:2] < asked) is (value == "older"))
    if key == "two-kinds":  # wheels that write the same files: of one library and major, for two CUDAs
        wheels = [d for d in known(s.python.distributions) or () if d.name.startswith(value)]
        return len({d.name for d in wheels}) > 1 and len({d.version.partition(".")[0] for d in wheels}) == 1
    if key == "names-none":
        named = " ".join(known(g.name) or "" for g in known(s.gpus) or ())
        return not any(re.search(rf"\b{word}", named, re.I) for word in value)
    if key == "names":
        names = " ".join(known(g.name) or "" for g in known(s.gpus) or ()).lower()
        return any(str(word) in names for word in value)
    if key == "nvswitch":
        boards = [known(g.name) or "" for g in known(s.gpus) or ()]
        return (not boards or any(_NVSWITCH.search(name) for name in boards)) is value
    if key == "code":
        return _code(s) == str(value)
    if key == "list-lacks-gpu":  # torch.cuda.get_arch_list() against every GPU
        return _lacks(" ".join(known(s.torch_run.arch_list) or ()), _capabilities(s)) is value
    if key == "group-lacks-gpu":
        return _lacks(" ".join(groups), _capabilities(s)) is value
    if key == "gpus-at-least":
        return len(known(s.gpus) or ()) >= int(value)
    if key == "two-sources":
        return _two_sources(s, str(value))
    if key == "group-above":
        fact = s.fact(value)
        return bool(groups and groups[0].isdecimal() and isinstance(fact, int) and int(groups[0]) > fact)
    if key == "group-at-most":
        return bool(groups) and _numbers(groups[0]) <= _numbers(value)
    if key == "libc-below-group":
        libc, wanted = _numbers((known(s.host.libc) or "").removeprefix("glibc ")), _numbers("".join(groups))
        return (bool(libc and wanted) and libc < wanted) is value
    if key.startswith("library-of-torch"):  # the library's number is the major of its CUDA
        cuda = known(s.torch.cuda)
        fits = cuda.partition(".")[0] == groups[0] if cuda and groups and groups[0] else None
        return fits is value or (fits is None and key.endswith("unknown"))
    if key == "group-not-start-of":
        fact = s.fact(value)
        return bool(groups) and isinstance(fact, str) and not f"{fact}.".startswith(f"{groups[0]}.")
    path, _, how = key.partition(" ")
    fact = s.fact(path)
    if how == "not-now":
        return bool(fact not in value)
    if how == "lacks":  # a list that holds what is beneath it, and not this
        return isinstance(fact, tuple) and "nvidia" in fact and value not in fact
    if how == "conflict":
        return (isinstance(fact, Missing) and fact.reason == "conflict") is value
    if how == "known":
        return (not isinstance(fact, Missing)) is value
    if isinstance(fact, Missing):
        return False
    if how == ">=":
        return _numbers(str(fact)) >= _numbers(value)
    if how == "<":
        return _numbers(str(fact)) < _numbers(value)
    if how == "not":
        return fact not in (value if isinstance(value, list) else [value])
    return bool(fact in value if isinstance(value, list) else fact == value)


_NVSWITCH = re.compile(r"\b(?:V100|[AH][128]00|H20|B[123]00|GB[23]00|HGX|DGX)\b(?!.{0,20}(?:PCIe|NVL\b))", re.I)
"""Boards that NVSwitches may connect; PCIe cards and pairs with a bridge have none."""


def _memory_held(s: Snapshot) -> bool:
    """Whether much memory of a GPU is in use; also where the text does not tell."""
    told = [
        (used, known(gpu.memory_total_mib) or 0)
        for gpu in known(s.gpus) or ()
        if (used := known(gpu.memory_used_mib)) is not None
    ]
    return not told or any(used > max(500, total / 5) for used, total in told)


def jetson(s: Snapshot) -> bool:
    """Whether a GPU of the text is a Jetson's, or the kernel is."""
    if "-tegra" in (known(s.host.kernel) or ""):
        return True
    names = " ".join(known(g.name) or "" for g in known(s.gpus) or ()).lower()
    return any(word in names for word in ("jetson", "orin", "xavier", "tegra"))


def _code(s: Snapshot) -> str:
    """Whether torch's list of architectures ends below every GPU ('older') or begins above every GPU ('newer')."""
    names = [name.partition("_")[2].rstrip("af") for name in known(s.torch_run.arch_list) or ()]
    held = [(int(name[:-1]), int(name[-1])) for name in names if name.isdecimal() and len(name) > 1]
    caps = _capabilities(s)
    if not held or not caps:
        return ""
    return "older" if max(held) < min(caps) else "newer" if min(held) > max(caps) else ""


_ARCH = re.compile(r"(sm_?|compute_)?(\d{1,2})\.?(\d)[af]?(\+PTX)?", re.I)


def _lacks(listed: str, caps: list[tuple[int, ...]]) -> bool:
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


def _two_sources(s: Snapshot, family: str) -> bool:
    """Whether conda and pip both brought a library whose name holds `family`, in versions that differ."""
    found = {d.name: _numbers(d.version)[:2] for d in known(s.python.distributions) or ()}
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


def _capabilities(s: Snapshot) -> list[tuple[int, ...]]:
    """The compute capability of each GPU, told or by its family's name; empty where one of them is not known."""
    found: list[tuple[int, ...]] = []
    for gpu in known(s.gpus) or ():
        told, name = known(gpu.compute_capability), (known(gpu.name) or "").lower()
        family = next((cap for pattern, cap in _FAMILIES if re.search(pattern, name)), None)
        if told is None and family is None:
            return []
        found.append(_numbers(told) if told else family or ())
    return found


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())
