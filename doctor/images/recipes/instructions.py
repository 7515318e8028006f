"""A Dockerfile's instructions with their lines, parsed with BuildKit's own parser, else with dockerfile-parse.

The latter mistakes heredoc bodies for instructions: a file with a heredoc is then refused, never judged wrongly.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from msgspec import Struct

from ...extra import extra_line

_HEREDOC = re.compile(r"(?<!<)<<-?\s*[\"']?([A-Za-z_]\w*)[\"']?(?![^\n]*\\\n\s*<<<)")
MOST_BYTES = 4 << 20
_MOST_LINES = 10_000
"""BuildKit's parser uses 1.3 kB for each, and ends the process where no memory is left: counted before it starts."""
_MOST_CONTINUED = 5000
_WORDS = {
    "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER", "ONBUILD",
    "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
}  # fmt: skip


class Unparsed(Exception):
    """A file that cannot be read as a Dockerfile: one line. `unknown`: it may be right (exit 3), else exit 2.

    `other`: YAML that is neither a compose file nor a manifest, or a template.
    """

    def __init__(self, text: str, unknown: bool = False, other: bool = False) -> None:
        super().__init__(text)
        self.unknown, self.other = unknown, other


def template(name: str, render: str = "") -> Unparsed:
    """That a file has to be rendered before it can be judged; `render`: the command that does it."""
    how = f": {render}" if render else ""
    return Unparsed(f"{name}: a template; render it first, then check the result{how}", other=True)


class Instruction(Struct, frozen=True, kw_only=True):
    """One instruction. value: everything after its word, continued lines joined, flags included; body: of heredocs."""

    word: str
    value: str
    line: int
    end: int
    body: str = ""

    @property
    def shell(self) -> str:
        """What a RUN executes."""
        return f"{_without_flags(self.value)}\n{self.body}" if self.body else _without_flags(self.value)


def _without_flags(value: str) -> str:
    return re.sub(r"^(?:--[\w-]+(?:=\S+)?\s+)+", "", value)


def instructions(text: str, name: str) -> list[Instruction]:
    """All of them. Raises Unparsed with the line."""
    if len(text) > MOST_BYTES:
        raise Unparsed(f"{name}: {len(text) >> 20} MiB is too large for a Dockerfile")
    lines, continued = _lines(text)
    if lines > _MOST_LINES:
        raise Unparsed(f"{name}: more than {_MOST_LINES} lines: not judged")
    if continued > _MOST_CONTINUED:
        raise Unparsed(f"{name}: a command with more than {_MOST_CONTINUED} continued lines: not judged")
    try:
        import dockerfile
    except ImportError:
        found = list(_by_dockerfile_parse(text, name))
    else:
        found = list(_by_buildkit(dockerfile, text, name))
    if not found:
        raise Unparsed(f"{name}: contains no instructions")
    for one in found:
        if one.word not in _WORDS:
            raise Unparsed(f"{name}:{one.line}: {one.word[:40]!r} is not a Dockerfile instruction")
    if not any(one.word == "FROM" for one in found):
        raise Unparsed(f"{name}: not a Dockerfile (it has no FROM)")
    return found


def _lines(text: str) -> tuple[int, int]:
    """Lines that may be commands, and lines of the longest one: both parsers copy a command for each of its lines."""
    longest = count = lines = 0
    for row in text.split("\n"):
        plain = row.strip()
        if plain and not plain.startswith("#"):  # these end no command
            count = count + 1 if plain.endswith(("\\", "`")) else 0
            longest = max(longest, count)
            lines += not count
    return lines, longest


def _by_buildkit(parser: object, text: str, name: str) -> Iterator[Instruction]:
    try:
        commands = parser.parse_string(text)  # type: ignore[attr-defined]
    except Exception as error:
        why = next(iter(str(error).splitlines()), "BuildKit's parser cannot read it")
        raise Unparsed(f"{name}: {why[:200]}") from None
    for one in commands:
        if not one.cmd:  # a line of a backslash alone
            continue
        value = one.original.split("\n")[0] if one.heredocs else one.original
        value = re.sub(r"^\s*\w+\s*", "", value)
        body = "\n".join(doc.content for doc in one.heredocs)
        yield Instruction(word=one.cmd.upper(), value=value.strip(), line=one.start_line, end=one.end_line, body=body)


def _by_dockerfile_parse(text: str, name: str) -> Iterator[Instruction]:
    try:
        from dockerfile_parse import DockerfileParser
    except ImportError:
        raise Unparsed(f"Dockerfiles need the dockerfile-parse package: {extra_line('image')}") from None
    for number, row in enumerate(text.split("\n"), 1):
        if re.match(r"\s*(?:RUN|COPY|ADD)\b", row, re.I) and _HEREDOC.search(row):
            raise Unparsed(
                f"{name}: heredoc at line {number}: requires the dockerfile extra: {extra_line('dockerfile')}",
                unknown=True,
            )
    for one in DockerfileParser(fileobj=io.BytesIO(text.encode())).structure:
        if one["instruction"] != "COMMENT":
            yield Instruction(
                word=one["instruction"].upper(), value=one["value"].strip(), line=one["startline"] + 1,
                end=one["endline"] + 1,
            )  # fmt: skip
