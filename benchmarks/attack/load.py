"""A healthcheck that has little of the machine: a share of a core, others who want the cores, few descriptors."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .engine import Attack
from .ground import Ground

_HUNG = ("nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetName", "cuInit", "cuDeviceGetCount")
_SLOW = ({"takes_ms.nvmlInit": "3000"}, {"takes_ms.cuInit": "4000"}, {"call_ms": "300"}, {})
_CPU = next((folder for folder in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup") if os.access(folder, os.W_OK)), "")
_ALL = "{it} > line; code=$?; cat line; exit $code"
_QUOTA = """g=GROUP/gpudoctor-$$; mkdir $g
if [ -e $g/cpu.cfs_quota_us ]; then echo SHARE000 > $g/cpu.cfs_quota_us; else echo SHARE000 100000 > $g/cpu.max; fi
(echo $BASHPID > $g/cgroup.procs; exec {it}) > line; code=$?
cat line; for i in 1 2 3 4 5; do rmdir $g 2> /dev/null && break; sleep 0.2; done; exit $code"""
_BURNERS = """for i in $(seq MANY); do (while :; do :; done) & done; sleep 0.5
{it} > line; code=$?; kill $(jobs -p); cat line; exit $code"""
_STARVED = "not enough processor time"


def attacks(ground: Ground) -> list[Attack]:
    """Drivers that hang, are slow or sound, under each kind of want.

    Lost: a hung driver that is not FAIL (where little of a core is left, UNKNOWN with that reason), any other that is
    not OK (UNKNOWN with that reason; or with 'slow answers', where all of its calls take longer than the deadline).
    """
    if ground.fakes is None:
        return []
    quotas = [(f"{share} % of a core", _QUOTA.replace("GROUP", _CPU).replace("SHARE", str(share)), share < 20)
              for share in (50, 20, 10, 3)] if _limited() else []  # fmt: skip
    burners = [(f"{many} others", _BURNERS.replace("MANY", str(many)), True) for many in (17, 60)]
    few = [(f"{most} descriptors", f"ulimit -n {most}; {_ALL}")
           for most in (8, 9, 10, 11)]  # fmt: skip
    found = []
    for driver in (*({f"fail.{call}": "hang"} for call in _HUNG), *_SLOW):
        hung = any(key.startswith("fail.") for key in driver)
        for name, shell, poor in (
            ("all of it", "{it} > line; code=$?; cat line; exit $code", False),
            *quotas,
            *burners,
        ):
            slow = ("slow answers",) if "call_ms" in driver else ()  # more calls than the time has room for
            wanted = ("FAIL driver-not-answering", *((_STARVED,) if poor else ())) if hung else ("OK ", _STARVED, *slow)
            found.append(_attack(ground, driver, name, shell, wanted))
        for name, shell in few:
            found.append(_attack(ground, driver, name, shell, ("UNKNOWN not enough",)))
    return found


def _attack(ground: Ground, driver: dict[str, str], name: str, shell: str, wanted: tuple[str, ...]) -> Attack:
    words = ["healthcheck", "--python", str(ground.bare)]
    codes = frozenset({0, 1} if any(one.startswith("FAIL") for one in wanted) else {0})
    what = ", ".join(f"{key} {value}" for key, value in driver.items()) or "a sound driver"
    setup: Callable[[Attack], object] = partial(_machine, ground, driver)
    return Attack(
        f"{what} with {name}",
        words,
        setup,
        shell=shell,
        codes=codes,
        report=False,
        deadline_s=25,  # ten for the answer, the rest for a shell that wants a core too
        after=partial(_said, wanted),
    )


def _machine(ground: Ground, driver: dict[str, str], attack: Attack) -> None:
    attack.env = ground.machine(attack.folder.parent, "healthy-h100", driver)


def _said(wanted: tuple[str, ...], attack: Attack) -> str:
    line = (attack.folder / "line").read_text("ascii", "replace")
    return "" if any(words in line for words in wanted) else f"not {' or '.join(wanted)}: {line[:200]!r}"


def _limited() -> bool:
    """Whether a group with a share of a core can be made here."""
    if not _CPU:
        return False
    group = Path(_CPU, f"gpudoctor-try-{os.getpid()}")
    try:
        group.mkdir()
        limited = (group / "cpu.cfs_quota_us").exists() or (group / "cpu.max").exists()
        group.rmdir()
    except OSError:
        return False
    return limited
