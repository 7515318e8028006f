"""What `resolve -r FILE` does once its flags are known."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from ..guard import Refusal
from ..resolve.dead import Answered, dead_lines
from ..resolve.machine import Machine, Unclear
from ..resolve.pinned import MOST_LINES, Pinned, of_lock, of_requirements
from .read import read_bounded

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.resolver import Question

_MAX_BYTES = 64 << 20


def refuse_others(flags: dict[str, Any]) -> None:
    """-r reads its wishes from the file. Raises Refusal."""
    if flags["keep"] or flags["wishes"]:
        raise Refusal("-r reads what is wished for from the file: it takes no --keep and no package beside it")
    if flags["verify"] or flags["explain_all"]:
        raise Refusal("-r judges the lines of a file: it takes no --verify and no --explain-all")
    if flags["format_"] not in ("text", "json"):
        raise Refusal(f"-r is printed as text or json, not as {flags['format_']}")


def run_dead_lines(m: Matrix, machine: Machine, flags: dict[str, Any]) -> int:
    """Read, ask, print; 0 no line is dead, 1 one is, 3 one is and nothing fits. Raises Unclear, Refusal."""
    path, q = flags["requirements"], machine.question(())
    answered = dead_lines(m, q, read_lines(path, q))
    from .write import write

    if flags["format_"] == "json":
        data = {"machine": machine, "file": path, **msgspec.structs.asdict(answered)}
        text = msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
    else:
        text = _text(path, machine, answered)
    write(text.encode("utf-8", "backslashreplace"), flags["output"])
    if not answered.dead:
        return 3 if answered.unknown and not answered.takes else 0
    return 1 if answered.instead else 3


def read_lines(path: str, q: Question) -> tuple[Pinned, ...]:
    """The lines of a requirements.txt or (a name that ends in .lock) of a uv.lock. Raises Unclear, Refusal."""
    data = read_bounded(path, _MAX_BYTES, "is over 64 MiB: no list of requirements")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not UTF-8: no list of requirements") from None
    if path.endswith((".yml", ".yaml", ".toml", ".cfg", ".py", ".json")):
        raise Refusal(f"{path} is of a kind that -r does not read: it reads requirements.txt and uv.lock")
    if not path.endswith(".lock"):
        return _few(of_requirements(text, path, q), path)
    from .toml import NotToml, loads

    try:
        content = loads(text)
    except NotToml as error:
        raise Unclear(f"{path} is not valid TOML: {error}") from None
    return _few(of_lock(content, text, path, q), path)


def _few(lines: tuple[Pinned, ...], path: str) -> tuple[Pinned, ...]:
    """Raises Refusal where there are more than anybody writes."""
    if len(lines) > MOST_LINES:
        raise Refusal(f"{path} names torch and its companions more than {MOST_LINES} times: it is not judged")
    return lines


def _text(path: str, machine: Machine, answered: Answered) -> str:
    rows = [f"{path} on {machine}"]
    if not answered.dead:
        gives = f" (it gives torch {answered.takes})" if answered.takes else ""
        rows += [f"  No line is dead{gives}."]
    for one in answered.dead:
        rows += [f"  line {one.number}: {one.text}", f"    dead: {one.reason}"]
    if answered.instead:
        rows += ["", "Write instead:"]
        rows += [f"  --extra-index-url {url}" for url in answered.index.split() if not path.endswith(".lock")]
        rows += [f"  {one.write}" + (f"    # line {one.number}" if one.number else "") for one in answered.instead]
    if answered.instead and path.endswith(".lock"):
        first = answered.instead[0].write.partition("+")[0]
        rows += ["in pyproject.toml, then uv lock; its tables for the index are printed by", ""]
        flags = [f"--gpu {shlex.quote(f'{card.count}x' * (card.count > 1) + card.name)}" for card in machine.cards]
        flags += [f"--driver {machine.driver}"] if machine.driver else []
        usual = Machine(cards=())
        flags += [
            f"--{name} {getattr(machine, name)}"
            for name in ("os", "arch", "python")
            if getattr(machine, name) != getattr(usual, name)
        ]
        rows += [f"  gpudoctor resolve '{first}' {' '.join(flags)} --format pyproject"]
    elif answered.dead and not answered.instead:
        rows += ["", "Nothing fits in their place: gpudoctor resolve says why."]
    rows += ["", *answered.unknown] if answered.unknown else []
    return "\n".join(rows) + "\n"
