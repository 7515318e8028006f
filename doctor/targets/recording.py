"""A recording: the raw lines of every source in a folder, as JSON lines, and a manifest.

files.jsonl holds the file gatherer's lines; nvml.jsonl, cuda_driver.jsonl, unlisted_gpus.jsonl, python.jsonl and
torch.jsonl hold an agent's lines and a last line {"agent_end": {returncode, fault, guilty, stderr_tail, seconds,
noise}}. The sources of a proof hold one such run after the other: where a device hangs, the next child goes on. A
source not asked has no file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from .agent import AgentResult, Fault
from .json_lines import parse_line
from .local import Line

if TYPE_CHECKING:
    from pathlib import Path  # at run time imported where a recording is read or written: check does not need it

SCHEMA_VERSION = 1
AGENTS = ("cuda_driver", "nvml", "unlisted_gpus", "python", "torch")
PROOF = ("proof", "driver_proof", "torch_proof", "collective_proof", "torch_speed", "training_speed", "torch_soak",
         "nvml_sampler")  # fmt: skip
"""`proof` is what was left out, and why; the others are agents."""
_MANIFEST, _PART = "manifest.json", ".part"
_NAMES = frozenset({_MANIFEST, *(f"{name}.jsonl" for name in ("files", *AGENTS, *PROOF))})
_MAX_MANIFEST = 1 << 20
_MAX_RUNS = 1000
_MAX_BYTES = 64 << 20
_MAX_LINE = 8 << 20
_END = "agent_end"
_FAULTS = ("hang", "crash", "failed")


class RecordingError(Exception):
    """The folder is not a recording that can be read; the message is one line."""


class Recording:
    """`files`: lines of the file gatherer, None if files were not asked; `agents`: results by name; `manifest`;
    `proof`: the runs of each source of a proof."""

    def __init__(
        self,
        files: list[Line] | None = None,
        agents: dict[str, AgentResult] | None = None,
        manifest: dict[str, Any] | None = None,
        proof: dict[str, list[AgentResult]] | None = None,
    ) -> None:
        self.files = files
        self.agents = agents or {}
        self.manifest = manifest or {}
        self.proof = proof or {}


def foreign_name(folder: str) -> str:
    """The first name in this folder that is no file of a recording; '' if there is none, or no folder.

    A recording consists of plain files: a link of such a name leads to somebody's file. Raises OSError.
    """
    from pathlib import Path
    from stat import S_ISREG

    base = Path(folder)
    try:
        names = sorted(path.name for path in base.iterdir())
    except FileNotFoundError:
        return ""
    for name in names:
        if name.removesuffix(_PART) not in _NAMES or not S_ISREG((base / name).lstat().st_mode):
            return name
    written = [name for name in names if not name.endswith(_PART)]
    return "" if not written or _is_ours(base / _MANIFEST) else written[0]


def is_recording(folder: str) -> bool:
    """Whether `gpudoctor record` wrote this folder."""
    from pathlib import Path

    return _is_ours(Path(folder) / _MANIFEST)


def _is_ours(path: Path) -> bool:
    """Whether `write_recording` wrote this manifest: other tools have files of that name too."""
    try:
        with _plain(path) as file:
            manifest = parse_line(file.read(_MAX_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and {"schema_version", "redacted"} <= manifest.keys()


def write_recording(folder: str, recording: Recording, redact: Callable[[Any], Any] | None = None) -> None:
    """Write all files; those of an older recording are replaced as a whole, once all new ones are written.

    `redact` gets everything at once, as dicts and lists, so that masks agree; without it the files are for their
    owner alone. Raises OSError.
    """
    from pathlib import Path

    base = Path(folder)
    base.mkdir(0o777 if redact is not None else 0o700, parents=True, exist_ok=True)
    content: dict[str, Any] = {
        "manifest": {"schema_version": SCHEMA_VERSION, **recording.manifest, "redacted": redact is not None},
        "sources": {name: _lines(result) for name, result in recording.agents.items()},
    }
    for name, runs in recording.proof.items():
        content["sources"][name] = [line for result in runs for line in _lines(result)]
    if recording.files is not None:
        content["sources"]["files"] = recording.files
    if redact is not None:
        content = redact(content)
    import json  # only what is written needs it

    texts = {f"{name}.jsonl": [json.dumps(line) + "\n" for line in lines] for name, lines in content["sources"].items()}
    texts[_MANIFEST] = [json.dumps(content["manifest"], indent=1) + "\n"]
    try:
        for name, lines in texts.items():
            _create(base / (name + _PART), lines, 0o666 if redact is not None else 0o600)
        for name in texts:
            (base / (name + _PART)).replace(base / name)
    except OSError:
        for name in texts:
            (base / (name + _PART)).unlink(missing_ok=True)
        raise
    for name in _NAMES - texts.keys():  # a proof that the new recording does not have would be read as its own
        (base / name).unlink(missing_ok=True)


def _create(path: Path, lines: list[str], mode: int) -> None:
    """A new file: what has its name is one that an interrupted run left, never a link to follow."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path, flags, mode), "w", encoding="utf-8") as file:
        file.writelines(lines)


