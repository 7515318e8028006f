"""torch's own exact pins (`nvidia-cudnn-cu12==9.10.2.21`), and what is installed in their place."""

from __future__ import annotations

import re
from typing import NamedTuple

from compat_matrix.versions import numbers

from ..findings.patterns import lazy
from ..snapshot import Missing, Snapshot, known

_EXACT = lazy(
    r"([A-Za-z0-9][\w.-]{0,80}) ?(?:\[[^\]]{0,400}\])? ?\(? ?== ?([^\s;,()*]{1,60}) ?\)? ?(;.*)?"
)
_CUDA_WHEEL = lazy(r"(nvidia-|cuda-(toolkit|bindings|python|pathfinder))")


class Pin(NamedTuple):
    """A distribution and the only version of it that torch was made for. `marker`: its condition, or ''."""

    name: str
    version: str
    marker: str


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
    return Pin(name, found[2], (found[3] or "").lstrip("; ").strip())


def cuda_pins(s: Snapshot) -> tuple[Pin, ...]:
    """torch's exact pins of CUDA wheels; markers are not evaluated (see `applies`)."""
    found = (pin_of(line) for line in known(requires(s)) or ())
    return tuple(pin for pin in found if pin and _CUDA_WHEEL.match(pin.name))


def applies(pin: Pin, s: Snapshot) -> bool:
    """Whether the pin's marker holds for the patient. `packaging` is imported only here: it is slow."""
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
        "python_version": ".".join(full.split(".")[:2]), "extra": "",
        "implementation_name": known(s.python.patient.implementation) or "cpython",
        "platform_python_implementation": "CPython",
    }  # fmt: skip
    try:
        return Marker(pin.marker).evaluate(environment)
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return False


class OffPin(NamedTuple):
    """A wheel that is installed in another version than torch pins."""

    pin: Pin
    have: str


def off_pins(s: Snapshot) -> tuple[OffPin, ...]:
    """Installed CUDA wheels that differ from torch's pins (an absent one is not listed)."""
    result = []
    for pin in cuda_pins(s):
        found = s.python.distribution(pin.name)
        if found is None or isinstance(found, Missing) or found.version == pin.version:
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
