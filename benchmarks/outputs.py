"""What every command prints in every format, kept in a folder, and what has become different between two folders.

    python benchmarks/outputs.py OUT --recordings DIR [--machines 12] [--cases 40] [--files DIR] [--only TEXT]
    python benchmarks/outputs.py --compare OLD NEW [--list 20]

Machines are drawn evenly from `tests/scenarios`: each is recorded into DIR once, and judged from there by every later
run, so that the same facts are compared. Texts are drawn evenly from the public cases. Each file of --files goes to
every command that reads files; one that refuses it is asked in its first format only. Every answer is a file: exit
code, stdout, stderr. `watch`, `image`, `record`, `mcp` and `trust` need a program, an engine or a registry and are left
out. --compare ignores times, prints which outputs differ with their first line that does, and exits 1 if any does.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MACHINE = """
check --replay {}
check -vv --replay {}
healthcheck --from {}.json
prove --replay {}
fix --replay {}
what-if --driver 580 --replay {}
what-if --gpu 'RTX 5090' --replay {}
topo --from {}.json
resolve --from {}.json
resolve --keep --from {}.json
fit --params 7B --from {}.json
"""
"""Of a recording, and of the report that `check` makes of it."""
TEXT = """
explain {}
"""
FILE = """
dockerfile --driver 535 --gpu A100 {}
resolve --gpu 'RTX 5090' --driver 575 -r {}
topo --gpu H100-SXM {}
fit --gpus H100-80GB --task inference {}
explain {}
"""
ALONE = """
list-checks
explain torch-lacks-new-gpu-sm
explain 804
explain 'no kernel image is available'
resolve --gpu 'GTX 1080' --driver 535 --python 3.11
resolve vllm --gpu H100 --driver 570
what-if --os linux --gpu 'GTX 1080' --driver 535 --torch 2.8
fit --params 70B --task inference --dtype awq --gpus 2xH100-80GB
matrix show
matrix query gpu 'RTX 5090'
matrix query torch 2.8
matrix sources
matrix lint
schema
schema image
print systemd
print slurm-prolog
print kubernetes
print node-problem-detector
print compose
print pre-commit
completion bash
completion zsh
completion fish
"""
_TIMES = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?[\d.]*(Z|[+-]\d\d:?\d\d)?"
    r"|(?<=\"duration_ms\": )[\d.e-]+|(?<=timestamp_seconds )\d+"
)


class Question(NamedTuple):
    """One command line, in the folder that it runs in; its answer's name."""

    name: str
    words: tuple[str, ...]
    folder: Path


