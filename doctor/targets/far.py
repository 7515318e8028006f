"""Another machine or container that is asked by one text sent to its Python: docker, podman, ssh, kubectl.

Names reach no shell and no option: each is held against the grammar of its kind before anything is started.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
from importlib.util import find_spec
from time import monotonic
from typing import Any

from .agent import AgentResult
from .assembled import assembled
from .far_refusals import refusal
from .far_target import FarTarget, Unreachable

_OLD = """\
import sys
if sys.version_info < (3, 8):
    print('{"old": "%d.%d"}' % sys.version_info[:2])
    sys.exit()
"""
"""Asked before anything that an old Python could not read."""
_LIMIT = 64 << 20
"""Bytes of answer, after which it is cut off."""
_MARGIN_S = 20.0


def sent(settings: dict[str, Any]) -> str:
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
    return _OLD + bound + assembled("far", json.dumps({**settings, "torch": torch}))


def ask(target: FarTarget, limit_s: float, torch: bool) -> tuple[list[dict[str, Any]], dict[str, AgentResult]]:
    """Lines of the file gatherer and what each agent said. Raises Unreachable with one line.

    What came before a cut is kept: then there is no `end` line, as after a hang.
    """
    text = sent({"limit_s": limit_s, "torch": torch})
    failed: Unreachable | None = None
    for python in ("python3", "python"):
        code, out, err, late = _run(target.command(python), text.encode(), 4 * limit_s + _MARGIN_S)
        found = [line for row in out.split(b"\n") if (line := _json(row))]
        if any("hello" in line for line in found):
            return _sorted(found, late)
        old = next((str(line["old"]) for line in found if "old" in line), "")
        failed = refusal(target, old, code, err.decode("utf-8", "replace"), late)
        if not failed.python:
            break
    assert failed is not None
    raise failed


def _json(row: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(row) if row.startswith(b"{") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _sorted(found: list[dict[str, Any]], late: bool) -> tuple[list[dict[str, Any]], dict[str, AgentResult]]:
    files = [line["file"] for line in found if isinstance(line.get("file"), dict)]
    answers: dict[str, AgentResult] = {}
    for line in found:
        name = line.get("agent")
        if not isinstance(name, str):
            continue
        result = answers.setdefault(name, AgentResult(returncode=None, fault="hang"))
        if isinstance(line.get("line"), dict):
            result.lines.append(line["line"])
        elif "end" in line:
            code = line["end"] if isinstance(line["end"], int) else None
            result.returncode, result.stderr_tail = code, str(line.get("stderr") or "")
            result.seconds = float(line.get("seconds") or 0.0)
            open_calls = [one["begin"] for one in result.lines[-1:] if "begin" in one]
            result.guilty = str(open_calls[0]) if open_calls else None
            hung = bool(line.get("hung"))
            result.fault = (
                "hang" if hung else "crash" if code and code < 0 else "failed" if code or open_calls else None
            )
    if not any("bye" in line for line in found) and late:
        files.append({"at": "failed", "detail": "the answer was cut off at the deadline"})
    return files, answers


def _run(command: list[str], data: bytes, limit_s: float) -> tuple[int | None, bytes, bytes, bool]:
    """(exit code, stdout, stderr, whether the time was over) of a child that is fed. Raises Unreachable without it."""
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except FileNotFoundError:
        raise Unreachable(f"the command {command[0]} is not on PATH") from None
    except OSError as error:
        raise Unreachable(f"cannot start {command[0]}: {error.strerror}") from None
    assert child.stdin and child.stdout and child.stderr
    out, err, until = bytearray(), bytearray(), monotonic() + limit_s
    late = False
    try:
        with selectors.DefaultSelector() as selector:
            os.set_blocking(child.stdin.fileno(), False)
            selector.register(child.stdin, selectors.EVENT_WRITE)
            selector.register(child.stdout, selectors.EVENT_READ, out)
            selector.register(child.stderr, selectors.EVENT_READ, err)
            reading = 2
            while reading:
                left = until - monotonic()
                if left <= 0 or len(out) > _LIMIT:
                    late = True
                    break
                for key, _ in selector.select(min(left, 1.0)):
                    if key.fileobj is child.stdin:
                        data = _fed(child.stdin, data)
                        if not data:
                            selector.unregister(child.stdin)
                            child.stdin.close()
                        continue
                    chunk = os.read(key.fd, 1 << 16)
                    if chunk:
                        key.data.extend(chunk)
                    else:
                        selector.unregister(key.fileobj)
                        reading -= 1
        if not late:
            child.wait(max(0.1, until - monotonic()))
    except subprocess.TimeoutExpired:
        late = True
    finally:
        if child.poll() is None:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except OSError:
                child.kill()
            child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            try:
                stream.close()
            except OSError:  # what it did not take any more
                continue
    return child.returncode, bytes(out), bytes(err[-8192:]), late


def _fed(stream: Any, data: bytes) -> bytes:
    """What is left after a write; nothing where nobody reads any more."""
    try:
        return data[os.write(stream.fileno(), data[: 1 << 16]) :]
    except BlockingIOError:
        return data
    except OSError:
        return b""


def container_root(target: FarTarget) -> str:
    """The root folder of a running container of this host, by its process; '' where it cannot be had."""
    if target.kind not in ("docker", "podman"):
        return ""
    done = subprocess.run(
        [target.kind, "inspect", "--format", "{{.State.Pid}}", target.name],
        capture_output=True, text=True, timeout=20, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    pid = done.stdout.strip()
    root = f"/proc/{pid}/root"
    there = done.returncode == 0 and pid.isdecimal() and int(pid) > 0
    return root if there and os.access(f"{root}/etc", os.R_OK) else ""
