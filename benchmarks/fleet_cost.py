"""What `fleet load` and `fleet report` of a spool cost: processor seconds, memory, bytes of the database."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """Of one command with all its processes."""

    cpu_s: float
    peak_mib: float
    """Of its largest process."""


def cost(*arguments: str) -> Cost:
    """Run gpudoctor; its output goes nowhere."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(sys.executable, [sys.executable, "-m", "gpudoctor", *arguments])
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 3):
        raise RuntimeError(f"gpudoctor {arguments}: exit {os.waitstatus_to_exitcode(status)}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def measure(folder: Path, nodes: int, size: int, judge: bool = False) -> Iterator[str]:
    """A Markdown table, row by row. folder: holds spool, of `size` bytes; the databases are written beside it. judge:
    also judge all of them."""
    spool, database, judged = str(folder / "spool"), folder / "fleet.db", folder / "judged.db"
    page = folder / "page.html"
    load = cost("fleet", "load", spool, "-o", str(database))
    report = cost("fleet", "report", str(database))
    earlier = Path(shutil.copy(database, folder / "earlier.db"))
    since = cost("fleet", "report", str(database), "--since", str(earlier))
    earlier.unlink()
    html = cost("fleet", "report", str(database), "--format", "html", "-o", str(page))
    again = cost("fleet", "load", spool, "-o", str(judged), "--judge") if judge else None
    per_node = database.stat().st_size / nodes
    yield f"{nodes:,} nodes of 8 GPUs with 40 figures each, {size / 1e6:,.0f} MB of reports"
    yield ""
    yield "| what | CPU s | peak MiB | size |"
    yield "| --- | ---: | ---: | ---: |"
    yield f"| load | {load.cpu_s:.1f} | {load.peak_mib:.0f} | {per_node / 1000:.1f} kB per node |"
    yield f"| report | {report.cpu_s:.1f} | {report.peak_mib:.0f} | |"
    yield f"| report --since | {since.cpu_s:.1f} | {since.peak_mib:.0f} | |"
    yield f"| report --format html | {html.cpu_s:.1f} | {html.peak_mib:.0f} | {page.stat().st_size / 1e6:.2f} MB |"
    if again:
        yield f"| load --judge | {again.cpu_s:.1f} | {again.peak_mib:.0f} | |"


_UUID = re.compile(rb"GPU-[0-9a-f]{8}(?=-)")


def measure_raw(folder: Path, recording: Path, nodes: int) -> str:
    """A row of the table: so many recordings of one machine, each with GPUs of its own, loaded and judged."""
    files = {file.name: file.read_bytes() for file in recording.iterdir()}
    for node in range(nodes):
        place = folder / f"gpu-{node:06}"
        place.mkdir(parents=True)
        for name, data in files.items():
            own = _UUID.sub(lambda found, node=node: b"GPU-%06x%b" % (node, found[0][-2:]), data)
            (place / name).write_bytes(own)
    load = cost("fleet", "load", str(folder), "-o", str(folder.with_suffix(".db")))
    return f"| load of recordings | {load.cpu_s:.1f} | {load.peak_mib:.0f} | |"
