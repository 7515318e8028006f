"""Numbers in a text that contradict each other: requested and received, before and after a copy, mistyped paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from ..snapshot import Snapshot, Symptom, known
from .statement import Line

_MOST_LINES = 4000
_ORDERED = lazy(r"(?:--gres[= ]gpu:|--gpus(?:-per-node)?[= ])(?:[a-z]\w{0,30}:)?(\d{1,2})\b")
"""A job's request to Slurm: `--gres=gpu:a100:4`, `--gpus-per-node=4`."""
_COUNTED = lazy(
    r"device_count\(\)[)\s]{0,3}(?:(?:is|returns|gives|==?|->|:)\s{0,3})?(\d{1,2})\b|\bdevice_count\s{0,3}[=:]\s{0,3}(\d{1,2})\b"
)
_ASKS_COUNT = lazy(r"torch\.cuda\.device_count\(\)\)?\s{0,4}$")
_NUMBER = lazy(r"\s{0,4}(\d{1,2})\s{0,4}$")
_P2P = lazy(r"P2P=(Enabled|Disabled)\b.{0,20}Bandwidth\b.{0,40}Matrix \(GB/s\)")
_ROW = lazy(r"\s{1,8}(\d{1,3})((?:\s{1,12}\d{1,5}\.\d{1,3}){2,16})\s{0,4}$")
_SLOWER = 2.0
"""Direct copies at less than half of what the way through the host's memory gives."""
_TENSOR = lazy(r"tensor\((\[[\d\s.,e+-]{1,400}\]), device='cuda:(\d{1,2})'\)")
_MOVED = lazy(r"\.(?:to|cuda)\(\s{0,2}(?:(?:torch\.)?device\()?['\"]?(?:cuda:)?(\d{1,2})")
_INDICES = lazy(r"\d{1,3}(?:[,-]\d{1,3}){0,63}$")
_PATHS = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
_ROOT = ("usr", "local")
_NO_TYPO = frozenset(("user", "share", "src", "lib", "bin", "sbin", "include", "libexec", "games", "lib32", "lib64"))
_ABSENT = frozenset(("bundled-cuda-libs-missing", "framework-cuda-libs-not-found", "cuda-toolkit-missing",
                     "driver-libs-not-on-loader-path", "onnxruntime-cpu-fallback", "jax-cpu-fallback"))  # fmt: skip
"""Causes of a library or program that is not found."""


def quantity_symptoms(lines: list[Line], s: Snapshot, found: tuple[Symptom, ...]) -> Iterator[Symptom]:
    """What such numbers prove; `found`: the messages of the text, one of which a mistyped path explains."""
    if len(lines) <= _MOST_LINES:
        yield from _fewer_gpus(lines, s)
        yield from _more_than_given(s)
        yield from _direct_copies(lines)
        yield from _other_values(lines)
        yield from _mistyped(s, found)


def _fewer_gpus(lines: list[Line], s: Snapshot) -> Iterator[Symptom]:
    """A job that requested more GPUs than its program sees."""
    ordered = next(((int(m[1]), line) for line in lines if (m := _ORDERED.search(line.text))), None)
    if ordered is None:
        return
    seen: tuple[int, Line] | None = None
    for before, line in zip([None, *lines], lines, strict=False):
        if counted := _COUNTED.search(line.text):
            seen = (int(counted[1] or counted[2]), line)
        elif before and _ASKS_COUNT.search(before.text) and (number := _NUMBER.match(line.text)):
            seen = (int(number[1]), line)
    if seen and seen[0] < ordered[0]:
        own = s.host.env("CUDA_VISIBLE_DEVICES")
        narrowed = isinstance(own, str) and len([x for x in own.split(",") if x.strip()]) <= seen[0]
        yield Symptom(
            id="fewer-gpus-than-ordered",
            line=seen[1].number,
            text=seen[1].text.strip()[:300],
            means=f"the job requested {ordered[0]} GPUs, but its program sees {seen[0]}",
            decides="" if narrowed else "scheduler-gpu-allocation",
            suggests=("scheduler-gpu-allocation", "cuda-visible-devices-wrong"),
            fix="Also request the GPUs in the step that starts the program; scontrol shows what the job was given.",
            command=f"scontrol show job $SLURM_JOB_ID | grep -i tres; srun --gres=gpu:{ordered[0]} nvidia-smi -L",
            where="shell",
            exact=True,
        )


