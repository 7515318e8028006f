"""A fleet of reports with planted faults, and whether `gpudoctor fleet report` names each of them and nothing else.

    python benchmarks/fleet.py --nodes 10000 --seed 1 --truth t.json -o d     a folder to load; t.json: what is wrong
    gpudoctor fleet load d -o d.db; gpudoctor fleet report d.db --format json -o d.json
    python benchmarks/fleet.py --truth t.json --check d.json                  what is missing, and what is too much
    python benchmarks/fleet.py --seeds 1-20 --nodes 64                        all of it, for each seed
    python benchmarks/fleet.py --measure --nodes 10000                        processor seconds, memory, bytes per node

--healthy plants nothing. The machines are those of `tests/machines` (gcc compiles their driver); `fleet_reports.py`
makes them many.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.fleet_check import compare
from benchmarks.fleet_reports import FAULTS, FIGURES, Machines, Template, filled

START = 1795687320.0
"""26 Nov 2026, 10:02 UTC: when the first answer was received."""
MAIN, SECOND = "h200x8", "b200x8"
MIXED_FROM = 256
"""Nodes from which on one in eight is of the second model: below, a cohort would be too small for three odd nodes."""
CUT = (0.0, 0.1, 0.5, 0.9, 1.0)
"""How much of a truncated file is there; 1: all but its last byte."""
SLOW: dict[str, tuple[str, tuple[str, ...], float]] = {
    "slow matmul": ("matmul", (), 0.75),
    "slow memory": ("memory", (), 0.88),
    "half a link": ("copy", ("h2d-pinned", "d2h-pinned"), 0.49),
    "slow node": ("matmul", (), 0.82),
}
"""What is planted: kind, which of its figures (() for all), and the factor."""


class Planted(NamedTuple):
    """One fault: what, on which nodes, and on which GPU (-1: on all, or none in particular)."""

    kind: str
    nodes: tuple[str, ...]
    gpu: int = -1
    about: str = ""
    """The fact, the check's id, or the kind of figure."""
    value: str = ""


class Plan(NamedTuple):
    names: tuple[str, ...]
    models: dict[str, str]
    planted: tuple[Planted, ...]

    def of(self, kind: str) -> tuple[str, ...]:
        """Nodes with this fault."""
        return tuple(node for one in self.planted if one.kind == kind for node in one.nodes)


