"""What `resolve -r FILE` does once its flags are known."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from ..guard import Refusal
from ..resolve.beside import with_the_rest
from ..resolve.dead import dead_lines
from ..resolve.files.edit import edited
from ..resolve.files.lines import MOST_LINES, Asked
from ..resolve.files.locks import of_uv
from ..resolve.files.requirements import read_requirements
from ..resolve.lines_text import lines_text, machine_flags
from ..resolve.machine import Machine, Unclear
from .read import read_bounded

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
    if flags["format_"] not in ("text", "json", "requirements"):
        raise Refusal(f"-r is printed as text, json or requirements (the changed file), not as {flags['format_']}")


def run_dead_lines(m: Matrix, machine: Machine, flags: dict[str, Any]) -> int:
    """Read, ask, print; 0 no line is dead, 1 one is, 3 one is and nothing fits. Raises Unclear, Refusal."""
    path, q = flags["requirements"], machine.question(())
    text = _text(path)
    file = read_file(path, text, q)
    _refuse_for(file, path, flags)
    answered = with_the_rest(m, q, file, dead_lines(m, q, file.lines))
    from .write import write

    if flags["format_"] == "json":
        data = {"machine": machine, "file": path, **msgspec.structs.asdict(answered), "regenerate": file.regenerate}
        printed = msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
    elif flags["format_"] == "requirements":
        printed = edited(text, answered) if answered.instead else text
    else:
        same = f"gpudoctor resolve -r {shlex.quote(path)} {' '.join(machine_flags(machine))} --verify"
        hint = same if file.kind == "requirements" and not flags["verify"] else ""
        printed = lines_text(path, machine, file, answered, hint)
    write(printed.encode("utf-8", "backslashreplace"), flags["output"])
    solved = 0
    if flags["verify"] and (answered.instead or not answered.dead):
        from .verify_lines import verify

        solved = verify(path, text, edited(text, answered) if answered.instead else text, file.unsolved, q)
    if not answered.dead and solved:
        return solved
    if not answered.dead:
        return 3 if answered.unknown and not answered.takes else 0
    return 1 if answered.instead else 3


def _refuse_for(file: Asked, path: str, flags: dict[str, Any]) -> None:
    """Raises Refusal where a flag is for files of another kind."""
    if file.kind != "requirements" and (flags["verify"] or flags["format_"] == "requirements"):
        flag = "--verify" if flags["verify"] else "--format requirements"
        raise Refusal(f"{flag} is for a requirements.txt; {path} is of another kind")


def _text(path: str) -> str:
    data = read_bounded(path, _MAX_BYTES, "is over 64 MiB: no list of requirements")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not UTF-8: no list of requirements") from None


def read_file(path: str, text: str, q: Question) -> Asked:
    """A requirements.txt or (a name that ends in .lock) a uv.lock. Raises Unclear, Refusal."""
    if path.endswith((".yml", ".yaml", ".toml", ".cfg", ".py", ".json")):
        raise Refusal(f"{path} is of a kind that -r does not read: it reads requirements.txt and uv.lock")
    if not path.endswith(".lock"):
        return _few(read_requirements(text, path, q), path)
    from .toml import NotToml, loads

    try:
        content = loads(text)
    except NotToml as error:
        raise Unclear(f"{path} is not valid TOML: {error}") from None
    return _few(of_uv(content, text, path, q), path)


def _few(file: Asked, path: str) -> Asked:
    """Raises Refusal where there are more than anybody writes."""
    if len(file.lines) > MOST_LINES:
        raise Refusal(f"{path} names torch and its companions more than {MOST_LINES} times: it is not judged")
    return file
