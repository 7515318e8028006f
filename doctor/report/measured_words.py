"""The words for what was measured: the same in the terminal, in Markdown and in HTML."""

from __future__ import annotations

from ..findings.measured_siblings import at_once
from ..judge.report import Report
from ..snapshot import Missing, known
from ..snapshot.device_names import in_short
from ..snapshot.measured import (
    CollectiveProof,
    DriverProof,
    Measured,
    PairProof,
    StepEnd,
    TorchProof,
    TrainingStep,
)
from .amounts import amount, memory, number, percent
from .lines import Line, Span, wrap

_ALONE = ("torch_speed", "training_speed")
_FAULTS = {
    "hang": "no answer, stopped", "crash": "crashed", "failed": "failed", "slow": "not over in time",
    "starved": "not timed", "skipped": "left out",
}  # fmt: skip


def mark(right: bool | None, fault: bool = False) -> Span:
    """The sign of a proof."""
    return Span("✓ ", "pass") if right else Span("✗ ", "fail") if right is False or fault else Span("? ", "unknown")


def headed(head: Span, text: str, width: int) -> list[Line]:
    """Text after its heading; below it where the heading takes most of the line."""
    if len(head.text) > width - 30:
        return [(Span(head.text.rstrip(), head.style),), *wrap(text, width, "  ")]
    return wrap(text, width, first=head, hang=2)


def about(m: Measured) -> str:
    """`full run on cuda, torch imported in 2.3 s`."""
    level, device = known(m.level), known(m.device)
    words = "a watched run" if level == "watch" else f"{level} run" + (f" on {_devices(m, device)}" if device else "")
    words += ", interrupted" if m.interrupted else ""
    seconds = known(m.import_seconds)
    words += f", torch imported in {number(round(seconds, 1))} s" if seconds is not None else ""
    together = at_once(known(m.rates) or ())
    return words + (f", with matmuls and memory measured on {together} GPUs in parallel" if together > 1 else "")


def _devices(m: Measured, device: str) -> str:
    """`cuda`, `cpu`; `cuda:0, cuda:2, as requested, and not on cuda:1, cuda:3`."""
    if "," not in device and ":" not in device:
        return device
    wanted = device.split(",")
    others = [name for name in known(m.torch_devices) or () if name not in wanted]
    return in_short(wanted) + (f", as requested, but not on {in_short(others)}" if others else "")


def evidence(proof: TorchProof) -> str:
    """What shows that this device computed: code, error, NVML, speed against the CPU."""
    words = []
    errors = [e for e in (known(proof.matmul_error), known(proof.conv_error)) if e is not None]
    if known(proof.right):
        off = f", error at most {max(errors):.1e}" if errors else ""
        words.append(f"matmul and convolution match float64{off}")
    code = known(proof.code)
    if code:
        first = amount(proof.first_launch_ms, "ms")
        words.append("ran native code" if code == "native" else "compiled from PTX" + (f" in {first}" if first else ""))
    seen = known(proof.process_seen)
    if seen is not None:
        inside, busy = memory(proof.process_mib), percent(proof.utilization_percent)
        words.append(
            f"NVML {'saw' if seen else 'did not see'} the process" + (f" using {inside}" if inside and seen else "")
        )
        words[-1] += f" and the GPU was up to {busy} busy" if busy else ""
    work, cpu = known(proof.work_ms), known(proof.cpu_ms)
    if work and cpu and proof.device != "cpu":
        words.append(f"{number(cpu / work)} times as fast as the CPU")
    if proof.busy:
        words.append("another process was using the device, so the measured speed is not meaningful")
    return "; ".join(words)


def driver_evidence(proof: DriverProof) -> str:
    """The L0 result of one device as text."""
    name = f"libcuda device {proof.device}" + (f" ({proof.name})" if proof.name else "")
    if known(proof.right) is None:
        call = f" in {proof.failed_call}" if proof.failed_call else ""
        error = f", {proof.error_name}" if proof.error_name else ""
        return f"{name}: {_FAULTS[proof.fault or 'failed']}{call}{error}"
    if not proof.right:
        return f"{name}: {proof.wrong_elements:,} of {proof.elements:,} elements are wrong"
    context, mib, loaded = amount(proof.context_ms, "ms"), memory(proof.context_mib), amount(proof.module_ms, "ms")
    words = [f"context created in {context}" if context else "", f"the context uses {mib}" if mib else ""]
    words += [f"PTX loaded in {loaded}" if loaded else ""]
    return "; ".join(
        w for w in (f"{name}: gpudoctor's PTX kernel computed {proof.elements:,} elements correctly", *words) if w
    )


