"""The report: one verdict, the same in every format."""

from __future__ import annotations

from shlex import quote
from typing import Literal, TypeAlias

from msgspec import Struct

from .. import __version__
from ..findings import Finding, Policy, Quote, SkipKind, Status
from ..findings.pace import Pace
from ..findings.spec import files_of
from ..snapshot import Similar, Snapshot, Target

REPORT_SCHEMA_VERSION = 1

Verdict: TypeAlias = Literal["pass", "warn", "fail", "unknown"]


class MatrixRow(Struct, frozen=True):
    """A row of the matrix that a check's result is based on."""

    table: str
    row: str
    """What tells it from the others of its table: `2.8.0 cu128 linux_x86_64`."""
    source: str
    """Where the fact was read, with the edition or day where it has one."""
    confidence: str
    """measured, documented, derived or memory."""


class CheckResult(Struct, frozen=True, kw_only=True):
    """What became of one check."""

    id: str
    status: Status
    words: str = ""
    """What it found, as text: its finding's or note's title, or what is sound; empty if it could not judge."""
    remarked: bool = False
    """It passed, with an info remark."""
    reason: str = ""
    """Why it is unknown or skipped; empty otherwise."""
    skip: SkipKind | Literal[""] = ""
    """Of a skip its kind: does-not-apply, or not-examined if something expected could not be examined."""
    lines: tuple[int, ...] = ()
    """Of a pasted text: numbers of the lines that its findings and remarks stand on."""
    duration_ms: float = 0.0
    rows: tuple[MatrixRow, ...] = ()
    """Of the matrix: what it looked up, the first twelve; empty if it is based only on the machine's facts."""


class Tool(Struct, frozen=True):
    name: str
    version: str


OURS = Tool("gpudoctor", __version__)
"""This program, as its reports name it: a verdict of another one is not its own, whatever its version."""


class MatrixInfo(Struct, frozen=True):
    version: str
    schema_version: int
    notes: tuple[str, ...] = ()
    """What a reader should know of it: it is not the built-in one (and in what it differs), it is old, or the verdict
    used a table that is due for newer releases."""
    overdue: str = ""
    """Which tables are, where the verdict used none of them."""


class Need(Struct, frozen=True, kw_only=True):
    """What would decide where a text does not: a command to run on the machine that it comes from."""

    command: str
    why: str
    decides: tuple[str, ...] = ()
    """Ids of the checks that it decides."""


class ProgramMessage(Struct, frozen=True, kw_only=True):
    """A message that speaks of the program, or of nothing at all, and not of the environment."""

    line: int
    means: str
    fix: str = ""
    command: str = ""


class Answer(Struct, frozen=True):
    """What the matrix answers to a question in the text, or what decides it; and a command for it (or none)."""

    text: str
    command: str = ""


class PossibleCause(Struct, frozen=True, kw_only=True):
    """A cause that a text allows and does not prove."""

    id: str
    probability: float
    """From 0 to 1: how often such a call was right in cases that the ranker had not seen."""
    line: int = 0
    """The line that weighs most for it; 0 if none does."""
    text: str = ""
    """That line, cut."""


class MessageCauses(Struct, frozen=True, kw_only=True):
    """What a message of the text means: the causes that it is known to come from and that the text's facts do not rule
    out; for an Xid code also what NVIDIA's catalog asks for, whatever the cause."""

    line: int
    means: str
    """What the message says, as part of a sentence."""
    causes: tuple[str, ...]
    """Ids of checks."""
    fix: str = ""
    """What to do about it, whatever the cause."""


class TextReport(Struct, frozen=True, kw_only=True):
    """What only the report of a pasted text has."""

    open: Literal["", "not-proven", "undecided", "unknown-error", "sound"] = ""
    """What an unknown verdict leaves open: the likely cause is not proven, none is decided, an error that no message
    explains, or nothing that the text shows. Empty if the verdict is another one."""
    errors: tuple[Quote, ...] = ()
    """The first lines that say that something is wrong, where nothing decided what."""
    unknown_errors: tuple[int, ...] = ()
    """Numbers of the lines with an error that no message explains."""
    of_program: tuple[ProgramMessage, ...] = ()
    answers: tuple[Answer, ...] = ()
    """Of a short text that reports no error and asks: whether this torch runs there, which CUDA a driver has."""
    possible: tuple[PossibleCause, ...] = ()
    """The causes of `possible`, in that order, with their probabilities."""
    nothing: float = 0.0
    """The probability that nothing of the environment is wrong."""
    messages: tuple[MessageCauses, ...] = ()
    """Of an unknown verdict: the messages whose causes or meaning are known, in the order of the text."""
    similar: tuple[Similar, ...] = ()
    """Solved threads whose text is like this one, the nearest first."""