def plan(nodes: int, seed: int, healthy: bool) -> Plan:
    """Which nodes there are, and what is wrong with which."""
    drawn = random.Random(f"fleet {seed}")
    digits = max(3, len(str(nodes + len(CUT))))
    names = tuple(f"gpu-{number:0{digits}}" for number in range(1, nodes + 1))
    second = set(drawn.sample(names, nodes // 8)) if nodes >= MIXED_FROM else set()
    models = {name: SECOND if name in second else MAIN for name in names}
    if healthy:
        return Plan(names, models, ())
    free = [name for name in names if models[name] == MAIN]
    drawn.shuffle(free)

    def take(count: int) -> tuple[str, ...]:
        taken = tuple(sorted(free[:count]))
        del free[:count]
        return taken

    often, once = drawn.sample(sorted(FAULTS), 2)
    planted = [
        Planted("odd", take(3), about="driver.kernel_version", value="565.57.01"),
        Planted("odd", take(1), drawn.randrange(8), "gpus.vbios", "96.00.74.00.1D"),
        Planted("odd", take(1), about="gpus.power_limit_w", value="600.0"),
        Planted("fail", take(2), about=often),
        Planted("fail", take(1), about=once),
        Planted("clock", take(1), value=str(drawn.choice((-7 * 365 * 86400, -3600, 7200)))),
        Planted("two machines", take(1)),
    ]
    for kind, (figure, _, _) in SLOW.items():
        planted.append(Planted(kind, take(1), -1 if kind == "slow node" else drawn.randrange(8), figure))
    cut = tuple(f"gpu-{nodes + 1 + n:0{digits}}" for n in range(len(CUT)))
    planted.append(Planted("refused", cut))
    kernel = tuple(sorted(drawn.sample(free, min(nodes // 3, len(free)))))  # sound else
    planted.append(Planted("split", kernel, about="host.kernel", value="6.8.0-64-generic"))
    return Plan(names, models, tuple(planted))


def write(made: Plan, machines: Machines, folder: Path, seed: int, start: float = START) -> int:
    """The spool: a file for each node, and again.jsonl for what was measured again. start: when the first answer was
    received, seconds since 1970 UTC. Returns the bytes written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    kernel = set(made.of("split"))
    templates = _Templates(machines, made)
    with (folder / "again.jsonl").open("wb") as again:
        for index, name in enumerate(made.names):
            at = start + index * 0.01
            one = templates.of(name)
            drawn = random.Random(f"{seed} {name}")
            uuids = [_uuid(drawn) for _ in range(one.gpus)]
            factors = _factors(made, name, machines, one, drawn)
            for run in (1, 2, 3) if _flagged(made, name) else (1,):
                clock = sum(float(p.value) for p in made.planted if p.kind == "clock" and name in p.nodes)
                text = filled(one, machines, hash_of(seed, index), at + (run - 1) * 60 + clock, factors, uuids, run)
                if name in kernel:
                    text = text.replace(b"6.8.0-60-generic", b"6.8.0-64-generic")
                line = _line(name, at + (run - 1) * 60, run, text)
                written += len(line)
                if run == 1:
                    (folder / f"{name}.json").write_bytes(line)
                else:
                    again.write(line)
            if name in made.of("two machines"):
                other = [_uuid(drawn) for _ in uuids]
                text = filled(one, machines, hash_of(seed, index) + 1, at + 5, factors, other)
                again.write(_line(name, at + 5, 1, text))
        whole = b""
        for name, share in zip(made.of("refused"), CUT, strict=False):
            whole = whole or (folder / f"{made.names[0]}.json").read_bytes().rstrip()
            (folder / f"{name}.json").write_bytes(whole[: min(len(whole) - 1, int(len(whole) * share))])
    if not (folder / "again.jsonl").stat().st_size:
        (folder / "again.jsonl").unlink()
    return written


def hash_of(seed: int, index: int) -> int:
    """A number of its own for each node of each fleet."""
    return seed * 1_000_003 + index * 7


class _Templates:
    """The template of each node."""

    def __init__(self, machines: Machines, made: Plan) -> None:
        self.machines, self.made = machines, made
        self.named: dict[str, Template] = {}
        for one in made.planted:
            if one.kind == "fail":
                self.named |= dict.fromkeys(one.nodes, machines.template(MAIN, one.about))
            elif one.kind == "odd":
                self.named |= dict.fromkeys(one.nodes, machines.odd(MAIN, one.about, one.value, one.gpu))

    def of(self, name: str) -> Template:
        return self.named.get(name) or self.machines.template(self.made.models[name])


def _factors(made: Plan, name: str, machines: Machines, one: Template, drawn: random.Random) -> list[float]:
    factors = machines.values(one.gpus, drawn)
    for fault in made.planted:
        if fault.kind in SLOW and name in fault.nodes:
            kind, whats, factor = SLOW[fault.kind]
            for gpu in range(one.gpus) if fault.gpu < 0 else (fault.gpu,):
                for index, about in enumerate(machines.rated):
                    if about.kind == kind and (not whats or about.what in whats):
                        factors[gpu * FIGURES + index] = factor
    return factors


def _flagged(made: Plan, name: str) -> bool:
    return any(fault.kind in SLOW and name in fault.nodes for fault in made.planted)


def _uuid(drawn: random.Random) -> bytes:
    digits = f"{drawn.getrandbits(80):020x}"
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-6d61736b6564".encode()


def _line(name: str, received: float, repeat: int, report: bytes) -> bytes:
    head = json.dumps({"node": name, "received": received, "repeat": repeat})[:-1]
    return head.encode() + b', "report": ' + report + b"}\n"


def truth(made: Plan, seed: int) -> dict[str, Any]:
    """What was planted, for --check."""
    return {"nodes": len(made.names), "seed": seed, "planted": [one._asdict() for one in made.planted]}


def make(nodes: int, seed: int, healthy: bool, folder: Path, machines: Machines) -> dict[str, Any]:
    """Write a fleet; returns its truth."""
    made = plan(nodes, seed, healthy)
    size = write(made, machines, folder, seed)
    return {**truth(made, seed), "bytes": size}


def run(nodes: int, seed: int, healthy: bool, machines: Machines, keep: Path | None = None) -> list[str]:
    """Make a fleet, load it and report it with the real command; what is missing, and what is too much."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        planted = make(nodes, seed, healthy, folder / "spool", machines)
        database, report = str(folder / "fleet.db"), str(folder / "report.json")
        command = [sys.executable, "-m", "gpudoctor", "fleet"]
        loaded = subprocess.run([*command, "load", str(folder / "spool"), "-o", database], check=False, **_QUIET)
        told = subprocess.run([*command, "report", database, "--format", "json", "-o", report], check=False, **_QUIET)
        if loaded.returncode not in (0, 3) or told.returncode not in (0, 1, 3):
            return [loaded.stderr + told.stderr]
        if keep:
            shutil.copy(report, keep)
        return compare(planted, json.loads(Path(report).read_bytes()), told.returncode)


_QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}


def seeds_of(text: str) -> Iterator[int]:
    """`3`, `1-20` or `1,5,9`."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main() -> int:
    """The script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--truth", type=Path, metavar="FILE")
    parser.add_argument("--healthy", action="store_true")
    parser.add_argument("--check", type=Path, metavar="REPORT", help="compare this report's JSON with --truth")
    parser.add_argument("--seeds", metavar="1-20", help="make, load, report and compare for each of these seeds")
    parser.add_argument("--measure", action="store_true", help="seconds, memory and bytes of load and report")
    parser.add_argument("--judge", action="store_true", help="with --measure: also judge all reports")
    parser.add_argument("--raw", action="store_true", help="with --measure: also load as many recordings")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR")
    asked = parser.parse_args()
    if asked.check:
        report = json.loads(asked.check.read_bytes())
        faults = compare(json.loads(asked.truth.read_bytes()), report, report["exit_code"])
        print("\n".join(faults) or "Each planted fault is named, and nothing else.")
        return 1 if faults else 0
    machines = Machines()
    if asked.seeds:
        return _seeds(asked.nodes, list(seeds_of(asked.seeds)), asked.healthy, machines)
    if asked.measure:
        from benchmarks.fleet_cost import measure, measure_raw

        with tempfile.TemporaryDirectory(dir=asked.output) as folder:
            size = make(asked.nodes, asked.seed, False, Path(folder) / "spool", machines)["bytes"]
            print("\n".join(measure(Path(folder), asked.nodes, size, asked.judge)), flush=True)
            if asked.raw:
                print(measure_raw(Path(folder) / "raw", machines.recording(MAIN), asked.nodes))
        return 0
    if not asked.output:
        parser.error("where to? -o DIR")
    found = make(asked.nodes, asked.seed, asked.healthy, asked.output, machines)
    if asked.truth:
        asked.truth.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(f"{asked.nodes:,} nodes, {found['bytes'] / 1e6:,.0f} MB, {len(found['planted'])} faults planted")
    return 0


def _seeds(nodes: int, seeds: list[int], healthy: bool, machines: Machines) -> int:
    wrong = 0
    for seed in seeds:
        faults = run(nodes, seed, healthy, machines)
        wrong += bool(faults)
        for fault in faults:
            print(f"seed {seed}: {fault}", flush=True)
    kind = "healthy fleets" if healthy else "fleets with planted faults"
    print(f"{len(seeds)} {kind} of {nodes:,} nodes: {len(seeds) - wrong} as planted, {wrong} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
