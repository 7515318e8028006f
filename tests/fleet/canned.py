"""A python3 that answers as the agent would on the machine of a recording, and a gpudoctor that gives a report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from doctor.targets.recording import AGENTS

H100 = Path(__file__).parents[1] / "fixtures" / "h100" / "recording"
_CANNED = """#!{python} -IS
# A python3 that gives an answer which was gathered before, as the agent would: it costs no second of processor time.
import os, sys
sys.path.insert(0, {root!r})
from doctor.patient.answer_lines import lines
run = sys.stdin.buffer.read().split(b"@gpudoctor1-no ")[1].split()[0].decode()
with open({answer!r}, "rb") as file:
    answer = file.read()
for line in lines(answer, run, 800):
    os.write(1, line)
"""


_GPUDOCTOR = """#!{python} -IS
# A gpudoctor that gives the reports of a folder as `fleet answer` would: NODE.json, the second time NODE.2.json. Each
# call is noted in the file `asked`.
import os, sys
sys.path.insert(0, {root!r})
from doctor.patient.answer_lines import lines
assert sys.argv[1:3] == ["fleet", "answer"], sys.argv
node = next(os.environ[name] for name in ("NODE", "SLURMD_NODENAME", "NODE_NAME") if name in os.environ)
with open({folder!r} + "/asked", "a+") as asked:
    asked.write(" ".join([node, *sys.argv[4:]]) + "\\n")
    asked.flush()
    asked.seek(0)
    count = sum(line.split()[0] == node for line in asked)
path = "%s/%s.%d.json" % ({folder!r}, node, count)
with open(path if os.path.exists(path) else "%s/%s.json" % ({folder!r}, node), "rb") as file:
    answer = file.read()
for line in lines(answer, sys.argv[3], 800):
    os.write(1, line)
"""


def canned_gpudoctor(folder: Path) -> Path:
    """In a new folder, into which the reports of nodes are put."""
    folder.mkdir()
    command = folder / "gpudoctor"
    root = str(Path(__file__).parents[2])
    command.write_text(_GPUDOCTOR.format(python=sys.executable, root=root, folder=str(folder)))
    command.chmod(0o755)
    return command


def asked(command: Path) -> list[str]:
    """What it was asked: node and arguments of each call."""
    file = command.parent / "asked"
    return file.read_text().splitlines() if file.exists() else []


def canned_python(folder: Path, answer: bytes) -> Path:
    """In a new folder, for the PATH of nodes."""
    folder.mkdir()
    (folder / "answer").write_bytes(answer)
    root = str(Path(__file__).parents[2])
    python = folder / "python3"
    python.write_text(_CANNED.format(python=sys.executable, root=root, answer=str(folder / "answer")))
    python.chmod(0o755)
    return python


def recorded(folder: Path, clock: float) -> bytes:
    """What the agent would say on the machine of a recording. clock: its own, seconds since 1970 UTC."""
    rows: list[dict[str, Any]] = [{"hello": [3, 11, 0]}]
    rows += [{"file": json.loads(line)} for line in (folder / "files.jsonl").read_text().splitlines()]
    for agent in AGENTS:
        if (folder / f"{agent}.jsonl").exists():
            *said, end = [json.loads(line) for line in (folder / f"{agent}.jsonl").read_text().splitlines()]
            rows += [{"agent": agent, "line": line} for line in said]
            last = end["agent_end"]
            rows.append({"agent": agent, "end": last["returncode"], "hung": False, "seconds": last["seconds"]})
    return b"".join(json.dumps(row).encode() + b"\n" for row in [*rows, {"bye": True}, {"clock": clock}])
