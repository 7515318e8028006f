"""The flags of `check`, `healthcheck` and `prove` as data, for click and for plain command lines, which need no click.

Importing click takes a fifth of the time of a whole check. `read_flags` reads a command line made only of flags that
are listed here, each with a plausible value; click handles everything else (help, a misspelling, an odd value).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

MIN_S, MAX_S = 0.1, 3600.0


class Flag(NamedTuple):
    """One option. kind: on (no value), count, text, many (repeatable), choice, seconds, number (above 0 to 100), json
    (--format json, written shorter)."""

    names: tuple[str, ...]
    dest: str
    kind: Literal["on", "count", "text", "many", "choice", "seconds", "number", "json"]
    help: str
    metavar: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()


_EXPECT = Flag(("--expect",), "expect", "text", "Expected GPUs: gpu (default), any, none, 8, H100 or 8xH100.", "WHAT")
_REQUIRE = Flag(("--require",), "require", "many", "This package must be installed and compatible. Repeatable.", "PKG")
_ONLY = Flag(("--only",), "only", "many", "Run only this check, and require a result. Repeatable.", "ID")
_SKIP = Flag(("--skip",), "skip", "many", "Skip this check. Repeatable.", "ID")
_STATUSES = ("fail", "unknown", "warn")
_FAIL_ON = Flag(
    ("--fail-on",), "fail_on", "choice", "Lowest status that causes exit code 1. Default: fail.", choices=_STATUSES
)
_PYTHON = Flag(("--python",), "python_", "text", "Diagnose this Python interpreter or environment.", "PATH")
_CONFIG = Flag(("--config",), "config", "text", "Read this gpudoctor.toml or pyproject.toml.", "FILE")
SPEC = Flag(
    ("--spec",), "spec", "many", "Compare with the versions in this TOML file (see print spec). Repeatable.", "FILE"
)
_NO_CONFIG = Flag(("--no-config",), "no_config", "on", "Do not search for a configuration file.", default=False)
GPU_FORMS = "NAME, 2xNAME, compute capability or PCI ID"
"""How a GPU may be given."""
HOSTS = (
    Flag(("--driver",), "drivers", "many", "Check against a host with this driver. Repeatable.", "VERSION"),
    Flag(("--gpu",), "gpus", "many", "With --driver: check every combination of driver and GPU.", "GPU"),
)
"""Described hosts to judge an image against."""
MATRIX = Flag(
    ("--matrix",), "matrix", "text", "Use this matrix (see matrix export) instead of the built-in one.", "PATH"
)
_FROM = Flag(("--from",), "from_", "text", "Diagnose a machine again from a saved report ('-' for stdin).", "REPORT")
_REPLAY = Flag(
    ("--replay",), "replay", "text", "Diagnose a recording from `gpudoctor record`, as of the day it was made.", "DIR"
)
OUTPUT = Flag(("-o", "--output"), "output", "text", "Write the output to this file instead of stdout.", "FILE")
_VERBOSE = Flag(
    ("-v", "--verbose"), "verbose", "count", "Show every check and all notes; -vv adds all facts and their sources.",
    default=0,
)  # fmt: skip
_ASCII = Flag(("--ascii",), "ascii_", "on", "ASCII only (text output).", default=False)
_NO_COLOR = Flag(("--no-color",), "no_color", "on", "No color (same as setting NO_COLOR).", default=False)
_QUIET = Flag(
    ("-q", "--quiet"), "quiet", "on", "Print only the verdict and the first step (text output).", default=False
)
DISPLAY = (_ASCII, _NO_COLOR, _QUIET)
"""How text on stdout looks."""
_JSON = Flag(("--json",), "json_", "json", "Same as --format json.")
SHORT = {"md": "markdown"}
"""What may be typed for a format, to its name."""


def answer_flags(*formats: str, words: str = "Default: text.") -> tuple[Flag, ...]:
    """How an answer is written; the first format is the default. `words`: help text for --format."""
    named = Flag(("-f", "--format"), "format_", "choice", words, default=formats[0], choices=formats)
    return (named, *((_JSON,) if "json" in formats else ()), OUTPUT, _ASCII, _NO_COLOR)


def report_flags(*formats: str, words: str = "Default: text.", quiet: str = "") -> tuple[Flag, ...]:
    """The same for a report, which has a verdict and steps. `quiet`: help text for a -q that prints anything else."""
    return (*answer_flags(*formats, words=words), _QUIET._replace(help=quiet) if quiet else _QUIET)


_NO_REDACT = Flag(
    ("--no-redact",),
    "no_redact",
    "on",
    "Show names, paths, addresses and UUIDs as they are; secrets stay masked.",
    default=False,
)
_FORMATS = ("text", "json", "markdown")
_MACHINES = ("sarif", "junit", "github")

CHECK = (
    *report_flags(*_FORMATS, "html", *_MACHINES),
    Flag(("--brief",), "brief", "on", "Markdown, at most 40 lines: cause, evidence, fix, versions.", default=False),
    _VERBOSE,
    Flag(("--no-import",), "no_import", "on", "Only read torch's files; do not import it.", default=False),
    Flag(
        ("--deep",), "deep", "on", "Compare all torch, CUDA and Triton files with the hashes in RECORD.", default=False
    ),
    Flag(("--prove",), "prove", "on", "Also compute on the GPU (prove --quick).", default=False),
    _PYTHON,
    Flag(
        ("--target",), "target", "text", "Examine docker:NAME, podman:NAME, ssh:HOST or kubectl:NAMESPACE/POD.", "WHERE"
    ),
    Flag(("--root",), "root", "text", "Examine this root file system (unpacked image) instead of this machine.", "DIR"),
    _FROM,
    _REPLAY,
    _EXPECT,
    _REQUIRE,
    _ONLY,
    _SKIP,
    _FAIL_ON,
    Flag(
        ("--building",),
        "building",
        "on",
        "Assume that CUDA extensions will be compiled on this machine.",
        default=False,
    ),
    SPEC,
    _CONFIG,
    _NO_CONFIG,
    MATRIX,
    Flag(
        ("--timeout",),
        "timeout",
        "seconds",
        "Time limit for the probes, in seconds (torch import: 3x; a slow probe: up to 5x its limit). Default: 20.",
        "S",
    ),
    _NO_REDACT,
)
PROVE = (
    Flag(("--quick",), "quick", "on", "Check results and rates, but not what limits training.", default=False),
    Flag(
        ("--full",), "full", "on", "Measure more, and longer (not --links, not --soak); takes several minutes.",
        default=False,
    ),
    Flag(("--links",), "links", "on", "Run collectives with one process per GPU (torchrun).", default=False),
    Flag(
        ("--nproc",), "nproc", "text",
        "With --links: number of processes on this node. Default: one per GPU; 2 on CPU.", "N",
    ),
    Flag(
        ("--nodes",), "nodes", "text",
        "With --links: all nodes; the first is the rendezvous host.", "HOST[:PORT],...",
    ),
    Flag(
        ("--ddp",), "ddp", "on",
        "With --links: also train with DDP (on GPUs: with and without peer-to-peer).", default=False,
    ),
    Flag(
        ("--teach",), "teach", "on",
        "With --links: run one all-reduce with three algorithms and count the bytes per link.", default=False,
    ),
    Flag(("--device",), "device", "text", "cuda (default: every visible GPU), cuda:N,M or cpu.", "DEVICE", "cuda"),
    _PYTHON,
    *report_flags(*_FORMATS, "html", "svg"),
    Flag(("--plot",), "plot", "text", "Also write plots to this .svg or .html file.", "FILE"),
    _VERBOSE,
    _FROM,
    _REPLAY,
    _EXPECT,
    _REQUIRE,
    _ONLY,
    _SKIP,
    _FAIL_ON,
    _CONFIG,
    _NO_CONFIG,
    MATRIX,
    Flag(
        ("--timeout",), "timeout", "seconds",
        "Time limit for all measurements together, in seconds; those that do not fit are skipped. "
        "Default: 240 (--quick: 120, --full: 600, --links: 300).", "S",
    ),
    Flag(("--soak",), "soak", "seconds", "Afterwards, keep every GPU under full load for this many seconds.", "S"),
    Flag(("--baseline",), "baseline", "text", "Compare rates with this earlier JSON report from prove.", "REPORT"),
    Flag(
        ("--regression-percent",), "regression_percent", "number",
        "With --baseline: exit 1 if a rate drops by at least this much (launches: at least 50) to a range that does "
        "not overlap the earlier one, unless another program uses the GPU. Default: 10.", "PERCENT",
    ),
    _NO_REDACT,
)  # fmt: skip
_OF_A_TEXT = (
    "format_", "json_", "brief", "output", "quiet", "verbose", "ascii_", "no_color", "expect", "require", "only",
    "skip", "fail_on", "building", "config", "matrix", "no_redact",
)  # fmt: skip
EXPLAIN = tuple(flag for flag in CHECK if flag.dest in _OF_A_TEXT)
HEALTH_FORMATS = ("line", "prometheus", "node-problem-detector")
HEALTHCHECK = (
    Flag(
        ("-f", "--format"),
        "format_",
        "choice",
        "line; prometheus (textfile collector); node-problem-detector (exit 0, 1, or 2 for unknown).",
        default="line",
        choices=HEALTH_FORMATS,
    ),
    OUTPUT,
    _EXPECT,
    _REQUIRE,
    _SKIP,
    SPEC,
    Flag(("--strict",), "strict", "on", "Also exit 1 on UNKNOWN.", default=False),
    Flag(("--prove",), "prove", "on", "Also compute on every GPU and compare the results.", default=False),
    _PYTHON,
    _FROM,
    _CONFIG,
    _NO_CONFIG,
    MATRIX,
    Flag(("--timeout",), "timeout", "seconds", "Total time limit in seconds. Default: 10 (--prove: 60).", "S"),
)


def read_flags(flags: Sequence[Flag], arguments: Sequence[str]) -> dict[str, Any] | None:
    """Values by name, or None if click has to parse the command line."""
    known = {name: flag for flag in flags for name in flag.names}
    values: dict[str, Any] = {flag.dest: () if flag.kind == "many" else flag.default for flag in flags}
    json = values.pop("json_", False)
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word in ("-vv", "-vvv") and "-v" in known:
            values["verbose"] += len(word) - 1
            continue
        flag = known.get(name)
        if flag is None:
            return None
        if flag.kind in ("on", "count", "json"):
            if equals:
                return None
            if flag.kind == "json":
                json = True
                continue
            values[flag.dest] = True if flag.kind == "on" else values[flag.dest] + 1
            continue
        if not equals:
            if not rest or (rest[0].startswith("-") and rest[0] != "-"):
                return None
            value = rest.pop(0)
        if not _take(values, flag, value):
            return None
    return None if contradiction(values, bool(json)) else values


def contradiction(values: dict[str, Any], json: bool) -> str:
    """Puts what --json says (`json`) into the values; a sentence about flags that cannot be combined, or ''."""
    if json:
        if values["format_"] not in ("text", "json"):
            return f"--json cannot be used with --format {values['format_']}"
        values["format_"] = "json"
    if values.get("quiet"):
        if values.get("verbose"):
            return "--quiet cannot be used with --verbose"
        if values.get("brief") or values["format_"] != "text":
            return (
                f"--quiet is for text output: it cannot be used with {'--brief' if values.get('brief') else '--format'}"
            )
    return ""


def _take(values: dict[str, Any], flag: Flag, value: str) -> bool:
    if flag.kind == "many":
        values[flag.dest] = (*values[flag.dest], value)
    elif flag.kind == "seconds":
        if not value.isascii() or not value.isdecimal() or not MIN_S <= int(value) <= MAX_S:
            return False
        values[flag.dest] = float(value)
    elif flag.kind == "number":
        return False
    else:
        if flag.kind == "choice" and (value := SHORT.get(value, value)) not in flag.choices:
            return False
        values[flag.dest] = value
    return True
