"""The gpudoctor that is installed on the nodes (`fleet run --command`): the line that runs it, and what went wrong."""

from __future__ import annotations

import re
import shlex

import msgspec

from ..guard import Refusal
from ..judge.report import REPORT_SCHEMA_VERSION, Tool
from ..judge.saved import READING, refuse_version, unreadable
from .gather import BEGINS, FAILS, PATH, Probe

_UNSAFE = re.compile(r"[\x00-\x1f\x7f']")
_OLD = re.compile(r"no such (?:command|option)", re.I)
_LONGEST = 200


def command_words(text: str) -> list[str]:
    """The words of --command, as a shell splits them. Raises Refusal."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Refusal(f"--command {text[:80]!r}: {str(error).lower()}") from None
    if not words or not words[0]:
        raise Refusal(
            "--command needs the command that runs gpudoctor on the nodes, such as /opt/gpudoctor/bin/gpudoctor"
        )
    for word in words:
        refuse_unsafe("--command", word)
    return words


def refuse_unsafe(flag: str, word: str) -> None:
    """Raises Refusal for a word that cannot be quoted for every shell on the way."""
    if _UNSAFE.search(word):
        raise Refusal(f"{flag} {word[:80]!r}: its words cannot contain single quotes or control characters")


def probe_of_command(run: str, text: str, arguments: list[str], node_s: float) -> Probe:
    """The probe that runs the nodes' own gpudoctor. text: of --command; arguments: of `fleet answer`, after the run.

    Raises Refusal.
    """
    line = " ".join(_quoted(word) for word in [*command_words(text), "fleet", "answer", run, *arguments])
    command = (
        f'{PATH}; echo "{BEGINS.decode()} {run} $SLURMD_NODENAME"; '
        f"{line} 2>&1; code=$?; test $code -eq 0 || echo {FAILS.decode()} {run} $code"
    )
    return Probe(run, command, b"", node_s, text)


def probe_of_pair(run: str, text: str, arguments: list[str], pair_s: float) -> Probe:
    """What each rank of a pair runs: the nodes' own gpudoctor. text: of --command; arguments: all of it.

    Raises Refusal.
    """
    line = " ".join(_quoted(word) for word in [*command_words(text), *arguments])
    command = (
        f'{PATH}; echo "{BEGINS.decode()} {run} $SLURMD_NODENAME"; '
        f"{line}; code=$?; test $code -lt 126 || echo {FAILS.decode()} {run} $code; exit $code"
    )
    return Probe(run, command, b"", pair_s, text)


def why_failed(command: str, code: str, last: str) -> str:
    """Why there was no answer. code: the exit code of the user's command; last: the last line that it printed."""
    shown = command[:_LONGEST]
    if code in ("126", "127"):
        return f"{shown} was not found there: install gpudoctor on the node, or give its path with --command"
    if _OLD.search(last):
        return "its gpudoctor is too old for fleet run --command: update it there"
    last = last.removeprefix("gpudoctor: ").strip()[:_LONGEST]
    return f"{shown} ended with exit code {code}" + (f": {last}" if last else "")


class _Head(msgspec.Struct, frozen=True):
    schema_version: int | None = None
    tool: Tool = Tool("", "")
    snapshot: msgspec.Raw = msgspec.Raw()


def refuse_newer(answer: bytes) -> None:
    """Raises Refusal for what is no report, and for one of a schema that this gpudoctor does not read."""
    try:
        head = msgspec.json.decode(answer, type=_Head)
    except READING as error:
        raise unreadable("its answer", error) from None
    if head.schema_version is not None and head.schema_version > REPORT_SCHEMA_VERSION:
        theirs = f" {head.tool.version[:40]}" if head.tool.version else ""
        raise Refusal(
            f"its gpudoctor{theirs} writes report schema {head.schema_version}, but this one reads only up to "
            f"{REPORT_SCHEMA_VERSION}: update gpudoctor here"
        )
    refuse_version(head.schema_version, bool(bytes(head.snapshot)), "its answer")


def _quoted(word: str) -> str:
    """For a shell, without single quotes. A leading `~/` is the home folder there."""
    home, rest = ("~/", word[2:]) if word.startswith("~/") else ("", word)
    if rest and re.fullmatch(r"[\w@%+=:,./-]+", rest, re.ASCII):
        return home + rest
    return home + '"' + re.sub(r'([\\"$`])', r"\\\1", rest) + '"'
