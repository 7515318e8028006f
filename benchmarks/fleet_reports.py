"""Reports of a fleet's nodes: scenario machines recorded and judged once, then written many times with other values.

The real gatherer and agents look at the machine (`tests/scenarios/take.py`, which compiles a driver with gcc). What
differs from node to node by nature (UUIDs, times, temperatures, power draw, free disk) and all measured values are
slots of the encoded report; everything else is copied as bytes.
"""

from __future__ import annotations

import random
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from doctor.commands.assess import assess
from doctor.judge.report import Report
from doctor.snapshot import Snapshot, known
from doctor.snapshot.measured import Measured, Rate
from tests.fakes import Machine, build_fakes
from tests.judging import matrix
from tests.report.measured_samples import driver_proof, torch_proof
from tests.scenarios import take
from tests.scenarios.machine_files import Scenario
from tests.scenarios.torch_build import Workshop

TORCH = "2.9.1+cu128"
OTHER_LIBRARY = "580.82.07"
FAULTS: dict[str, dict[str, Any]] = {
    "driver-library-version-mismatch": {"scenario": {
        "nvml.library": OTHER_LIBRARY, "cuda.library": OTHER_LIBRARY, "fail.nvmlInit": "18", "fail.cuInit": "803"}},
    "uvm-device-missing": {"without_nodes": ["/dev/nvidia-uvm"], "scenario": {"fail.cuInit": "999"}},
    "gpu-hardware-ecc-fault": {"scenario": {
        "gpu.5.remapped": "0 1 1 0", "gpu.5.ecc.uncorrected.volatile": "1", "gpu.5.recovery_action": "1"}},
}  # fmt: skip
"""Check id to what is changed on a scenario machine so that it fails there."""


class Kind(NamedTuple):
    """One kind of figure: how much one GPU differs from another, and one run from the next (standard deviations)."""

    of_gpu: float
    of_run: float


NOISE = {"matmul": Kind(0.009, 0.004), "memory": Kind(0.002, 0.001), "copy": Kind(0.006, 0.004)}
_OTHER = Kind(0.01, 0.01)
_MATMUL = {"fp32": 51.0, "tf32": 388.0, "fp16": 734.0, "bf16": 742.0, "fp8": 1312.0, "int8": 1287.0}
_MEMORY = {"copy": 4213.0, "triad": 4305.0}
_COPY = {"h2d-pinned": 55.3, "h2d-pageable": 11.2, "d2h-pinned": 54.1, "d2h-pageable": 8.6}
_REST = {"launch": ("us", {"eager": 4.41, "graph": 1.13}), "pass": ("ms", {"forward": 9.84, "backward": 20.6})}
FIGURES = 40
"""Of one GPU."""
_OPERATIONS = FIGURES - len(_MATMUL) - len(_MEMORY) - len(_COPY) - 4

GATHERED = "2026-11-20T00:00:00Z"
"""When the recording says that it was made: a slot of the template."""
_VALUE = 7770000.0
"""Measured values of a template: this and its index."""
_SLOTS = re.compile(
    rb"(?P<uuid>GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-6d61736b6564)|(?P<time>@TIME@)|(?P<value>777\d{4}\.0)"
    rb'|(?<="temperature_c":)(?P<celsius>\d+)|(?<="power_draw_w":)(?P<watt>[\d.]+)'
    rb'|(?<="memory_used_mib":)(?P<used>\d+)|(?<="free_mib":)(?P<free>\d+)'
)


class Rated(NamedTuple):
    """One figure of one GPU: its typical value."""

    kind: str
    what: str
    typical: float


class Template(NamedTuple):
    """A report in pieces: bytes, and between them slots (name, and which of that name)."""

    pieces: tuple[bytes, ...]
    slots: tuple[tuple[str, int], ...]
    gpus: int
    measured: bool
    typical: tuple[float, ...] = ()
    """Of one GPU's figures."""