@cache
def formats() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Command, or group and command, to its formats in order; of one that has no option for it, none."""
    import click

    from doctor.cli import gpudoctor

    def walk(group: click.Group, before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if isinstance(command, click.Group):
                yield from walk(command, (*before, name))
            kinds = [one.type for one in command.params if "--format" in one.opts]
            yield (*before, name), tuple(kinds[0].choices) if kinds and isinstance(kinds[0], click.Choice) else ()

    return dict(walk(gpudoctor, ()))


def spread(names: Sequence[str], count: int) -> list[str]:
    """So many of them, at even distances."""
    return [names[i * len(names) // count] for i in range(min(count, len(names)))] if count < len(names) else [*names]


def recordings(folder: Path, count: int) -> list[str]:
    """Names of the machines, each with its recording in the folder: taken now where it is not there."""
    from tests.fakes import build_fakes
    from tests.scenarios import take
    from tests.scenarios.torch_build import Workshop

    names = spread(take.names(), count)
    if missing := [name for name in names if not (folder / name).exists()]:
        (folder / "made").mkdir(parents=True, exist_ok=True)
        fakes, workshop = folder / "made" / "fakes", Workshop(folder / "made" / "workshop")
        if not fakes.exists():
            build_fakes(fakes)
        for name in missing:
            take.record(take.load(name), folder / "made" / name, fakes, workshop).rename(folder / name)
    for name in names:
        (folder / f"{name}.json").write_bytes(run(("check", "--replay", name, "--format", "json"), folder).stdout)
    return names


def texts(folder: Path, count: int) -> list[str]:
    """Names of the public cases that were drawn, each written as a text."""
    from benchmarks.cases import load_cases, renderer

    render, cases = renderer(), {case["id"]: case for case in load_cases()}
    names = spread([*cases], count)
    for name in names:
        (folder / name).write_text(render(cases[name]), "utf-8")
    return names


def run(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """The command as people run it, without what this machine would change in it."""
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "TMPDIR", "LANG")}
    env = {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    command = [sys.executable, "-m", "doctor", *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL, check=False)


def write(out: Path, question: Question) -> int:
    """Ask, and keep the answer. Returns the exit code."""
    done = run(question.words, question.folder)
    place = out / question.name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"exit %d\n== stdout\n%s== stderr\n%s" % (done.returncode, done.stdout, done.stderr))
    return done.returncode


def questions(lines: str, group: str, subject: str, folder: Path) -> Iterator[list[Question]]:
    """Of each command line the questions in all formats of its command."""
    kinds = formats()
    for line in map(shlex.split, lines.strip().splitlines()):
        words = tuple(word.replace("{}", subject) for word in line)
        name = "_".join(word for word in line if "{}" not in word).replace("/", "-").replace(" ", "-")
        found = kinds.get(tuple(line[:2])) or kinds[line[0],]
        chosen = [(*words, "--format", one) for one in found] or [words]
        place = "/".join(part for part in (group, subject, name) if part)
        yield [Question(f"{place}.{kind}", one, folder) for kind, one in zip(found or ("text",), chosen, strict=True)]


def ask(out: Path, asked: list[Question]) -> None:
    """All formats of one command line; only the first where that is refused."""
    if write(out, asked[0]) != 2:
        for question in asked[1:]:
            write(out, question)


def collect(given: argparse.Namespace) -> None:
    """Write the folder."""
    scratch: Path = given.recordings
    (scratch / "texts").mkdir(parents=True, exist_ok=True)
    asked = list(questions(ALONE, "alone", "", scratch))
    asked += [[Question(f"help/{'_'.join(name)}", (*name, "--help"), scratch)] for name in formats()]
    for name in recordings(scratch, given.machines):
        asked += questions(MACHINE, "machines", name, scratch)
    for name in texts(scratch / "texts", given.cases):
        asked += questions(TEXT, "texts", name, scratch / "texts")
    for path in sorted(given.files.iterdir()) if given.files else ():
        asked += questions(FILE, "files", path.name, given.files)
    chosen = [one for one in asked if given.only in one[0].name]
    with ThreadPoolExecutor(given.workers) as pool:
        list(pool.map(ask, itertools.repeat(given.out), chosen))
    print(f"{sum(path.is_file() for path in given.out.rglob('*'))} outputs")


def compare(old: Path, new: Path, most: int) -> int:
    """Print what differs; 1 where something does."""
    sides = [{str(p.relative_to(side)): p for p in side.rglob("*") if p.is_file()} for side in (old, new)]
    found = [
        f"{name}: only in {old if name in sides[0] else new}" for name in sorted(sides[0].keys() ^ sides[1].keys())
    ]
    for name in sorted(sides[0].keys() & sides[1].keys()):
        was, now = (_TIMES.sub("TIME", side[name].read_text("utf-8", "replace")).splitlines() for side in sides)
        if was != now:
            pairs = itertools.zip_longest(was, now, fillvalue="(nothing)")
            before, after = next(pair for pair in pairs if pair[0] != pair[1])
            found.append(f"{name}\n  - {before[:200]}\n  + {after[:200]}")
    print("\n".join(found[:most]))
    print(f"{len(found)} of {len(sides[0].keys() | sides[1].keys())} outputs differ")
    return int(bool(found))


def main() -> int:
    """Collect or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", help="the folder to write")
    parser.add_argument("--recordings", type=Path, help="the machines' recordings, and the texts")
    parser.add_argument("--machines", type=int, default=12, help="how many scenarios")
    parser.add_argument("--cases", type=int, default=40, help="how many public cases")
    parser.add_argument("--files", type=Path, help="a folder of Dockerfiles, requirements, topologies, models")
    parser.add_argument("--only", default="", help="only outputs whose name holds this text")
    parser.add_argument("--workers", type=int, default=2, help="commands at a time")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="two such folders")
    parser.add_argument("--list", type=int, default=20, help="how many differences are printed")
    given = parser.parse_args()
    if given.compare:
        return compare(given.compare[0], given.compare[1], given.list)
    if not given.out or not given.recordings:
        parser.error("give OUT and --recordings, or --compare OLD NEW")
    given.out, given.recordings = given.out.resolve(), given.recordings.resolve()
    given.files = given.files and given.files.resolve()
    collect(given)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
