"""GPUs in a text: numbered lists, tables and sentences about the same boards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..snapshot import Cap, Gpu, Missing, PciDevice, Snapshot, known
from .agree import agree
from .excerpt import Excerpt
from .gpus import MOST_GPUS
from .statement import Statement

Found = tuple[tuple[Gpu, ...] | Missing | None, tuple[PciDevice, ...] | None]


def merge_gpus(groups: dict[str, list[Statement]]) -> Found:
    """The GPUs that the text lists; where it lists only other makers' boards, those as PCI devices."""
    rows = groups.get("gpu", [])
    by_capability = "gpu.highest_capability" in groups or (
        "gpu.compute_capability" in groups and "torch.hip" not in groups
    )
    if not rows and not groups.get("gpu.prose") and not by_capability:
        return None, None
    slots: dict[int, dict[str, Any]] = {}
    conflict: Missing | None = None
    loose: list[dict[str, Any]] = []
    others = 0
    named: set[tuple[int, Any]] = set()
    for row in rows:
        fields = row.value
        if fields.get("vendor") == "other":
            others += 1
            continue
        if fields["index"] is None:
            if (row.line, fields["name"]) in named:
                continue  # one line in two layouts
            named.add((row.line, fields["name"]))
            loose += [fields] * min(fields["count"], MOST_GPUS + 1 - len(loose))
            continue
        slot = slots.setdefault(fields["index"], {})
        for key, value in fields.items():
            if key in ("index", "count", "vendor") or value is None:
                continue
            if key == "name" and "name" in slot:
                better = _same_gpu(slot["name"], value)
                if better is None:
                    conflict = Missing(
                        "conflict", f"GPU {fields['index']}: {slot['name']!r} and {value!r} (line {row.line})"
                    )
                    continue
                value = better
            slot[key] = value
    if not slots and not loose:
        names = _boards(groups.get("gpu.prose", []))
        if not rows and len(names) == 1:
            name, count = next(iter(names.items()))
            loose = [{**groups["gpu.prose"][0].value, "name": name}] * count
    found = [slots[i] for i in sorted(slots)] or [dict(f) for f in loose]
    _name_all(found, loose or [row.value for row in groups.get("gpu.prose", [])])
    if not found and by_capability and not others:
        found = [{}]  # its name is not told, but one is there
    if not found:
        if others and not groups.get("gpu.prose"):
            words = " ".join(row.text for row in rows[:64]).lower()
            vendor = "1002" if "amd" in words or "radeon" in words else "8086" if "intel" in words else "0000"
            return None, (PciDevice(address="", vendor=vendor, device=""),)
        return None, None
    if conflict:
        return conflict, None
    shared = _shared(groups, len({fields.get("name") for fields in found}) == 1)
    gpus = []
    numbers = sorted(slots) if slots else range(len(found))
    for number, fields in zip(numbers, found, strict=True):
        facts = {k: v for k, v in fields.items() if k not in ("index", "count", "vendor") and v is not None}
        if str(facts.get("name", "")).lower() == "unknown":
            facts.pop("name")
        gpus.append(Gpu(key=facts.get("uuid") or f"gpu-{number}", index=number, **{**shared, **facts}))
    return tuple(gpus), None


def counted(s: Snapshot, statements: Iterable[Statement], part: Excerpt) -> Snapshot:
    """With a cap where lines that were not read may name more GPUs, or where the text names more than are kept."""
    gpus = known(s.gpus) or ()
    named = {statement.line for statement in statements if statement.path in ("gpu", "gpu.prose")}
    unread = (part.unread is not None and part.unread.left > 0) or not named.isdisjoint(part.repeated)
    if not gpus or (len(gpus) <= MOST_GPUS and not unread):
        return s
    kept = gpus[:MOST_GPUS]
    return s.replace({"gpus": kept, "caps": (Cap(what="text-gpus", looked=len(kept)),)})


def _boards(rows: list[Statement]) -> dict[str, int]:
    """Boards that sentences speak of, each by its fullest name, and the highest number that is told of it."""
    found: dict[str, int] = {}
    for row in rows:
        name, count = row.value["name"], row.value["count"]
        known = next((other for other in found if _same_gpu(other, name)), None)
        if known is not None:
            count = max(count, found[known])
            name = _same_gpu(known, name) or name
            found = {name if other == known else other: number for other, number in found.items()}
        found[name] = count
    return found


def _name_all(found: list[dict[str, Any]], named: list[dict[str, Any]]) -> None:
    """A numbered list without names (topo -m, a table that cuts them) beside one name for all: they are those."""
    names = dict.fromkeys(fields["name"] for fields in named)
    if len(names) == 1 and not any(fields.get("name") for fields in found):
        for fields in found:
            fields["name"] = next(iter(names))


def _shared(groups: dict[str, list[Statement]], alike: bool) -> dict[str, Any]:
    """What is said of 'the GPU': it holds for all of them, a compute capability only where they are `alike`."""
    shared = {path[4:]: agree(path, rows) for path, rows in groups.items() if path.startswith("gpu.")}
    shared.pop("prose", None)
    highest = shared.pop("highest_capability", None)
    if isinstance(highest, str):
        shared.setdefault("compute_capability", highest)
    return {
        key: value
        for key, value in shared.items()
        if not isinstance(value, Missing) and (alike or key != "compute_capability")
    }


def _same_gpu(a: str, b: str) -> str | None:
    """The fuller of two names of one board; None where they name two boards."""
    words_a, words_b = (set(name.lower().replace("-", " ").split()) - {"nvidia", "geforce"} for name in (a, b))
    if words_a <= words_b:
        return b if len(b) > len(a) else a
    return a if words_b <= words_a else None
