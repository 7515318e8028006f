"""What `resolve -r FILE` does once its flags are known."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ..guard import Refusal
from ..resolve.conda_pip import with_pip
from ..resolve.files.dialect import spelled
from ..resolve.files.edit import Unwritable, edited
from ..resolve.files.lines import RequirementFile
from ..resolve.forks import every_fork
from ..resolve.instead import Answered, DeadLine
from ..resolve.lines_text import lines_text, machine_flags, no_index
from ..resolve.machine import Machine, Unclear
from .read import read_bounded
from .read_lines import read_file

if TYPE_CHECKING:
    from compat_matrix import Matrix

_MAX_BYTES = 64 << 20


def refuse_others(flags: dict[str, Any]) -> None:
    """-r reads the wanted packages from the file. Raises Refusal."""
    if flags["keep"] or flags["wishes"]:
        raise Refusal("-r reads the packages from the file: it cannot be used with --keep or a package name")
    if flags["explain_all"]:
        raise Refusal("-r judges the lines of a file: it cannot be used with --explain-all")
    if flags["format_"] not in ("text", "json", "edited"):
        raise Refusal(
            f"-r cannot be used with --format {flags['format_']}: use text, json or edited (the changed file)"
        )


def run_dead_lines(m: Matrix, machine: Machine, flags: dict[str, Any]) -> int:
    """Read, ask, print; 0 no line is dead, 1 one is, 3 one is and nothing fits. Raises Unclear, Refusal."""
    path = flags["requirements"]
    mark, text = _text(path)
    machine, file, answered = _judged(m, machine, text, flags)
    from .write import answer, echo, write

    if flags["format_"] == "json":
        data = {"machine": machine, "file": path, **msgspec.structs.asdict(answered), "regenerate": file.regenerate}
        printed = msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
    elif flags["format_"] == "edited":
        printed = mark + (_edited(m, machine, text, file, answered, flags) if answered.changes else text)
    else:
        same = f"gpudoctor resolve -r {shlex.quote(path)} {' '.join(machine_flags(machine))} --verify"
        hint = same if file.kind == "requirements" and path != "-" and not flags["verify"] else ""
        printed = lines_text(path, machine, file, answered, "" if flags["quiet"] else hint)
    if flags["format_"] != "edited":
        answer(printed, flags)
    else:
        write(printed.encode("utf-8", "backslashreplace"), flags["output"], as_it_is=True)
        dead = () if answered.changes else answered.dead
        left = [f"line {one.number} cannot work here, and no replacement fits: {one.text}" for one in dead]
        for note in (*left, *answered.unknown, *filter(None, [no_index(file, answered)])):
            echo(note, err=True)
    solved = 0
    if flags["verify"] and (answered.changes or not answered.dead):
        from .verify_lines import verify

        after = _edited(m, machine, text, file, answered, flags) if answered.changes else text
        solved = verify(path, text, after, file.unsolved, machine.question(()))
    if not answered.dead and solved:
        return solved
    if not answered.dead:
        return 3 if answered.unknown and not answered.takes else 0
    return 1 if answered.changes else 3


def _judged(m: Matrix, machine: Machine, text: str, flags: dict[str, Any]) -> tuple[Machine, RequirementFile, Answered]:
    """The machine with the Python that the file requires, the file, and the answer. Raises Unclear, Refusal."""
    path = flags["requirements"]
    file = read_file(path, text, machine.question(()))
    if file.python and not flags["python_version"]:
        machine = replace(machine, python=file.python)
        file = read_file(path, text, machine.question(()))
    _refuse_for(file, path, flags)
    q = machine.question(())
    conda = file.kind in ("conda", "pixi-conda")
    answered = spelled(file, with_pip(m, q, file)) if conda else every_fork(m, q, file)
    sentences = (*answered.unknown, *(one.sentence for one in file.elsewhere), *file.unread)
    return machine, file, replace(answered, unknown=sentences)


def _edited(
    m: Matrix, machine: Machine, text: str, file: RequirementFile, answered: Answered, flags: dict[str, Any]
) -> str:
    """The changed file, read and judged again. Raises Refusal if the result is not what was promised."""
    if file.kind == "requirements" and file.hashes:
        raise Refusal(f"{flags['requirements']} pins its wheels by hash; regenerate it with: {file.regenerate}")
    before = [(one.text, one.reason) for one in answered.dead_elsewhere]
    why = ""
    try:
        after = edited(text, file, answered)
        _, _, again = _judged(m, machine, after, flags)
    except (Unwritable, Unclear) as error:
        why = str(error)
    else:
        if again.dead:
            why = _would_be(file, answered, again.dead[0])
        elif harmed := [one for one in again.dead_elsewhere if (one.text, one.reason) not in before]:
            why = _would_be(file, answered, harmed[0])
        elif answered.gives and again.takes and again.takes != answered.gives:
            why = f"it would install torch {again.takes}, not {answered.gives}"
        else:
            return after
    raise Refusal(
        f"{flags['requirements']}: this file cannot be edited automatically ({why}); --format text shows what to write"
    )


def _would_be(file: RequirementFile, answered: Answered, dead: DeadLine) -> str:
    """A line of the changed file, with its number in the user's own file."""
    rows = [(one.number, one.write) for one in answered.instead if one.number]
    changed = [number for number, write in rows if dead.text in (write, *write.splitlines())]
    parts = [file, file.pip] if file.pip else [file]
    same = [one.number for part in parts for one in (*part.lines, *part.others) if one.text == dead.text]
    near = min(changed or same, key=lambda one: abs(one - dead.number), default=0)
    what = f"line {near} could not work" if near and not changed else f"{dead.text} could not work"
    return f"line {near}: {what}: {dead.reason}" if changed else f"{what}: {dead.reason}"


def _refuse_for(file: RequirementFile, path: str, flags: dict[str, Any]) -> None:
    """Raises Refusal if a flag is for files of another kind."""
    if file.kind != "requirements" and flags["verify"]:
        raise Refusal(f"--verify works only with a requirements.txt; {path} is a different kind of file")
    if flags["format_"] == "edited" and (file.kind == "lock" or (file.kind == "conda" and file.regenerate)):
        raise Refusal(f"a lock file cannot be edited; regenerate it with: {file.regenerate}")


def _text(path: str) -> tuple[str, str]:
    """The byte order mark ('' for none), and the text after it."""
    data = read_bounded(path, _MAX_BYTES, "is over 64 MiB: too large to be a requirements file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not UTF-8 text") from None
    return ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
