"""The public functions: each runs the command and reads its JSON output."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TypeVar

import msgspec

from ._values import Comparison, Refused, Report, Resolution

T = TypeVar("T")


def check(
    *,
    expect: str | int | None = None,
    require: Iterable[str] = (),
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    python: str | PathLike[str] | None = None,
    import_torch: bool = True,
    prove: bool = False,
    source: str | PathLike[str] | None = None,
    target: str | None = None,
    timeout_s: float | None = None,
    spec: Iterable[str | PathLike[str]] | str | PathLike[str] = (),
) -> Report:
    """Diagnose this machine and the Python that calls it, as `gpudoctor check` does.

    `expect`: gpu, any, none, 8, H100 or 8xH100. `require`: packages that must be installed and compatible. `only`,
    `skip`: check ids. `python`: a different interpreter or environment. `source`: a saved JSON report, judged again.
    `target`: docker:NAME, podman:NAME, ssh:HOST or kubectl:NAMESPACE/POD. `prove`: also compute on the GPU.
    `timeout_s`: seconds for the probes. `spec`: files that state versions, as `print spec` writes them. What is not
    given comes from the project's gpudoctor.toml. Names and addresses are masked.

    Raises Refused with the command's one-line message.
    """
    words = flag("--expect", expect) + many("--require", require) + many("--only", only) + many("--skip", skip)
    words += ["--prove"] * prove + ["--no-import"] * (not import_torch)
    words += flag("--target", target) + flag("--timeout", timeout_s) + many("--spec", spec)
    if source is not None:
        words += flag("--from", source)
    elif target is None:
        words += flag("--python", python or sys.executable)
    return run(["check", *words], Report)


def compare(
    old: str | PathLike[str],
    new: str | PathLike[str] | None = None,
    *,
    expect: str | int | None = None,
    require: Iterable[str] = (),
    ignore: Iterable[str] = (),
    python: str | PathLike[str] | None = None,
    import_torch: bool = True,
    target: str | None = None,
) -> Comparison:
    """What changed between two reports, and which change explains what is broken now, as `gpudoctor compare` says it.

    `old`, `new`: a saved JSON report, a recording's folder or a node of a fleet's database (now.db:NODE); without `new`
    this machine, or `target`. `ignore`: facts to leave out of the lists. The rest as in `check`.

    Raises Refused with the command's one-line message.
    """
    words = flag("--expect", expect) + many("--require", require) + many("--ignore", ignore)
    words += ["--no-import"] * (not import_torch) + flag("--target", target)
    if new is None and target is None:
        words += flag("--python", python or sys.executable)
    sides = [_word("a report", side) for side in (old, new) if side is not None]
    return run(["compare", *words, "--", *sides], Comparison)


def explain(
    text: str, *, expect: str | int | None = None, only: Iterable[str] = (), skip: Iterable[str] = ()
) -> Report:
    """Diagnose a text (an error, a log, nvidia-smi or collect_env output, a sentence), as `gpudoctor explain -` does.

    Raises Refused with the command's one-line message.
    """
    if isinstance(text, (bytes, bytearray)):
        text = text.decode("utf-8", "surrogateescape")
    if not isinstance(text, str):
        raise Refused(f"expected text, not {type(text).__name__}")
    words = flag("--expect", expect) + many("--only", only) + many("--skip", skip)
    return run(["explain", "-", *words], Report, text)


def resolve(
    *wishes: str,
    gpus: Sequence[str] | str = (),
    driver: str | int | None = None,
    python: str | None = None,
    os: str | None = None,
    arch: str | None = None,
) -> Resolution:
    """What to install on this machine, or on one you describe, as `gpudoctor resolve` does; offline.

    `wishes`: torch==2.8, vllm ... `gpus`: 'RTX 5090', 'A100' or a PCI id. `driver`: a version, a branch or none.
    `python`: 3.12. `os`: linux, windows or wsl. `arch`: x86_64 or aarch64.

    Raises Refused with the command's one-line message.
    """
    words = many("--gpu", gpus) + flag("--driver", driver) + flag("--python", python)
    words += flag("--os", os) + flag("--arch", arch)
    return run(["resolve", *words, "--", *(_word("a wish", wish) for wish in wishes)], Resolution)


def flag(name: str, value: object) -> list[str]:
    """The option as one word, which no value can turn into another option; nothing if it is not given."""
    return [] if value is None else [f"{name}={_word(name, value)}"]


def many(name: str, values: Iterable[object] | str | PathLike[str] | None) -> list[str]:
    """The words of a repeatable option; a single string or number is one value."""
    if values is None:
        return []
    if isinstance(values, (str, PathLike, int, float)) or not isinstance(values, Iterable):
        values = [values]
    return [f"{name}={_word(name, value)}" for value in values]


def _word(name: str, value: object) -> str:
    """A value as it would be typed. Raises Refused if it is not text, a path or a number."""
    if isinstance(value, (str, PathLike, int, float)) and not isinstance(value, bool):
        word = str(value)
        if "\0" not in word:
            return word
    raise Refused(f"{name}: {value!r:.80} is not text, a number or a path")


def run(words: list[str], kind: type[T], text: str = "") -> T:
    """The command's JSON as a value. `--` and what follows it stay at the end. Raises Refused."""
    at = words.index("--") if "--" in words else len(words)
    command = [sys.executable, "-m", "gpudoctor", *words[:at], "--format", "json", *words[at:]]
    data = text.encode("utf-8", "surrogateescape")
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if not done.stdout:
        line = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Refused(
            line.removeprefix("gpudoctor: ") or f"gpudoctor exited with code {done.returncode} without a report"
        )
    return msgspec.json.decode(done.stdout, type=kind)
