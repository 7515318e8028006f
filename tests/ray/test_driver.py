"""The task that Ray runs on a node, without Ray: what a probe wrote is all there, however its end and its reading meet."""

from __future__ import annotations

import _thread
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from doctor.fleet.ray_driver import examine, talk

from ..rows import for_each

LAST = b"the last line\n"
SCRIPTS = {
    "it ends before it reads its script": ("echo the last line", (0, LAST, b"")),
    "a child holds its output open": ("sleep 30 & echo the last line; exit 4", (4, LAST, b"")),
    "it closes its output before its end": ("echo the last line; exec >&- 2>&-; sleep 0.3; exit 5", (5, LAST, b"")),
    "it writes more than a pipe holds": ("cat; echo the last line; echo why >&2", (0, b"x" * 300_000 + LAST, b"why\n")),
    "it is late": ("echo the last line; sleep 30", (None, LAST, b"")),
}


@pytest.mark.slow
@for_each("what", SCRIPTS)
def test_what_a_probe_wrote_is_all_there(what: str) -> None:
    command, given = SCRIPTS[what]
    began, answer = examine(command, b"x" * 300_000, 1.0 if "late" in what else 60.0)
    assert began is None and answer == given


class EndsWhenAsked(subprocess.Popen[bytes]):
    """It has just ended whenever somebody asks whether it has."""

    def poll(self) -> int | None:
        return self.wait()


def test_a_probe_that_ends_after_a_look_at_its_pipes() -> None:
    pipe = subprocess.PIPE
    with EndsWhenAsked(["sh", "-c", "sleep 0.2; echo the last line"], stdin=pipe, stdout=pipe, stderr=pipe) as child:
        assert talk(child, b"x", time.monotonic() + 60) == (LAST, b"")


@pytest.mark.slow
def test_a_cancelled_task_ends_its_probe(tmp_path: Path) -> None:
    """As Ray does it: an interrupt in the main thread."""
    task = examine(f"echo $$ > {tmp_path}/pid; exec sleep 76543", b"", 60.0)
    assert next(task) is None

    def interrupt() -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            time.sleep(0.05)
        _thread.interrupt_main()

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        next(task)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