def figures() -> list[tuple[Rate, Rated]]:
    """The forty figures of one GPU, as `prove` has them on an H200."""
    cube = {"m": 8192, "n": 8192, "k": 8192}
    found = [("matmul", what, value, "TOP/s" if what == "int8" else "TFLOP/s", cube) for what, value in _MATMUL.items()]
    found += [("memory", what, value, "GB/s", {}) for what, value in _MEMORY.items()]
    found += [("copy", what, value, "GB/s", {}) for what, value in _COPY.items()]
    for kind, (unit, values) in _REST.items():
        found += [(kind, what, value, unit, {}) for what, value in values.items()]
    found += [("operation", f"operation-{n}", 20.0 + n, "TFLOP/s", {}) for n in range(_OPERATIONS)]
    return [
        (Rate(kind=kind, device="", what=what, value=value, unit=unit), Rated(kind, what, value))
        for kind, what, value, unit, _ in found
    ]


def template(report: Report, change: Callable[[Snapshot], Snapshot] | None = None) -> Template:
    """The report with figures, judged again, cut at its slots."""
    snapshot = change(report.snapshot) if change else report.snapshot
    gpus = len(known(snapshot.gpus) or ())
    rated = [rated for _, rated in figures()]
    typical = [one.typical for one in rated]
    if gpus and known(snapshot.driver.cu_init) == 0:  # else nothing could be measured
        typical = _typical_of(assess(_measured(snapshot, gpus, typical), matrix(), report.policy), rated)
        snapshot = _measured(snapshot, gpus, typical)
    snapshot = replace(snapshot, target=replace(snapshot.target, name="", gathered_at="@TIME@"))
    judged = assess(snapshot, matrix(), report.policy)
    judged = replace(judged, generated_at="@TIME@", redacted=True, target=snapshot.target)
    return cut(msgspec.json.encode(_with_slots(judged)))._replace(typical=tuple(typical))


def _typical_of(judged: Report, rated: list[Rated]) -> list[float]:
    """What the matrix expects of this model, else an H200's figure times what the model's bf16 product (or its copy
    in memory) is of an H200's."""
    told = judged.measured.expected if judged.measured else ()
    expected = {(one.kind, one.what): one.typical for one in told if one.device == "cuda:0"}
    ratio = {
        one.kind: expected[one.kind, one.what] / one.typical
        for one in rated
        if (one.kind, one.what) in expected and one.what in ("bf16", "copy", "h2d-pinned")
    }
    return [expected.get((one.kind, one.what)) or one.typical * ratio.get(one.kind, 1.0) for one in rated]


def _measured(snapshot: Snapshot, gpus: int, typical: list[float]) -> Snapshot:
    rates = tuple(
        replace(rate, device=f"cuda:{gpu}", value=value)
        for gpu in range(gpus)
        for (rate, _), value in zip(figures(), typical, strict=True)
    )
    devices = tuple(f"cuda:{gpu}" for gpu in range(gpus))
    measured = Measured(
        level="quick",
        device="cuda",
        torch_devices=devices,
        driver=tuple(replace(driver_proof(), device=gpu) for gpu in range(gpus)),
        torch=tuple(replace(torch_proof(), device=device, tensor_device=device, key="") for device in devices),
        rates=rates,
    )
    return replace(snapshot, measured=measured)


def _with_slots(report: Report) -> Report:
    """The figures' values replaced by marks: only now, so that they were judged as typical ones."""
    rates = known(report.snapshot.measured.rates)
    if not rates:
        return report
    marked = tuple(replace(rate, value=_VALUE + index) for index, rate in enumerate(rates))
    measured = replace(report.snapshot.measured, rates=marked)
    return replace(report, snapshot=replace(report.snapshot, measured=measured))


def cut(encoded: bytes) -> Template:
    """Bytes between slots, and the slots."""
    pieces, slots, end = [], [], 0
    uuids: dict[bytes, int] = {}
    counts: dict[str, int] = {}
    for match in _SLOTS.finditer(encoded):
        name = match.lastgroup or ""
        pieces.append(encoded[end : match.start()])
        if name == "uuid":
            number = uuids.setdefault(match[0], len(uuids))
        elif name == "value":
            number = int(float(match[0]) - _VALUE)
        else:
            number = counts.get(name, 0)
            counts[name] = number + 1
        slots.append((name, number))
        end = match.end()
    return Template((*pieces, encoded[end:]), tuple(slots), len(uuids), "value" in {name for name, _ in slots})


