"""The torch that check, fix, resolve, what-if, explain and image name for every scenario machine, and why two differ.

    python benchmarks/which_torch.py [--only NAME ...]

Each machine of tests/scenarios is recorded (the real gatherers against the fake drivers) and judged by the real
command; then every command is asked for a torch. A difference is printed with its reason, as the commands state it.
Exit 1 where one has none, where a fix does not name the newest that fits, or where the build that one of them names is
found fault with that the machine did not have before.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from doctor.judge.report import Report
from doctor.snapshot import known
from tests.fakes import build_fakes
from tests.scenarios import take
from tests.scenarios.torch_build import Workshop
from tests.scenarios.which_torch import adds_warnings, answers, newest_is_named


def main() -> int:
    """Print one block for each machine; 1 where something has no reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of scenarios")
    names = parser.parse_args().only or take.names()
    with tempfile.TemporaryDirectory() as folder:
        reports = recorded(names, Path(folder))
    bad = agreed = reasoned = 0
    for name, report in reports.items():
        judged = report.snapshot, report.policy
        found = answers(*judged)
        print(f"{name}: torch {known(report.snapshot.torch.version) or 'none'}")
        print(f"  resolve: {found.resolve or found.why_none}")
        told = {(one.command, one.torch): "" for one in found.named}
        told |= {(d.named.command, d.named.torch): d.why or "NO REASON" for d in found.differences}
        for (command, torch), why in told.items():
            print(f"  {command}: {torch}{f' ({why})' if why else ''}")
            agreed, reasoned = agreed + (not why), reasoned + (why not in ("", "NO REASON"))
        builds = {found.resolve, *(one.torch for one in found.named)} - {""}
        worse = [f"{torch} adds {one}" for torch in builds for one in adds_warnings(*judged, torch)]
        faults = [*newest_is_named(found), *worse]
        for fault in faults:
            print(f"  FAULT: {fault}")
        bad += len(faults) + sum(not d.why for d in found.differences)
    print(f"{len(reports)} machines: {agreed} answers as resolve says, {reasoned} others with a reason, {bad} without")
    return 1 if bad else 0


def recorded(names: list[str], folder: Path) -> dict[str, Report]:
    """Each machine's report, as `check --replay` saves it."""
    (folder / "fakes").mkdir()
    fakes, workshop = build_fakes(folder / "fakes"), Workshop(folder / "workshop")

    def one(name: str) -> dict[str, Any]:
        scenario = take.load(name)
        report, _, stderr = take.check(take.record(scenario, folder / name, fakes, workshop), *scenario.check)
        assert report, stderr
        return report

    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(one, names))
    # Here, not in the threads: msgspec's first look at a type is not made for two at once.
    return {name: msgspec.convert(report, Report, strict=False) for name, report in zip(names, reports, strict=True)}


if __name__ == "__main__":
    sys.exit(main())
