"""The measurements in a terminal: was the GPU used, how fast is it, what limits a training. Only imported for those."""

from __future__ import annotations

from ..findings.measured_path import Path
from ..judge.report import Report
from ..snapshot import known
from ..snapshot.measured import Measured
from .expected import path_of
from .figures import devices, name_of
from .lines import BLANK, Line, Span, Style, line, wrap
from .measured_links import links_lines
from .measured_soak import soak_lines
from .measured_tables import device_lines, in_short
from .measured_training import training_lines
from .measured_words import about, driver_evidence, ended, evidence, headed, mark, without_driver
from .watch_block import watch_lines

_PATH: dict[str, tuple[str, Style]] = {
    "gpu-path-used": ("✓ GPU path used", "pass"),
    "gpu-path-unused": ("✗ GPU path not used", "fail"),
    "gpu-wrong-results": ("✗ wrong results", "fail"),
    "unknown": ("? not proven", "unknown"),
}
_CUDA: dict[str, tuple[str, str, Style]] = {
    "cleared": ("✓", "CUDA compatibility is not a problem", "pass"),
    "suspect": ("▲", "CUDA compatibility may be the problem", "warn"),
    "unknown": ("?", "CUDA compatibility is not ruled out", "unknown"),
}


def measured_lines(report: Report, width: int, verbose: int) -> list[Line]:
    """The block of measurements: a headline for each device, then the figures of the first, the others in short.

    With -v every device, every operation and the driver's proof. Empty if nothing was measured.
    """
    m = report.snapshot.measured
    if known(m.level) is None:
        return []
    rows = [*headed(Span("Measured  ", "bold"), about(m), width)]
    found = path_of(report)
    used = [path for path in found if path.word == "gpu-path-used" and path.device.startswith("cuda")]
    for path in found:
        if verbose or path not in used[1:]:
            rows += _path(report, path, width)
    rows += _also(report, used[1:], width) if used[1:] and not verbose else []
    rows += meaning(report, width)
    rows += _driver(report, width, verbose, all(path.word == "gpu-path-used" for path in found))
    rows += _cpu_proof(m, width)
    blocks = watch_lines(report, width, verbose) if m.watch else []
    rows += [BLANK, *blocks] if blocks else []
    short = False
    for device in devices(m):
        block = in_short(report, device, width) if short else device_lines(report, device, width, verbose)
        rows += ([] if short else [BLANK]) + block if block else []
        short = short or (bool(block) and not verbose)  # the first that was measured in full, the others in short
    block = training_lines(report, width, verbose)
    rows += [BLANK, *block] if block else []
    block = links_lines(report, width, verbose)
    rows += [BLANK, *block] if block else []
    block = soak_lines(report, width)
    rows += [BLANK, *block] if block else []
    return rows + _ended(m, width, verbose)


def _path(report: Report, path: Path, width: int) -> list[Line]:
    words, style = _PATH[path.word]
    if path.device == "" and known(report.snapshot.measured.device) == "cpu":
        words, style = words.replace("✗", "-"), "dim"  # as asked
    proof = next((p for p in known(report.snapshot.measured.torch) or () if p.device == path.device), None)
    reason = path.reason
    if path.word == "gpu-path-used" and proof:
        name = name_of(report, path.device)
        reason = f"{path.device}{f' ({name})' if name else ''}: {evidence(proof)}"
    return headed(Span(f"{words}  ", style), reason, width)


def meaning(report: Report, width: int) -> list[Line]:
    """Whether CUDA is the cause of slowness, and what would help."""
    verdict = report.measured
    if verdict is None:
        return []
    rows: list[Line] = []
    if verdict.cuda_compatibility_reason and verdict.cuda_compatibility_reason != verdict.gpu_path_reason:
        sign, words, style = _CUDA[verdict.cuda_compatibility]
        rows += headed(Span(f"{sign} {words}  ", style), verdict.cuda_compatibility_reason, width)
    for advice in dict.fromkeys(verdict.advice):
        rows += wrap(advice, width, first=Span("▸ ", "bold"))
    return rows


def _also(report: Report, more: list[Path], width: int) -> list[Line]:
    """The other GPUs that were proved, in one line."""
    names = {path.device for path in more}
    proofs = [p for p in known(report.snapshot.measured.torch) or () if p.device in names]
    errors = [e for p in proofs for e in (known(p.matmul_error), known(p.conv_error)) if e is not None]
    words = ["also correct" + (f", error at most {max(errors):.1e}" if errors else "")]
    words += ["native code on all"] if proofs and all(known(p.code) == "native" for p in proofs) else []
    text = f"{', '.join(path.device for path in more)}: {'; '.join(words)}"
    return headed(Span("✓ GPU path used  ", "pass"), text, width)


def _driver(report: Report, width: int, verbose: int, well: bool) -> list[Line]:
    """The proof without torch: folded while all is well."""
    proofs = known(report.snapshot.measured.driver) or ()
    rows: list[Line] = []
    for proof in proofs:
        right = known(proof.right)
        if verbose or not well or not right:
            rows += wrap(driver_evidence(proof), width, "  ", first=mark(right), style="dim" if right else "")
    why = without_driver(report)
    return rows + (wrap(why, width, "  ", style="dim") if why else [])


def _cpu_proof(m: Measured, width: int) -> list[Line]:
    rows: list[Line] = []
    for proof in known(m.torch) or ():
        if proof.device == "cpu":
            right = known(proof.right)
            text = evidence(proof) if right else proof.error or "the results differ from float64"
            rows += wrap(f"cpu: {text}", width, "  ", first=mark(right or False))
    return rows


def _ended(m: Measured, width: int, verbose: int) -> list[Line]:
    """What is not in the figures, and why."""
    rows: list[Line] = []
    for end, text in ended(m):
        if end.fault == "skipped":
            rows += wrap(text, width, "  ", first=Span("- ", "dim"), style="dim")
        elif end.fault in ("slow", "starved"):
            rows += wrap(text, width, "  ", first=Span("? ", "unknown"))
        else:
            rows += wrap(text, width, "  ", first=Span("✗ ", "fail"))
    return [BLANK, line(Span("Not measured, or not as planned", "bold")), *rows] if rows else []