def _lines(result: AgentResult) -> list[Line]:
    end = result.as_dict()
    lines: list[Line] = end.pop("lines")
    return [*lines, {_END: end}]


def read_recording(folder: str) -> Recording:
    """Read a folder that `write_recording` wrote. Raises RecordingError on anything else."""
    from pathlib import Path

    base = Path(folder)
    try:
        with _plain(base / _MANIFEST) as file:
            manifest = parse_line(file.read(_MAX_MANIFEST))
    except FileNotFoundError:
        raise RecordingError(f"{folder} is not a recording (manifest.json is missing)") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RecordingError(f"manifest.json of {folder} cannot be read: {_one_line(error)}") from None
    version = manifest.get("schema_version") if isinstance(manifest, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise RecordingError(f"manifest.json of {folder} has no schema_version")
    if version > SCHEMA_VERSION:
        raise RecordingError(f"{folder} was recorded by a newer gpudoctor (schema {version}); update gpudoctor")
    files = base / "files.jsonl"
    recording = Recording(list(_read(files)) if files.exists() else None, {}, manifest)
    for name in AGENTS:
        path = base / f"{name}.jsonl"
        if path.exists():
            recording.agents[name] = _result(list(_read(path)))
    for name in PROOF:
        path = base / f"{name}.jsonl"
        if path.exists():
            recording.proof[name] = _runs(_read(path), name)
    return recording


def _read(path: Path) -> Iterator[Line]:
    name = path.name
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise RecordingError(f"{name} is larger than {_MAX_BYTES >> 20} MiB")
        with _plain(path) as file:
            while True:
                data = file.readline(_MAX_LINE)
                if not data:
                    return
                value = parse_line(data)
                if not isinstance(value, dict):
                    raise RecordingError(f"{name} has a line that is not a JSON object")
                yield value
    except (OSError, ValueError, RecursionError) as error:
        raise RecordingError(f"{name} cannot be read: {_one_line(error)}") from None


def _plain(path: Path) -> BinaryIO:
    """A regular file, opened without waiting for a writer of a pipe. Raises OSError on anything else."""
    from stat import S_ISREG

    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))  # noqa: SIM115
    if not S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("it is not a regular file")
    return file


def _runs(lines: Iterator[Line], name: str) -> list[AgentResult]:
    runs: list[AgentResult] = []
    run: list[Line] = []
    for line in lines:
        run.append(line)
        if _END in line:
            runs.append(_result(run))
            run = []
        if len(runs) > _MAX_RUNS:
            raise RecordingError(f"{name}.jsonl holds more than {_MAX_RUNS} runs")
    return [*runs, _result(run)] if run else runs


def _result(lines: list[Line]) -> AgentResult:
    end = lines.pop().get(_END) if lines and _END in lines[-1] else None
    row = end if isinstance(end, dict) else {"fault": "failed"}
    code, fault, guilty = row.get("returncode"), row.get("fault"), row.get("guilty")
    noise = row.get("noise")
    return AgentResult(
        lines,
        code if isinstance(code, int) else None,
        cast("Fault", fault) if fault in _FAULTS else None,
        guilty if isinstance(guilty, str) else None,
        str(row.get("stderr_tail") or ""),
        _seconds(row.get("seconds")),
        [text for text in noise if isinstance(text, str)] if isinstance(noise, list) else [],
        _stuck(row.get("stuck")),
        silent=_seconds(row.get("silent")),
    )


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e9 else 0.0


def _stuck(row: object) -> Line | None:
    if not isinstance(row, dict) or not isinstance(row.get("pid"), int) or not isinstance(row.get("wchan"), str):
        return None
    return {"pid": row["pid"], "wchan": row["wchan"]}


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
