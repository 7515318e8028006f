"""GPUs of a text: numbered lists, tables and sentences that speak of the same boards."""

from __future__ import annotations

from typing import Any

from ..snapshot import Gpu, Missing, PciDevice
from .agree import agree
from .gpus import MOST_GPUS
from .statement import Statement

Found = tuple[tuple[Gpu, ...] | Missing | None, tuple[PciDevice, ...] | None]


def merge_gpus(groups: dict[str, list[Statement]]) -> Found:
    """The GPUs that the text lists; where it lists only other makers' boards, those as PCI devices."""
    rows = groups.get("gpu", [])
    if not rows and not groups.get("gpu.prose"):
        return None, None
    slots: dict[int, dict[str, Any]] = {}
    conflict: Missing | None = None
    loose: list[dict[str, Any]] = []
    others = 0
    for row in rows:
        fields = row.value
        if fields.get("vendor") == "other":
            others += 1
            continue
        if fields["index"] is None:
            loose += [fields] * min(fields["count"], MOST_GPUS - len(loose))
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
        names = dict.fromkeys(row.value["name"] for row in groups.get("gpu.prose", []))
        if not rows and len(names) == 1:
            first = groups["gpu.prose"][0].value
            loose = [first] * first["count"]
    found = [slots[i] for i in sorted(slots)] or [dict(f) for f in loose]
    if not found:
        if others and not groups.get("gpu.prose"):
            words = " ".join(row.text for row in rows[:64]).lower()
            vendor = "1002" if "amd" in words or "radeon" in words else "8086" if "intel" in words else "0000"
            return None, (PciDevice(address="", vendor=vendor, device=""),)
        return None, None
    if conflict:
        return conflict, None
    shared = {
        path[4:]: agree(path, said) for path, said in groups.items() if path.startswith("gpu.") and path != "gpu.prose"
    }
    shared = {key: value for key, value in shared.items() if not isinstance(value, Missing)}
    gpus = []
    for position, fields in enumerate(found):
        facts = {k: v for k, v in fields.items() if k not in ("index", "count", "vendor") and v is not None}
        if str(facts.get("name", "")).lower() == "unknown":
            facts.pop("name")
        gpus.append(Gpu(key=facts.get("uuid") or f"gpu-{position}", index=position, **{**shared, **facts}))
    return tuple(gpus), None


def _same_gpu(a: str, b: str) -> str | None:
    """The fuller of two names of one board; None where they name two boards."""
    words_a, words_b = (set(name.lower().replace("-", " ").split()) - {"nvidia", "geforce"} for name in (a, b))
    if words_a <= words_b:
        return b if len(b) > len(a) else a
    return a if words_b <= words_a else None
