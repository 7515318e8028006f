"""From statements to a Snapshot: agreement is a fact, contradiction is a conflict, silence is Missing('not-asked')."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..snapshot import ABSENT, Distribution, EnvVar, Gpu, Missing, PciDevice, Snapshot, Target
from .statement import Statement

_MIXED = (
    "gpu",
    "gpu.prose",
    "package",
    "variable",
    "variable.unset",
    "jetson",
    "torch.cuda.none",
    "host.system.windows",
)
_VERSIONS = ("torch.version", "torch.cuda", "python.patient.version", "driver.nvml_driver_version", "host.os_name",
             "host.kernel", "cuda.nvcc_version", "cuda.gcc_version", "driver.kernel_version", "host.libc")  # fmt: skip


def merge(statements: Iterable[Statement], name: str) -> Snapshot:
    """One Snapshot of all statements of a text."""
    groups: dict[str, list[Statement]] = {}
    for said in statements:
        rows = groups.setdefault(said.path, [])
        if len(rows) < 50_000:
            rows.append(said)
    s = Snapshot(target=Target(kind="text", name=name))
    changes: dict[str, Any] = {}
    witnesses: dict[str, tuple[str, ...]] = {}
    for path, rows in groups.items():
        if path in _MIXED or path.startswith("gpu."):
            continue
        changes[path] = _agree(path, rows)
        witnesses[path] = _lines(rows)
    if rows := groups.get("host.system.windows", []):
        # a WSL ticket names both systems: the program runs in the Linux one
        inside = any(path in groups for path in ("host.wsl",)) or "linux" in str(changes.get("host.kernel", ""))
        changes["host.system"] = "linux" if inside else "windows"
        witnesses["host.system"] = _lines(rows)
        if inside and "Windows" in str(changes.get("host.os_name", "")):
            changes.pop("host.os_name")
    gpus, cards = _gpus(groups)
    if gpus is not None:
        changes["gpus"] = gpus
        witnesses["gpus"] = _lines(groups.get("gpu", []) or groups.get("gpu.prose", []))
    if cards is not None:
        changes["driver.pci_devices"] = cards
        witnesses["driver.pci_devices"] = _lines(groups["gpu"])
    if changes.get("host.system") == "darwin" and gpus is None:  # Apple's machines have no NVIDIA GPU
        changes["driver.pci_devices"] = (PciDevice(address="", vendor="106b", device=""),)
    _environment(groups, changes, witnesses)
    _packages(groups, changes, witnesses)
    if "torch.cuda.none" in groups and isinstance(changes.get("torch.version"), str) and "torch.cuda" not in changes:
        hip = changes.get("torch.hip")
        if hip is None and changes.get("torch.build") in (None, "cpu"):
            changes["torch.cuda"] = ABSENT  # collect_env prints this for a build without CUDA
    if changes.get("torch.cuda") == ABSENT or (
        isinstance(changes.get("torch.cuda"), Missing) and changes["torch.cuda"].reason == "absent"
    ):
        if "torch.hip" not in changes and isinstance(changes.get("torch.build", ABSENT), Missing):
            changes["torch.build"] = "cpu"
    if isinstance(changes.get("torch.version"), str):
        changes.setdefault("python.patient.torch_version", changes["torch.version"])
    return s.replace({**changes, "witnesses": {path: lines for path, lines in witnesses.items() if lines}})


def _lines(rows: list[Statement]) -> tuple[str, ...]:
    found = dict.fromkeys(f"line {row.line}: {row.text[:160]}" for row in rows[:64])
    return tuple(list(found)[:8])


def _agree(path: str, rows: list[Statement]) -> Any:
    """The value that all strong statements (else all weak ones) agree on; the more exact of two that agree."""
    strong = [row for row in rows if not row.weak] or rows
    best = strong[0]
    for row in strong[1:]:
        if row.value == best.value:
            continue
        if isinstance(row.value, Missing) or isinstance(best.value, Missing):
            return _conflict(best, row)
        if path in _VERSIONS or isinstance(row.value, str):
            same = _finer(str(best.value), str(row.value))
            if same is None:
                return _conflict(best, row)
            best = row if same == row.value else best
        elif path == "torch_run.first_call_code":
            continue
        else:
            return _conflict(best, row)
    if best.weak is False:
        for row in rows:
            if row.weak and isinstance(best.value, str) and isinstance(row.value, str):
                finer = _finer(best.value, row.value)
                best = row if finer == row.value else best
    return best.value


def _finer(a: str, b: str) -> str | None:
    """Of two spellings of one thing the longer; None where they are two things."""
    left, right = a.lower().removeprefix("glibc "), b.lower().removeprefix("glibc ")
    if left == right:
        return a
    for short, long, value in ((left, right, b), (right, left, a)):
        if long.startswith(short) and not (long[len(short)].isdigit() and short[-1:].isdigit()):
            return value
    return None


def _conflict(a: Statement, b: Statement) -> Missing:
    return Missing("conflict", f"line {a.line} says {_short(a.value)}, line {b.line} says {_short(b.value)}")


def _short(value: Any) -> str:
    return "none" if isinstance(value, Missing) else str(value)[:80]


def _gpus(groups: dict[str, list[Statement]]) -> tuple[tuple[Gpu, ...] | Missing | None, tuple[PciDevice, ...] | None]:
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
            loose += [fields] * min(fields["count"], 4096 - len(loose))
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
            card = PciDevice(
                address="",
                vendor="1002"
                if "amd" in str([r.text for r in rows]).lower() or "radeon" in str([r.text for r in rows]).lower()
                else "0000",
                device="",
            )
            return None, (card,)
        return None, None
    if conflict:
        return conflict, None
    shared = {
        path[4:]: _agree(path, said) for path, said in groups.items() if path.startswith("gpu.") and path != "gpu.prose"
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


def _environment(
    groups: dict[str, list[Statement]], changes: dict[str, Any], witnesses: dict[str, tuple[str, ...]]
) -> None:
    rows, unset = groups.get("variable", []), groups.get("variable.unset", [])
    found: dict[str, str] = {}
    for row in rows:
        name, value = row.value
        found[name] = value
    if found:
        changes["host.environment"] = tuple(EnvVar(name, value) for name, value in found.items())
        witnesses["host.environment"] = _lines(rows)
    if (value := found.get("NVIDIA_DRIVER_CAPABILITIES")) is not None:
        changes["container.driver_capabilities"] = value
    if (value := found.get("NVIDIA_VISIBLE_DEVICES")) is not None:
        changes["container.visible_devices"] = value
    if (value := found.get("LD_LIBRARY_PATH")) is not None:
        changes["cuda.ld_library_path"] = tuple(part for part in value.split(":") if part.startswith("/"))
    for row in unset:
        path = {"NVIDIA_DRIVER_CAPABILITIES": "container.driver_capabilities", "NVIDIA_VISIBLE_DEVICES": "container.visible_devices",
                "CUDA_HOME": "cuda.cuda_home"}.get(row.value)  # fmt: skip
        if path:
            changes.setdefault(path, None)
        elif row.value == "LD_LIBRARY_PATH":
            changes.setdefault("cuda.ld_library_path", ())


def _packages(
    groups: dict[str, list[Statement]], changes: dict[str, Any], witnesses: dict[str, tuple[str, ...]]
) -> None:
    rows = groups.get("package", [])
    found: dict[str, str] = {}
    for row in rows:
        name, version = row.value
        if version is None:
            continue
        if name in found and _finer(found[name], version) is None:
            continue  # two lists of one text: the first is told, torch itself is judged by its own lines
        found[name] = _finer(found[name], version) or version if name in found else version
    if found:
        changes["python.distributions"] = tuple(Distribution(name=n, version=v, location="") for n, v in found.items())
        witnesses["python.distributions"] = _lines(rows)