class BatchVerdict(Struct, frozen=True, kw_only=True):
    """What bounds a training step at one batch of the sweep."""

    device: str
    batch: int
    bound: Literal["launch", "cpu", "copy", "memory", "compute", "dataloader"]
    gpu_percent: float | None = None
    """Share of the step in which the GPU had work."""


class Expected(Struct, frozen=True, kw_only=True):
    """What a measured rate should be by the matrix. basis: measured (on this model), peak (a share of it)."""

    device: str
    kind: str
    what: str
    low: float
    typical: float
    high: float
    peak: float
    """Dense peak, nameplate bandwidth or the link's rate; 0 if not listed."""
    unit: str
    basis: Literal["measured", "peak"]
    reason: str = ""


class MeasuredVerdict(Struct, frozen=True, kw_only=True):
    """What the measurements say together."""

    gpu_path: Literal["gpu-path-used", "gpu-path-unused", "gpu-wrong-results", "unknown"]
    gpu_path_reason: str
    cuda_compatibility: Literal["cleared", "suspect", "unknown"]
    cuda_compatibility_reason: str
    batches: tuple[BatchVerdict, ...] = ()
    crossover_batch: dict[str, int] = {}
    """Device to the smallest batch from which on the GPU sets the time; a device that is missing reaches none."""
    watch_bound: Pace | None = None
    watch_reason: str = ""
    expected: tuple[Expected, ...] = ()
    advice: tuple[str, ...] = ()
    """Sentences, the most useful first."""


class Report(Struct, frozen=True, kw_only=True):
    """What `--format json` prints; `gpudoctor schema` prints its JSON Schema."""

    schema_version: int = REPORT_SCHEMA_VERSION
    tool: Tool
    matrix: MatrixInfo
    generated_at: str
    """ISO 8601, UTC."""
    target: Target
    policy: Policy
    verdict: Verdict
    exit_code: int
    redacted: bool = False
    findings: tuple[Finding, ...] = ()
    """Root cause first."""
    not_silenced: tuple[str, ...] = ()
    """Ids of checks whose failure or required unknown a found configuration would silence, and may not."""
    remarks: tuple[Finding, ...] = ()
    """Info: never changes the verdict."""
    checks: tuple[CheckResult, ...] = ()
    needs: tuple[Need, ...] = ()
    """Of a pasted text that leaves the cause open; else empty."""
    possible: tuple[str, ...] = ()
    """Ids of checks whose cause the text allows but does not prove, likeliest first."""
    likely: str = ""
    """Id of the finding of a text that is called likely but not proven; empty if there is none."""
    text: TextReport | None = None
    """Of a pasted text; None if something else was judged."""
    measured: MeasuredVerdict | None = None
    """Of a proof or a watched run; None if nothing was measured."""
    snapshot: Snapshot

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the configuration and of the matrix, without the full stop."""
        return (*self.config_notes, *self.matrix.notes)

    @property
    def config_notes(self) -> tuple[str, ...]:
        """Those of the configuration alone, for outputs that have no place for them."""
        return config_notes(self.policy, self.not_silenced)


def config_notes(policy: Policy, not_silenced: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The configuration file that counted, what of it did not count, and how to let it."""
    notes = [f"Configured by {policy.config}"] if policy.config else []
    if policy.found:
        name = policy.found.path
        notes.append(f"Configured by {name}, which was found here but is not trusted")
        lost = [*policy.found.ignored]
        lost += [f"silencing {', '.join(not_silenced)}"] if not_silenced else []
        if lost:
            notes.append(
                f"Ignored in {name}: {'; '.join(lost)}. If the file is yours, run: gpudoctor trust {quote(name)}"
            )
    if policy.spec:
        files = files_of(policy.spec)
        lines = "1 line" if len(policy.spec) == 1 else f"{len(policy.spec)} lines"
        source = f" from {', '.join(files)}" if files else ""
        notes.append(f"Compared with a spec ({lines}{source})")
    return tuple(notes)
