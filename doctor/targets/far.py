"""Another machine or container that is asked by one text sent to its Python: docker, podman, ssh, kubectl.

Names reach no shell and no option: each is held against the grammar of its kind before anything is started.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from typing import Any, NamedTuple

from msgspec import Struct, ValidationError, convert

from .agent import TAIL_LIMIT, AgentResult
from .assembled import assembled
from .far_refusals import refusal
from .far_target import FarTarget, Unreachable
from .fed import Fed, run_fed
from .json_lines import parse_line

_OLD = """\
import sys
sys.dont_write_bytecode = True
if sys.version_info < (3, 8):
    print('{"old": "%d.%d"}' % sys.version_info[:2])
    sys.exit()
"""
"""Asked before anything that an old Python could not read. Nothing that is imported there leaves a compiled form."""
_MOST_BYTES, _MOST_OBJECTS = 32 << 20, 1_000_000
"""Of an answer: far over what the largest machine gives."""
_MOST_S, _INSPECT_S = 1e6, 20.0
_MARGIN_S = 20.0
_MOST_CLOCK = 4e9


def sent(settings: dict[str, Any], agent: str = "far") -> str:
    """The one text: the version is asked before anything that an old Python could not read."""
    binding = find_spec("pynvml")
    text = ""
    if binding is not None and binding.origin:
        with open(binding.origin, encoding="utf-8") as file:
            text = file.read()
    torch = assembled("torch_facts") if settings.pop("torch") else ""
    bound = (
        f"_t = {text!r}\nif _t:\n    _b = sys.modules['pynvml'] = type(sys)('pynvml')\n    _b.__file__ = 'pynvml.py'\n"
        "    exec(compile(_t, 'pynvml.py', 'exec'), _b.__dict__)\n"
    )
    return _OLD + bound + assembled(agent, json.dumps({**settings, "torch": torch}))


def ask(target: FarTarget, limit_s: float, torch: bool) -> tuple[list[dict[str, Any]], dict[str, AgentResult]]:
    """Lines of the file gatherer and what each agent said. Raises Unreachable with one line.

    What came before a cut is kept: then there is no `end` line, as after a hang.
    """
    text = sent({"limit_s": limit_s, "torch": torch})
    failed: Unreachable | None = None
    for python in ("python3", "python"):
        fed = _run(target.command(python), text.encode(), 4 * limit_s + _MARGIN_S)
        if fed.too_much:
            raise Unreachable(
                f"{target}: sent over {_MOST_BYTES >> 20} MiB of data that is not an answer", unknown=True
            )
        found = _lines(str(target), fed.out)
        if any(line.hello is not None for line in found):
            return _sorted(found, fed.late)
        old = next((line.old for line in found if line.old), "")
        failed = refusal(target, old, fed.code, fed.err.decode("utf-8", "replace"), fed.late)
        if not failed.python:
            break
    assert failed is not None
    raise failed


class _Line(Struct):
    """One line of the agent `far`; another object, as a login's greeting may have it, is one without any of these."""

    hello: Any = None
    old: str = ""
    file: dict[str, Any] | None = None
    agent: str = ""
    line: dict[str, Any] | None = None
    end: int | None = None
    stderr: str = ""
    seconds: float | None = None
    hung: bool | None = None
    bye: Any = None
    clock: float | None = None


def _run(command: list[str], data: bytes, limit_s: float) -> Fed:
    """Raises Unreachable if it cannot be started."""
    try:
        return run_fed(command, data, limit_s, _MOST_BYTES)
    except FileNotFoundError:
        raise Unreachable(f"the command {command[0]} is not on PATH") from None
    except OSError as error:
        raise Unreachable(f"cannot start {command[0]}: {error.strerror}") from None


class Gathered(NamedTuple):
    """What the agent far_answer gathered on a node."""

    files: list[dict[str, Any]]
    agents: dict[str, AgentResult]
    clock: float
    """The node's own, as it gave its answer: seconds since 1970 UTC; 0 if it gave none."""


def read_answer(name: str, out: bytes) -> Gathered:
    """Raises Unreachable with one line if these bytes are no answer of far_answer."""
    found = _lines(name, out)
    if not any(line.hello is not None for line in found):
        raise Unreachable(f"{name}: sent no answer that gpudoctor can read", unknown=True)
    clock = next((line.clock for line in found if line.clock is not None), 0.0)
    return Gathered(*_sorted(found, True), clock if 0 < clock < _MOST_CLOCK else 0.0)


def check_version(run: str) -> str:
    """The same first lines for far_answer: a Python that is too old says so in a line of the run (fleet/gather.py)."""
    return _OLD.replace('{"old": "%d.%d"}', f"@gpudoctor1-no {run} %d.%d")


def _lines(target: str, out: bytes | bytearray) -> list[_Line]:
    """What it answered, by its types. Raises Unreachable with one line that says what the other end did."""
    if sum(out.count(sign) for sign in (b"{", b"[", b",")) > _MOST_OBJECTS:
        raise Unreachable(f"{target}: sent over {_MOST_OBJECTS} values, which cannot be an answer", unknown=True)
    found = []
    for row in bytes(out).split(b"\n"):
        try:
            value = parse_line(row) if row.startswith(b"{") else None
        except (ValueError, RecursionError):
            continue
        try:
            found += [convert(value, _Line)] if isinstance(value, dict) else []
        except ValidationError as error:
            raise Unreachable(
                f"{target}: sent a line that is not an answer: {str(error)[:200]}", unknown=True
            ) from None
    return found


def _sorted(found: list[_Line], late: bool) -> tuple[list[dict[str, Any]], dict[str, AgentResult]]:
    files = [line.file for line in found if line.file is not None]
    answers: dict[str, AgentResult] = {}
    for line in found:
        if not line.agent:
            continue
        result = answers.setdefault(line.agent, AgentResult(returncode=None, fault="hang"))
        if line.line is not None:
            line.line.pop("ms", None)  # of another machine's clock
            result.lines.append(line.line)
        elif line.end is not None or line.seconds is not None:
            code = result.returncode = line.end
            result.stderr_tail = line.stderr[-TAIL_LIMIT:]
            result.seconds = line.seconds if line.seconds is not None and 0 <= line.seconds < _MOST_S else 0.0
            open_calls = [one["begin"] for one in result.lines[-1:] if "begin" in one]
            result.guilty = str(open_calls[0]) if open_calls else None
            crashed = code is not None and code < 0
            result.fault = "hang" if line.hung else "crash" if crashed else "failed" if code or open_calls else None
    if late and not any(line.bye is not None for line in found):
        files.append({"at": "failed", "detail": "the answer was cut off at the deadline"})
    return files, answers


def container_root(target: FarTarget) -> str:
    """The root folder of a running container of this host, by its process; '' where it cannot be had."""
    if target.kind not in ("docker", "podman"):
        return ""
    try:
        done = run_fed([target.kind, "inspect", "--format", "{{.State.Pid}}", target.name], b"", _INSPECT_S, 1 << 12)
    except OSError:
        return ""
    pid = bytes(done.out).strip().decode("ascii", "replace")
    root = f"/proc/{pid}/root"
    there = done.code == 0 and pid.isascii() and pid.isdecimal() and int(pid) > 0
    return root if there and os.access(f"{root}/etc", os.R_OK) else ""
