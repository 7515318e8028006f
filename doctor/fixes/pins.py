"""torch's own exact pins (`nvidia-cudnn-cu12==9.10.2.21`), and what is installed in their place."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from compat_matrix.versions import is_same, numbers

from ..findings.patterns import lazy
from ..snapshot import Missing, Snapshot, known

_EXACT = lazy(r"([A-Za-z0-9][\w.-]{0,80}) ?(?:\[([^\]]{0,400})\])? ?\(? ?== ?([^\s;,()*]{1,60}?)(\.\*)? ?\)? ?(;.*)?")
_CUDA_WHEEL = lazy(r"(nvidia-|cuda-(toolkit|bindings|python|pathfinder))")


class Pin(Struct, frozen=True):
    """A distribution and the only version of it that torch was made for. `marker`: its condition, or ''."""

    name: str
    version: str
    marker: str
    extras: tuple[str, ...] = ()
    prefix: bool = False
    """`==13.1.0.3.*`: any version that begins so."""

    @property
    def requirement(self) -> str:
        """As pip writes it."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.name}{extras}=={self.version}{'.*' if self.prefix else ''}"

    def accepts(self, version: str) -> bool:
        """Whether an installed version is the pinned one."""
        return is_same(version, self.version) or (self.prefix and version.startswith(f"{self.version}."))


def requires(s: Snapshot) -> tuple[str, ...] | Missing:
    """torch's Requires-Dist lines, from its own section or from the list of distributions."""
    if not isinstance(s.torch.requires, Missing):
        return s.torch.requires
    found = s.python.distribution("torch")
    if found is None or isinstance(found, Missing) or isinstance(found.requires, Missing):
        return s.torch.requires
    return found.requires


def pin_of(line: str) -> Pin | None:
    """The exact pin in one Requires-Dist line, None where it is no exact pin."""
    found = _EXACT.fullmatch(" ".join(line.split()))  # one blank at most: nothing to try twice
    if not found:
        return None
    name = re.sub(r"[-_.]+", "-", found[1]).lower()
    extras = tuple(word.strip() for word in (found[2] or "").split(",") if word.strip())
    return Pin(name, found[3], (found[5] or "").lstrip("; ").strip(), extras, bool(found[4]))


def cuda_pins(s: Snapshot) -> tuple[Pin, ...]:
    """torch's exact pins of CUDA wheels; markers are not evaluated (see `applies`).

    Since CUDA 13 torch pins `cuda-toolkit[cublas,cudart,...]`, which pins the wheels of these extras.
    """
    found = (pin_of(line) for line in known(requires(s)) or ())
    own = [pin for pin in found if pin and _CUDA_WHEEL.match(pin.name)]
    return tuple(one for pin in own for one in (pin, *(_brought(s, pin) if pin.extras else ())))


def _brought(s: Snapshot, pin: Pin) -> list[Pin]:
    """The wheels that the extras of a pin bring, by the METADATA of what is installed; none where that differs."""
    found = s.python.distribution(pin.name)
    if found is None or isinstance(found, Missing) or not pin.accepts(found.version):
        return []
    lines: dict[str, Pin] = {}
    for line in known(found.requires) or ():
        brought = pin_of(line)
        if brought and any(applies(brought, s, extra) for extra in pin.extras) and "extra" in brought.marker:
            marker = f"{pin.marker}" if pin.marker else ""
            lines.setdefault(brought.name, replace(brought, marker=marker))
    return list(lines.values())


def applies(pin: Pin, s: Snapshot, extra: str = "") -> bool:
    """Whether the pin's marker holds for the patient (and an extra). `packaging` is imported only here: it is slow."""
    if not pin.marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    system = {"windows": ("Windows", "win32", "nt"), "darwin": ("Darwin", "darwin", "posix")}.get(
        known(s.host.system) or "", ("Linux", "linux", "posix")
    )
    full = known(s.python.patient.version) or "3.11"
    environment = {
        "platform_system": system[0], "sys_platform": system[1], "os_name": system[2],
        "platform_machine": known(s.host.architecture) or "x86_64", "python_full_version": full,
        "python_version": ".".join(full.split(".")[:2]), "extra": extra,
        "implementation_name": known(s.python.patient.implementation) or "cpython",
        "platform_python_implementation": "CPython",
    }  # fmt: skip
    try:
        return Marker(pin.marker).evaluate(environment)
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return False


class OffPin(Struct, frozen=True):
    """A wheel that is installed in another version than torch pins."""

    pin: Pin
    have: str


def off_pins(s: Snapshot) -> tuple[OffPin, ...]:
    """Installed CUDA wheels that differ from torch's pins (an absent one is not listed)."""
    result = []
    for pin in cuda_pins(s):
        found = s.python.distribution(pin.name)
        if found is None or isinstance(found, Missing) or pin.accepts(found.version):
            continue
        if applies(pin, s):
            result.append(OffPin(pin, found.version))
    return tuple(result)


def absent_pins(s: Snapshot) -> tuple[Pin, ...]:
    """Pinned CUDA wheels that are known not to be installed."""
    if isinstance(s.python.distributions, Missing):
        return ()
    have = {d.name for d in s.python.distributions}
    return tuple(pin for pin in cuda_pins(s) if pin.name not in have and applies(pin, s))


def older(have: str, wanted: str) -> bool:
    """Whether a version is lower than another, number by number."""
    return numbers(have) < numbers(wanted)


def library_of(name: str) -> str:
    """`nvidia-nvjitlink-cu12` -> `nvjitlink`; '' for other names."""
    found = re.fullmatch(r"nvidia-([a-z0-9-]+?)(?:-cu\d+)?", name)
    return found[1] if found else ""
