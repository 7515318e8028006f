"""The calls: each runs the command, and reads what it prints as JSON."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TypeVar

import msgspec

from ._values import Refused, Report, Resolution

T = TypeVar("T")


def check(
    *,
    expect: str | None = None,
    require: Iterable[str] = (),
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    python: str | PathLike[str] | None = None,
    import_torch: bool = True,
    prove: bool = False,
    source: str | PathLike[str] | None = None,
    target: str | None = None,
    timeout_s: float | None = None,
) -> Report:
    """Diagnose this machine and the Python that calls it, as `gpudoctor check` does.

    `expect`: gpu, any, none, 8, H100 or 8xH100. `require`: packages that must be there and fit. `only`, `skip`: ids of
    checks. `python`: another interpreter or environment. `source`: a saved JSON report, judged again. `target`:
    docker:NAME, podman:NAME, ssh:HOST or kubectl:NAMESPACE/POD. `prove`: compute on the GPU too. `timeout_s`: seconds
    for the probes. What is not given comes from the project's gpudoctor.toml. Names and addresses are masked.

    Raises Refused with the command's one line.
    """
    words = flag("--expect", expect) + many("--require", require) + many("--only", only) + many("--skip", skip)
    words += ["--prove"] * prove + ["--no-import"] * (not import_torch)
    words += flag("--target", target) + flag("--timeout", None if timeout_s is None else f"{timeout_s:g}")
    if source is not None:
        words += flag("--from", str(source))
    elif target is None:
        words += flag("--python", str(python or sys.executable))
    return run(["check", *words], Report)


def explain(text: str, *, expect: str | None = None, only: Iterable[str] = (), skip: Iterable[str] = ()) -> Report:
    """Diagnose a text: an error, a log, the output of nvidia-smi or collect_env, a sentence; as `gpudoctor explain -`.

    Raises Refused with the command's one line.
    """
    words = flag("--expect", expect) + many("--only", only) + many("--skip", skip)
    return run(["explain", "-", *words], Report, text)


def resolve(
    *wishes: str,
    gpus: Sequence[str] | str = (),
    driver: str | None = None,
    python: str | None = None,
    os: str | None = None,
    arch: str | None = None,
) -> Resolution:
    """What to install on this machine, or on one told in words, as `gpudoctor resolve` does; offline.

    `wishes`: torch==2.8, vllm ... `gpus`: 'RTX 5090', 'A100' or a PCI id. `driver`: a version, a branch or none.
    `python`: 3.12. `os`: linux, windows or wsl. `arch`: x86_64 or aarch64.

    Raises Refused with the command's one line.
    """
    words = many("--gpu", gpus) + flag("--driver", driver) + flag("--python", python)
    return run(["resolve", *words, *flag("--os", os), *flag("--arch", arch), "--", *wishes], Resolution)


def flag(name: str, value: str | None) -> list[str]:
    """The word of an option, which no value can turn into another option; none where it is not given."""
    return [] if value is None else [f"{name}={value}"]


def many(name: str, values: Iterable[str]) -> list[str]:
    """The words of an option that may be given several times."""
    values = [values] if isinstance(values, str) else values
    return [f"{name}={value}" for value in values]


def run(words: list[str], kind: type[T], text: str = "") -> T:
    """The command's JSON as a value. `--` and what follows it stay at the end. Raises Refused."""
    at = words.index("--") if "--" in words else len(words)
    command = [sys.executable, "-m", "gpudoctor", *words[:at], "--format", "json", *words[at:]]
    data = text.encode("utf-8", "surrogateescape")
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if not done.stdout:
        line = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Refused(line.removeprefix("gpudoctor: ") or f"gpudoctor ended with {done.returncode} and no report")
    return msgspec.json.decode(done.stdout, type=kind)