class Machines:
    """The templates, by model and fault; each other driver, VBIOS or power limit is a replacement of bytes."""

    def __init__(self) -> None:
        self.made = tempfile.TemporaryDirectory()
        self.folder = Path(self.made.name)
        self.fakes = build_fakes(self.folder / "fakes")
        self.workshop = Workshop(self.folder / "workshop")
        self.reports: dict[tuple[str, str], Report] = {}
        self.templates: dict[tuple[str, str], Template] = {}
        self.rated = [rated for _, rated in figures()]

    def report(self, model: str, fault: str = "") -> Report:
        """Of one machine as it is, or with one of FAULTS; without figures."""
        if (model, fault) not in self.reports:
            machine = Machine.load(model)
            changes = FAULTS.get(fault, {})
            sick = Machine(model, {**machine.scenario, **changes.get("scenario", {})}, machine.files)
            case = Scenario(model, sick, {}, TORCH, without_nodes=changes.get("without_nodes", []))
            place = self.folder / f"{model}-{fault or 'sound'}"
            told, _, error = take.check(take.record(case, place, self.fakes, self.workshop))
            if not told:
                raise RuntimeError(error)
            report = msgspec.convert(told, Report, strict=False)
            found = [finding.id for finding in report.findings if not finding.cause] or [""]
            if fault not in found:
                raise RuntimeError(f"{model} with {fault or 'nothing wrong'} has {found}")
            self.reports[model, fault] = report
        return self.reports[model, fault]

    def recording(self, model: str) -> Path:
        """The folder of raw answers that the sound machine's report comes from."""
        self.report(model)
        return self.folder / f"{model}-sound" / "recording"

    def template(self, model: str, fault: str = "") -> Template:
        """The same with figures, cut at its slots."""
        if (model, fault) not in self.templates:
            self.templates[model, fault] = template(self.report(model, fault))
        return self.templates[model, fault]

    def odd(self, model: str, fact: str, value: str, gpu: int = -1) -> Template:
        """A sound machine with another value of a fact, on one GPU or (-1) on all, judged again."""

        def change(s: Snapshot) -> Snapshot:
            if fact == "driver.kernel_version":
                text = msgspec.json.encode(s).replace(str(s.driver.kernel_version).encode(), value.encode())
                changed = msgspec.json.decode(text, type=Snapshot)
                return changed.replace({"driver.cuda_version": "12.7", "driver.nvml_cuda_version": "12.7"})
            name = fact.removeprefix("gpus.")
            new = float(value) if name.endswith("_w") else value
            gpus = known(s.gpus) or ()
            return s.replace(
                {"gpus": tuple(replace(one, **{name: new}) if gpu in (-1, one.index) else one for one in gpus)}
            )

        return template(self.report(model), change)

    def values(self, gpus: int, drawn: random.Random) -> list[float]:
        """What GPUs of that number are like: for each figure of each GPU its lasting factor."""
        gauss = drawn.gauss
        found = []
        for _ in range(gpus):
            shared = {kind: gauss(0, noise.of_gpu) for kind, noise in NOISE.items()}
            found += [1 + shared.get(one.kind, 0.0) for one in self.rated]
        return found


def filled(
    one: Template, machines: Machines, seed: int, at: float, factors: list[float], uuids: list[bytes], run: int = 1
) -> bytes:
    """The report of one node. factors: of each figure of each GPU; run: another one measures again."""
    drawn = random.Random(seed * 4 + run)
    gauss, integer = drawn.gauss, drawn.randrange
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)).encode()
    rated, count = machines.rated, len(machines.rated)
    parts: list[bytes] = []
    for piece, (name, number) in zip(one.pieces, one.slots, strict=False):
        parts.append(piece)
        if name == "value":
            about = rated[number % count]
            noise = NOISE.get(about.kind, _OTHER)
            parts.append(b"%.5g" % (one.typical[number % count] * factors[number] * (1 + gauss(0, noise.of_run))))
        elif name == "uuid":
            parts.append(uuids[number])
        elif name == "time":
            parts.append(moment)
        elif name == "celsius":
            parts.append(b"%d" % (28 + integer(20)))
        elif name == "watt":
            parts.append(b"%.1f" % (70 + integer(200) / 10))
        elif name == "used":
            parts.append(b"%d" % integer(2, 900))
        else:
            parts.append(b"%d" % integer(200000, 400000))
    parts.append(one.pieces[-1])
    return b"".join(parts)
