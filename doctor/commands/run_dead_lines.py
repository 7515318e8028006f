"""What `resolve -r FILE` does once its flags are known."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ..guard import Refusal
from ..resolve.conda_lines import conda_lines
from ..resolve.files.dialect import spelled, tables
from ..resolve.files.edit import edited
from ..resolve.files.lines import RequirementFile
from ..resolve.forks import every_fork
from ..resolve.instead import Answered
from ..resolve.lines_text import lines_text, machine_flags
from ..resolve.machine import Machine
from .read import read_bounded
from .read_lines import read_file

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.resolver import Question

_MAX_BYTES = 64 << 20


def refuse_others(flags: dict[str, Any]) -> None:
    """-r reads its wishes from the file. Raises Refusal."""
    if flags["keep"] or flags["wishes"]:
        raise Refusal("-r reads what is wished for from the file: it takes no --keep and no package beside it")
    if flags["explain_all"]:
        raise Refusal("-r judges the lines of a file: it takes no --explain-all")
    if flags["format_"] not in ("text", "json", "edited"):
        raise Refusal(f"-r is printed as text, json or edited (the changed file), not as {flags['format_']}")


def run_dead_lines(m: Matrix, machine: Machine, flags: dict[str, Any]) -> int:
    """Read, ask, print; 0 no line is dead, 1 one is, 3 one is and nothing fits. Raises Unclear, Refusal."""
    path, q = flags["requirements"], machine.question(())
    text = _text(path)
    file = read_file(path, text, q)
    if file.python and not flags["python_version"]:
        machine = replace(machine, python=file.python)
        q = machine.question(())
        file = read_file(path, text, q)
    _refuse_for(file, path, flags)
    answered = _answered(m, q, file)
    answered = replace(answered, unknown=(*answered.unknown, *file.unread))
    added = tables(file, answered)
    from .write import write

    if flags["format_"] == "json":
        data = {"machine": machine, "file": path, **msgspec.structs.asdict(answered)}
        data |= {"add": added, "regenerate": file.regenerate}
        printed = msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
    elif flags["format_"] == "edited":
        printed = edited(text, file, answered, added) if answered.instead else text
    else:
        same = f"gpudoctor resolve -r {shlex.quote(path)} {' '.join(machine_flags(machine))} --verify"
        hint = same if file.kind == "requirements" and not flags["verify"] else ""
        printed = lines_text(path, machine, file, answered, hint)
    write(printed.encode("utf-8", "backslashreplace"), flags["output"])
    solved = 0
    if flags["verify"] and (answered.instead or not answered.dead):
        from .verify_lines import verify

        after = edited(text, file, answered) if answered.instead else text
        solved = verify(path, text, after, file.unsolved, q)
    if not answered.dead and solved:
        return solved
    if not answered.dead:
        return 3 if answered.unknown and not answered.takes else 0
    return 1 if answered.instead else 3


def _answered(m: Matrix, q: Question, file: RequirementFile) -> Answered:
    if file.kind in ("conda", "pixi-conda"):
        return conda_lines(m, q, file)
    return spelled(file, every_fork(m, q, file))


def _refuse_for(file: RequirementFile, path: str, flags: dict[str, Any]) -> None:
    """Raises Refusal where a flag is for files of another kind."""
    if file.kind != "requirements" and flags["verify"]:
        raise Refusal(f"--verify is for a requirements.txt; {path} is of another kind")
    if flags["format_"] == "edited" and (file.kind == "lock" or (file.kind == "conda" and file.regenerate)):
        raise Refusal(f"a lock file is not edited: {file.regenerate} makes it")


def _text(path: str) -> str:
    data = read_bounded(path, _MAX_BYTES, "is over 64 MiB: no list of requirements")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not UTF-8: no list of requirements") from None
