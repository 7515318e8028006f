"""What `print spec` does: a spec from a good machine, with ranges that a person would choose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from compat_matrix.versions import numbers

from .. import __version__
from ..checks import _gpu_numbers
from ..findings import Finding, Policy
from ..findings.spec import VERSIONS, SpecLine
from ..findings.spec_facts import have, system_name
from ..guard import Refusal
from ..judge import load, run_check
from ..report.amounts import several
from ..snapshot import Snapshot, known
from .assess import assess, matrix_of
from .options import make_policy
from .write import echo, write

if TYPE_CHECKING:
    from compat_matrix import Matrix

_HEAD = """\
# A spec: what a team has agreed on. Compare a machine with it: gpudoctor check --spec FILE
# (or put these lines into gpudoctor.toml, where each check finds them). Written by gpudoctor {version} from {source}.
# "==2.9.*" allows every 2.9, ">=2.8,<2.10" allows 2.8 and 2.9 (PEP 440). Change the ranges, and delete what may differ.
"""
_ALSO = ("numpy", "triton", "torchvision", "torchaudio", "transformers", "accelerate", "deepspeed", "peft")
"""Packages in addition to those that the matrix knows."""
_WIDTH = 120


class Written(NamedTuple):
    """A line of the spec, and what the machine has."""

    line: SpecLine
    comment: str


def run_print_spec(from_: str | None, python: str | None, matrix: str | None, output: str | None) -> int:
    """Print the spec. Raises Refusal if nothing is known of the machine; tells on stderr if it is not a good one."""
    m = matrix_of({"matrix": matrix})
    if from_:
        from .saved import read_report

        saved = read_report(from_)
        s, policy = saved.snapshot, saved.policy
        day = s.target.gathered_at[:10]
        source = f"a report of {day}" if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else "a report"
    else:
        from .expected import look

        s, policy, source = look(python), make_policy(), "this machine"
    text = spec_text(s, m, source)
    if not text:
        raise Refusal("nothing is known here that could go into a spec")
    failed = [one.id for one in assess(s, m, policy).findings if one.status == "fail" and not one.cause]
    if failed:
        names = ", ".join(dict.fromkeys(failed))
        echo(f"gpudoctor: a spec is best written on a healthy machine, but this one fails {names}", err=True)
    write(text.encode(), output)
    return 0


def spec_text(s: Snapshot, m: Matrix, source: str) -> str:
    """The file; empty if no line can be written. Each line is met by the machine itself: the others are left out."""
    top = [one for one in _top(s) if _holds(s, m, one.line)]
    names = _packages(s, m)
    packages = [one for one in names if _holds(s, m, one.line)]
    if not top and not packages:
        return ""
    rows = [_HEAD.format(version=__version__, source=source), *_aligned(top)]
    left = [key for key in (*VERSIONS, "gpu", "os") if key not in {one.line.key for one in top}]
    rows += [f"# missing or unknown: {', '.join(left)}"] if left else []
    if packages:
        others = len({d.name for d in known(s.python.distributions) or ()}) - len(packages) - 1
        rows += ["", "[packages]", *_aligned(packages)]
        rows += [f"# {several(others, 'other package')} installed here may differ"] if others > 0 else []
    return "\n".join(rows) + "\n"


def _top(s: Snapshot) -> Iterator[Written]:
    for key in VERSIONS:
        version = have(s, SpecLine(key, ">=0"))
        if isinstance(version, str) and (line := _line(key, range_of(version, 1 if key == "driver" else 2))):
            note = f"{version}: branch {numbers(version)[0]}" if key == "driver" else version
            yield Written(line, f"{note}{_whose_cuda(s)}" if key == "cuda" else note)
    gpus = _gpus(s)
    if gpus and (line := _line("gpu", gpus[0])):
        yield Written(line, gpus[1])
    system, version = known(system_name(s)), known(s.host.os_version)
    if system and (line := _line("os", f"{system} {version or ''}".strip())):
        wsl = f", in WSL {s.host.wsl}" if known(s.host.wsl) else ""
        yield Written(line, f"{known(s.host.os_name) or system}{wsl}" if wsl else known(s.host.os_name) or "")


def _whose_cuda(s: Snapshot) -> str:
    if isinstance(s.torch.cuda, str):
        return " in torch"
    return " from nvcc" if isinstance(s.cuda.nvcc_version, str) else " from the image"


def _gpus(s: Snapshot) -> tuple[str, str] | None:
    """`8xH100 80GB HBM3` and a comment; the count alone where the models differ."""
    listed = _gpu_numbers.session(s)
    names = _gpu_numbers.usable(listed) if listed else None
    if not names:
        return None
    if len(set(names)) > 1 or not names[0]:
        return str(len(names)), "several models: " + ", ".join(sorted(set(filter(None, names))))
    return f"{len(names)}x{names[0].removeprefix('NVIDIA ')}", "part of the name is enough"


def _packages(s: Snapshot, m: Matrix) -> list[Written]:
    """Those that use the GPU or have to match what does."""
    wanted = {*_ALSO, *(row.package for row in m.extensions), *(row.package for row in m.frameworks)}
    found: dict[str, Written] = {}
    for d in known(s.python.distributions) or ():
        if d.name in wanted and d.name != "torch" and d.name not in found:
            line = _line("package", range_of(d.version, 2), d.name)
            found |= {d.name: Written(line, d.version)} if line else {}
    return [found[name] for name in sorted(found)]


def range_of(version: str, parts: int) -> str:
    """Every version that begins with as many numbers; one more while they are all 0."""
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(version).release
    except (InvalidVersion, ValueError):
        return ""
    while parts < len(release) and not any(release[:parts]):
        parts += 1
    return f"=={'.'.join(map(str, release[:parts]))}.*"


def _line(key: str, allowed: str, package: str = "") -> SpecLine | None:
    try:
        return SpecLine(key, allowed, package) if allowed else None
    except ValueError:  # a name with characters that no spec may hold
        return None


def _holds(s: Snapshot, m: Matrix, line: SpecLine) -> bool:
    findings: list[Finding] = run_check(load("spec-not-met"), s, m, Policy(spec=(line,))).findings
    return not findings


def _aligned(lines: list[Written]) -> list[str]:
    """`name = "range"  # what is here`, the comments under each other."""
    rows = [f"{_key(one.line.name)} = {_quoted(one.line.allowed)}" for one in lines]
    wide = max((len(row) for row in rows), default=0)
    comments = (" ".join(one.comment.split()) for one in lines)
    lines_ = [f"{row:<{wide}}  # {comment}" if comment else row for row, comment in zip(rows, comments, strict=True)]
    return [row if len(row) <= _WIDTH else f"{row[: _WIDTH - 3]}..." for row in lines_]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
