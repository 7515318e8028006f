"""What `fleet answer` does: it examines this machine for a `fleet run --command` elsewhere, and prints lines for it."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from .. import __version__
from ..findings import Policy
from ..fleet.answer import lines
from ..fleet.gather import CHUNK
from ..guard import Refusal
from ..judge.report import REPORT_SCHEMA_VERSION, Tool
from ..snapshot import Snapshot, Target
from .ended import ending_children
from .write import to_stdout

if TYPE_CHECKING:
    from collections.abc import Iterator

PROBE_S = 20.0
"""How long each driver library may take; no longer than a fifth of the node's own time."""


ANSWERING_S = 10.0
"""Of the node's time, what is left for the answer after the measurements."""


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A report without findings and checks: whoever asked for it judges it."""

    schema_version: int = REPORT_SCHEMA_VERSION
    tool: Tool = Tool("gpudoctor", __version__)
    generated_at: str
    """ISO 8601, UTC: the end of the last measurement."""
    target: Target
    policy: Policy = Policy()
    redacted: bool
    snapshot: Snapshot


def run_answer(flags: dict[str, Any]) -> int:
    """Gather, mask, print the lines of the wire format (fleet/answer.py). Raises Refusal."""
    from ..snapshot.redact import redact
    from .local_names import local_names

    list(_lines(b"", flags["run"]))  # a name that cannot be sent is refused before anything is examined
    _end_with_reader()
    with ending_children():
        snapshot = _facts(flags)
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    report = Examined(generated_at=made, target=snapshot.target, redacted=True, snapshot=snapshot)
    to_stdout(b"".join(_lines(msgspec.json.encode(redact(report, local_names())), flags["run"])))
    return 0


def _facts(flags: dict[str, Any]) -> Snapshot:
    from .sources import gather

    total_s = flags["timeout"]
    wanted = {
        "python_": flags["python_"], "timeout": min(PROBE_S, max(1.0, total_s / 5)), "no_import": False, "root": None,
        "replay": None,
    }  # fmt: skip
    if not flags["prove"]:
        return gather(wanted)
    from ..proof.plan import device_of
    from .proving import measured_facts

    try:
        device = device_of(flags["device"])
    except ValueError as error:
        raise Refusal(str(error)) from None
    left_s = max(total_s - ANSWERING_S, total_s / 2)
    return measured_facts(wanted, flags["prove"], device=device, total_s=left_s, facts_too=True)


def _lines(answer: bytes, run: str) -> Iterator[bytes]:
    try:
        yield from lines(answer, run, CHUNK)
    except ValueError as error:
        raise Refusal(str(error)) from None


def _end_with_reader() -> None:
    """End this process, its children first, once its output is not read: then the run was ended, or is not waiting
    for this node any more."""
    if not hasattr(select, "poll"):
        return
    with suppress(OSError, ValueError, AttributeError):
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)

        def watch() -> None:
            poll.poll()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, daemon=True).start()
