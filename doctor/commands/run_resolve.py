"""What `resolve` does once its flags are known."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from compat_matrix.candidate import Candidate
from compat_matrix.drivers import ABOVE_ALL
from compat_matrix.resolver import Answer, Question, resolve

from ..guard import Refusal
from ..resolve.machine import Machine, Unclear, card, driver, of_snapshot, python, wish
from .assess import matrix_of
from .write import answer as print_answer
from .write import echo, first_paragraph

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..snapshot import Snapshot


def run_resolve(flags: dict[str, Any]) -> int:
    """Ask the engine and print; returns the exit code."""
    m = matrix_of(flags)
    if flags["requirements"]:
        from .run_dead_lines import refuse_others

        refuse_others(flags)
    elif flags["format_"] == "edited":
        raise Refusal("--format edited requires -r: it prints the changed file")
    if flags["keep"]:
        from .run_keep import refuse_words

        refuse_words(flags)
    try:
        if flags["keep"]:
            from .run_keep import run_keep

            return run_keep(m, flags, looked_at(flags))
        machine = machine_of(m, flags)
        if flags["requirements"]:
            from .run_dead_lines import run_dead_lines

            return run_dead_lines(m, machine, flags)
        q = machine.question([wish(m, text) for text in flags["wishes"]])
    except Unclear as unclear:
        if not unclear.unknown:
            raise Refusal(str(unclear)) from None
        echo(f"gpudoctor: {unclear}", err=True)
        return 3
    answer = resolve(m, q)
    if machine.torch and not q.wishes:
        from ..resolve.text import installed_note

        machine = replace(machine, notes=(*machine.notes, *installed_note(m, machine, q)))
    printed = _rendered(m, machine, q, answer, flags)
    if q.driver.endswith(ABOVE_ALL):  # a placeholder for the newest of a branch, not a version to show
        printed = printed.replace(q.driver, q.driver[: -len(ABOVE_ALL)])
    if flags["format_"] not in ("text", "json", "html", "markdown"):
        echo(m.differs, err=True, nl=bool(m.differs))
        if answer.unlisted and answer.candidates:
            from ..resolve.text import not_listed

            echo(" ".join(not_listed(answer)), err=True)
        if not answer.candidates:  # no prose where a requirements file is expected
            echo(printed, err=True, nl=False)
            return 3
    print_answer(first_paragraph(printed) if flags["quiet"] else printed, flags)
    if not answer.candidates:
        return 3
    return _verified(m, q, answer.candidates[0]) if flags["verify"] else 0


def machine_of(m: Matrix, flags: dict[str, Any]) -> Machine:
    """The described machine; if no GPU is named, what is missing comes from the report or this machine."""
    requested = python(flags["python_version"]) if flags["python_version"] else ""
    if flags["gpus"]:
        base = Machine(cards=tuple(card(m, text) for text in flags["gpus"]), driver_unknown=flags["driver"] is None)
    else:
        base = of_snapshot(looked_at(flags), m)
    notes = list(base.notes)
    system = flags["os_"] or base.os
    version = base.driver
    if flags["driver"] is not None:
        version, note = driver(m, flags["driver"], system)
        notes += [note] if note else []
    machine = replace(base, os=system, arch=flags["arch"] or base.arch, driver=version, python=requested or base.python)
    if machine.python != base.python:
        machine = replace(machine, torch="", tag="")  # what is installed is another Python's
    if flags["gpus"] and not flags["arch"] and any(one.with_grace for one in machine.cards):
        machine = replace(machine, arch="aarch64")
    if any(one.tegra for one in machine.cards):
        machine = replace(machine, arch="aarch64")
        notes.append(
            "Jetson: the driver is part of JetPack. Builds for its CUDA are on NVIDIA's Jetson index and in NVIDIA's "
            "Jetson containers; the builds listed here are the aarch64 wheels from PyTorch's own index."
        )
    if machine.os == "windows" and machine.arch != "x86_64":
        raise Unclear("this matrix has no CUDA builds of torch for Windows on Arm", unknown=True)
    if not machine.driver and not any(one.tegra for one in machine.cards):
        from ..resolve.text import no_driver

        notes.append(no_driver(m, machine))
    return replace(machine, notes=tuple(notes))


def looked_at(flags: dict[str, Any]) -> Snapshot:
    """The facts from the report, else from this machine."""
    if flags["from_"]:
        from .saved import read_report

        return read_report(flags["from_"]).snapshot
    from ..report.progress import Progress
    from .sources import gather

    look = {
        "no_import": True,
        "python_": flags.get("python_"),
        "root": None,
        "replay": None,
        "from_": None,
        "timeout": flags["timeout"],
    }
    with Progress() as progress:
        return gather(look, progress)


def _rendered(m: Matrix, machine: Machine, q: Question, answer: Answer, flags: dict[str, Any]) -> str:
    if flags["format_"] == "json":
        return _json(m, machine, q, answer)
    if flags["format_"] in ("html", "markdown"):
        return _document(m, machine, q, answer, flags)
    if flags["format_"] == "text" or not answer.candidates:
        from ..resolve.text import text

        return text(m, machine, q, answer, explain_all=flags["explain_all"])
    from ..resolve.formats import FORMATS

    printed = FORMATS[flags["format_"]](m, q, answer.candidates[0])
    if not printed.strip():
        raise Refusal(f"--format {flags['format_']}: there is no official image for Windows or free-threaded Python")
    return printed


def _document(m: Matrix, machine: Machine, q: Question, answer: Answer, flags: dict[str, Any]) -> str:
    from ..report.page_plain import text_document, written
    from ..resolve.choice import lines
    from ..resolve.text import not_listed, text

    whole = text(m, machine, q, answer, explain_all=flags["explain_all"])
    best = answer.candidates[0] if answer.candidates else None
    how = lines(m, q, best) if best else None
    verdict = f"torch {best.build.torch} {best.build.tag}: {best.why}" if best else "No build runs on this machine."
    verdict = " ".join(not_listed(answer)) if answer.unlisted else verdict
    heading = ", ".join(one.name for one in machine.cards) or "no GPU"
    document = text_document(heading, verdict, [how.pip, how.uv] if how else [], whole)
    return written("gpudoctor resolve", document, flags["format_"])


def _json(m: Matrix, machine: Machine, q: Question, answer: Answer) -> str:
    from compat_matrix.tables import row_name

    from ..resolve.choice import lines

    def rows(found: tuple[Any, ...]) -> list[dict[str, str]]:
        unique = {id(row): row for row in found}.values()
        return [
            {"table": row_name(r)[0], "row": row_name(r)[1], "source": m.source(r.source), "confidence": r.confidence}
            for r in unique
        ]

    def candidate(one: Candidate) -> dict[str, Any]:
        how = lines(m, q, one)
        return {
            "torch": one.build.torch, "tag": one.build.tag, "platform": one.build.platform, "grade": one.grade,
            "why": one.why, "served": one.served, "companions": one.companions, "gives_up": one.gives_up,
            "packages": how.request.packages, "index": one.index, "pip": how.pip, "uv": how.uv, "conda": how.conda,
            "dockerfile": how.image, "rows": rows(one.rows),
        }  # fmt: skip

    data = {
        "machine": machine,
        "wishes": [str(one) for one in q.wishes],
        "unlisted": [{"wish": str(one.wish), "below": one.below, "above": one.above} for one in answer.unlisted],
        "candidates": [candidate(one) for one in answer.candidates],
        "rejected": [
            {"torch": out.build.torch, "tag": out.build.tag, "filter": out.filter, "reason": out.reason}
            for out in answer.rejected
        ],
        "conflict": [str(one) for one in answer.conflict],
        "uv_backend": answer.uv,
        "matrix": {"version": m.version, "differs": m.differs},
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def _verified(m: Matrix, q: Question, one: Candidate) -> int:
    """Try the line with the user's own uv, else pip: 0 if it resolves, 1 if it does not."""
    import shlex
    import shutil

    from ..resolve.choice import lines

    how = lines(m, q, one)
    command = shlex.split(how.uv if shutil.which("uv") else how.pip)
    command.insert(command.index("install") + 1, "--dry-run")
    echo(f"$ {shlex.join(command)}", err=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        echo(f"could not be tried: {error}", err=True)
        return 3
    resolved = done.returncode == 0 and done.stdout.strip()  # pip's answer, where its warnings are on stderr
    last = (done.stdout if resolved else done.stderr or done.stdout).strip().splitlines()[-3:]
    echo("\n".join(last), err=True)
    return 0 if done.returncode == 0 else 1
