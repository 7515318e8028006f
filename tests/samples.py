"""What README and docs show of a command's output, made by running it: `python docs/generate.py --samples` writes it.

A block follows a mark such as `<!-- explain -->`. Its first line is the command, after `$ `; the block of `sample` shows
`gpudoctor check` and names no command, since it is judged from a recording (tests/fixtures/cpu_only, of a Debian 12
container without a GPU, with the CPU wheel of torch 2.13.0; its paths are shortened).
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[1]
RECORDING = ROOT / "tests" / "fixtures" / "cpu_only"
_BLOCK = re.compile(r"^<!-- ([a-z]+(?:: [a-z]+)?) -->\n```(\w+)\n(.*?)^```$", re.S | re.M)


def _image(folder: Path) -> None:
    from tests.images.layouts import Layout
    from tests.images.modelled import IMAGES

    layout = Layout(folder / "pytorch-2.6.0")
    layout.tag("latest", IMAGES["pytorch:2.6.0"](layout))


def _topo(folder: Path) -> None:
    from tests.topo.test_topo_command import PHB

    (folder / "topo.txt").write_text(PHB)


def _fleet(folder: Path) -> None:
    """A spool of 64 nodes, and the databases of it and of a week before, when less was wrong."""
    shutil.copytree(_fleets(), folder, dirs_exist_ok=True)


@lru_cache(maxsize=1)
def _fleets() -> str:
    from benchmarks.fleet import START, Machines, plan, write

    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    now = plan(64, 1, healthy=False)
    now = now._replace(planted=tuple(one for one in now.planted if one.kind != "refused"))
    before = now._replace(planted=tuple(one for one in now.planted if one.kind in ("clock", "half a link", "split")))
    machines = Machines()
    for name, planned, start in (("now", now, START), ("last", before, START - 7 * 86400)):
        spool = Path(made, "spool" if name == "now" else name)
        write(planned, machines, spool, 1, start)
        command = [sys.executable, "-m", "gpudoctor", "fleet", "load", str(spool), "-o", f"{made}/{name}.db"]
        subprocess.run(command, check=True, capture_output=True)
    shutil.rmtree(Path(made, "last"))
    return made


def _pairs(folder: Path) -> None:
    """The database of a run with --links."""
    from tests.fleet.link_fleets import page_s_example

    page_s_example(folder)


def _compare(folder: Path) -> None:
    """A machine yesterday, and today after `pip install -U`."""
    from tests.cli.command import save
    from tests.compare.machines import upgraded

    for name, machine in zip(("yesterday.json", "today.json"), upgraded(), strict=True):
        save(folder, machine, name=name)


def _links(folder: Path) -> None:
    """What `prove --links --teach --ddp --device cpu --nproc 4` measured once, on a busy machine of two cores."""
    shutil.copy(ROOT / "tests" / "fixtures" / "links_cpu.json", folder / "links.json")


def _nothing(folder: Path) -> None:
    """The command needs no file."""


SAMPLES: dict[str, Callable[[Path], None]] = {
    "sample": _nothing, "explain": _nothing, "fit": _nothing, "image": _image, "topo": _topo, "fleet": _fleet,
    "compare": _compare, "which": _nothing, "links": _links, "pairs": _pairs,
}  # fmt: skip
"""Mark to what lays out the files that its command reads."""


class Block(Struct, frozen=True):
    """A block of a page."""

    page: Path
    mark: str
    language: str
    text: str


def pages() -> list[Path]:
    """README and the pages of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(mark: str = "") -> Iterator[Block]:
    """The marked blocks in the order of the pages, or those of one mark."""
    for page in pages():
        for found in _BLOCK.finditer(page.read_text("utf-8")):
            if mark in ("", found[1]):
                yield Block(page, found[1], found[2], found[3])


def printed(block: Block, folder: Path) -> str:
    """What the block has to show, by its command, run in this empty folder."""
    SAMPLES[block.mark](folder)
    first, _, _ = block.text.partition("\n")
    head, command = f"{first}\n", first.removeprefix("$ ")
    if block.mark == "sample":
        head, command = "", f"gpudoctor check --replay '{RECORDING}'"
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "COLUMNS", "FORCE_COLOR"):
        env.pop(name, None)
    run = subprocess.run(command, shell=True, env=env, cwd=folder, capture_output=True, text=True, check=False)
    if run.stderr or run.returncode not in (0, 1, 3):
        raise RuntimeError(f"{command}: exit {run.returncode}: {run.stderr}")
    return head + run.stdout


def rewrite(folder: Path) -> list[str]:
    """Write every block anew, each in a folder of its own below this one; the names of the pages that changed."""
    changed = []
    for number, block in enumerate(blocks()):
        if block.mark not in SAMPLES:
            continue
        own = folder / str(number)
        own.mkdir()
        text = printed(block, own)
        if text != block.text:
            page = block.page.read_text("utf-8")
            old = f"<!-- {block.mark} -->\n```{block.language}\n{block.text}```\n"
            block.page.write_text(page.replace(old, old.replace(block.text, text)), "utf-8")
            changed.append(block.page.name)
    return changed