def _more_than_given(s: Snapshot) -> Iterator[Symptom]:
    """CUDA_VISIBLE_DEVICES with more GPUs than Slurm gave to the job."""
    given, own = s.host.env("SLURM_JOB_GPUS"), s.host.env("CUDA_VISIBLE_DEVICES")
    if not (isinstance(given, str) and isinstance(own, str) and _INDICES.match(given) and _INDICES.match(own)):
        return
    have, named = given.split(","), own.split(",")
    if "-" not in given and len(named) > len(have):
        yield Symptom(
            id="more-gpus-than-given",
            text=f"SLURM_JOB_GPUS={given}, CUDA_VISIBLE_DEVICES={own}",
            means=f"CUDA_VISIBLE_DEVICES names {len(named)} GPUs, but Slurm gave the job {len(have)}",
            decides="cuda-visible-devices-wrong",
            fix="Leave CUDA_VISIBLE_DEVICES as Slurm sets it.",
            command="unset CUDA_VISIBLE_DEVICES",
            where="shell",
        )


def _direct_copies(lines: list[Line]) -> Iterator[Symptom]:
    """p2pBandwidthLatencyTest: copies between two GPUs with and without peer access."""
    best: dict[str, dict[tuple[int, int], float]] = {}
    first: dict[str, Line] = {}
    kind = ""
    for line in lines:
        if title := _P2P.search(line.text):
            kind = "" if title[1] in best else title[1]  # the first matrix of a kind is the one-way one
            if kind:
                best[kind], first[kind] = {}, line
        elif kind and (row := _ROW.match(line.text)):
            for column, value in enumerate(row[2].split()):
                if column != int(row[1]):
                    best[kind][int(row[1]), column] = float(value)
    slow = [
        (pair, rate, best["Disabled"][pair])
        for pair, rate in best.get("Enabled", {}).items()
        if pair in best.get("Disabled", {}) and rate * _SLOWER < best["Disabled"][pair]
    ]
    if slow:
        (a, b), rate, other = min(slow, key=lambda row: row[1])
        yield Symptom(
            id="direct-copies-slower",
            line=first["Enabled"].number,
            text=first["Enabled"].text.strip()[:300],
            means=f"direct copies from GPU {a} to GPU {b} run at {rate:g} GB/s, but through the host at {other:g} GB/s",
            decides="acs-redirects-peer-traffic",
            happened=True,
            fix="Turn off the IOMMU or the switches' ACS for these GPUs; until then, make NCCL copy through the host.",
            command="export NCCL_P2P_DISABLE=1",
            where="shell",
        )


def _other_values(lines: list[Line]) -> Iterator[Symptom]:
    """A tensor that a copy to another GPU changes."""
    held: dict[str, str] = {}
    for before, line in zip([None, *lines], lines, strict=False):
        if not (shown := _TENSOR.search(line.text)):
            continue
        values, gpu = re.sub(r"\s", "", shown[1]), shown[2]
        moved = _MOVED.search(before.text) if before else None
        source = next((other for other in held if other != gpu), "")
        if moved and moved[1] == gpu and source and held[source] != values:
            yield Symptom(
                id="copy-changes-values",
                line=line.number,
                text=line.text.strip()[:300],
                means=f"a copy from GPU {source} to GPU {gpu} changes the values",
                decides="acs-redirects-peer-traffic",
                happened=True,
                fix="Turn off the IOMMU or the switches' ACS for these GPUs; until then, avoid direct copies.",
                command="export NCCL_P2P_DISABLE=1",
                where="shell",
            )
            return
        held[gpu] = values


def _mistyped(s: Snapshot, found: tuple[Symptom, ...]) -> Iterator[Symptom]:
    """A path that is /usr/local except for a typo: with the right path, the missing library would be found."""
    lost = next((x for x in found if x.decides in _ABSENT), None)
    variables = known(s.host.environment) or ()
    for item in variables:
        value = item.value if item.name in _PATHS and isinstance(item.value, str) else ""
        for path in value.split(":"):
            right = spelt(path)
            if right:
                yield Symptom(
                    id="path-mistyped",
                    line=lost.line if lost else 0,
                    text=lost.text if lost else f"{item.name}={value}"[:300],
                    means=f"{item.name} contains {path}, a typo for {right}",
                    decides=lost.decides if lost else "",
                    fix=f"Write {right} in {item.name}.",
                    command=f"export {item.name}={value.replace(path, right)}",
                    where="shell",
                    exact=True,
                    of_program=not lost,
                )
                return


def spelt(path: str) -> str:
    """/usr/local/... for /usr/lcoal/...; '' if the path is not a typo of it."""
    parts = path.split("/")
    if len(parts) < 4 or parts[0] or tuple(parts[1:3]) == _ROOT or "cuda" not in path.lower():
        return ""
    for here, wanted in zip(parts[1:3], _ROOT, strict=True):
        if here != wanted and not _slip(here, wanted):
            return ""
    return "/".join(("", *_ROOT, *parts[3:]))


def _slip(word: str, wanted: str) -> bool:
    """Two letters swapped, one left out, or one too many."""
    if word in _NO_TYPO - {"user"}:
        return False
    if sorted(word) == sorted(wanted):
        return True
    longer, shorter = (word, wanted) if len(word) > len(wanted) else (wanted, word)
    one_more = (longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))
    return len(longer) - len(shorter) == 1 and any(one_more)