def ended(m: Measured) -> list[tuple[StepEnd, str]]:
    """What did not end well or was left out, worst first; steps with the same end together."""
    order = list(_FAULTS)
    groups: dict[tuple[str, str, str, str], list[StepEnd]] = {}
    for end in sorted(m.ended, key=lambda e: order.index(e.fault)):
        groups.setdefault((end.agent, end.device, end.fault, end.detail), []).append(end)
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for (agent, device, fault, detail), ends in groups.items():
        alike.setdefault((agent, fault, detail, ", ".join(e.step for e in ends)), []).append(device)
    found = []
    for (agent, fault, detail, steps), names in alike.items():
        device, ends = names[0], groups[agent, names[0], fault, detail]
        where = f" on {in_short(names) if len(names) > 1 else device}" if device not in ("", "cuda") else ""
        if fault == "skipped" and device.startswith("cuda:") and ends[0].agent in _ALONE and detail.endswith(" alone"):
            found.append((ends[0], f"{steps}: {detail}; left out: {device}"))
            continue
        how = (
            detail
            if "made smaller" in detail or detail == "interrupted"
            else _FAULTS[fault] + (f" ({detail})" if detail else "")
        )
        found.append((ends[0], f"{steps}{where}: {how}"))
    return found


def model_of(step: TrainingStep) -> str:
    """`85 million parameters, batch 64 x 256, bf16`."""
    shape = f"batch {step.batch}" + (f" x {step.sequence}" if step.sequence else "")
    words = [f"{number(step.parameters / 1e6)} million parameters", shape, step.precision]
    return ", ".join(word for word in words if word) + ("; made smaller because memory ran out" if step.shrunk else "")


def bytes_rule(step: TrainingStep) -> str:
    """`17.8 bytes a parameter (rule: 18)`."""
    each, rule = known(step.bytes_per_parameter), known(step.expected_bytes_per_parameter)
    if each is None:
        return ""
    return f"{number(each)} bytes per parameter" + (f" (rule: {number(rule)})" if rule else "")


def pair_words(m: Measured, pair: PairProof) -> str:
    """`data correct, 371 GB/s, 2.9 us, peer access`."""
    speed = _speed_of(m, pair)
    right = known(pair.right)
    outcome = "data correct" if right else "wrong data" if right is False else pair.error or pair.fault or "not proven"
    words = [outcome, amount(speed, "GB/s") if speed else "", amount(pair.latency_us, "us")]
    words.append("peer access" if known(pair.peer_access) else "")
    return ", ".join(word for word in words if word)


def pairs_words(m: Measured, right: list[PairProof]) -> str:
    """`56 pairs of GPUs: data correct, 318 to 371 GB/s, peer access`."""
    speeds = [speed for pair in right if (speed := _speed_of(m, pair))]
    peers = sum(known(pair.peer_access) is True for pair in right)
    words = [f"{len(right)} pairs of GPUs: data correct"]
    if speeds:
        low, high = number(min(speeds)), number(max(speeds))
        words.append(f"{low} GB/s" if low == high else f"{low} to {high} GB/s")
    words.append("peer access" if peers == len(right) else f"peer access between {peers}" if peers else "")
    return ", ".join(word for word in words if word)


def _speed_of(m: Measured, pair: PairProof) -> float | None:
    name = f"{pair.source}>{pair.target}"
    measured = next((r.value for r in known(m.rates) or () if r.kind == "pair" and r.what == name), None)
    return known(pair.gb_s) or measured


def collective_words(c: CollectiveProof) -> str:
    """`the sum is correct, 0.4 s`."""
    right = known(c.right)
    outcome = "the sum is correct" if right else "wrong sum" if right is False else c.error or c.fault or "not proven"
    return outcome + (f", {took}" if (took := amount(c.seconds, "s")) else "")


def without_driver(report: Report) -> str:
    """Why there is no proof through libcuda; empty if there is one, or it was not requested."""
    driver = report.snapshot.measured.driver
    if isinstance(driver, Missing) and driver.reason != "not-asked":
        return f"the driver alone (libcuda) could not be tested: {driver.detail or driver.reason}"
    return ""
