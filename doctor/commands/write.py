"""The one place that writes a report, to stdout or a file: completely, or with an error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any

from ..guard import Refusal
from ..report.clean import ascii_only, visible, visible_bytes
from .file_out import to_file, write_all


def echo(text: str, err: bool = False, nl: bool = True) -> None:
    """Print text for the user on stdout or stderr (`err`), with a newline (`nl`)."""
    stream = sys.stderr if err else sys.stdout
    stream.write(visible(text) + ("\n" if nl else ""))
    stream.flush()


def write(data: bytes, output: str | None, private: bool = False, styled: bool = False, as_it_is: bool = False) -> None:
    """Write to stdout, or to the file `output`, without hidden characters (`visible`).

    private: only its owner can read a new file; styled: keep our own colors; as_it_is: the user's own file, which keeps
    every byte unless it goes to a terminal. Raises Refusal if it cannot be written completely; BrokenPipeError passes.
    """
    if not as_it_is or (output in (None, "-") and sys.stdout.isatty()):
        data = visible_bytes(data.replace(b"\r\n", b"\n") if as_it_is else data, styled)
    if output is None or output == "-":
        to_stdout(data)
        return
    try:
        to_file(output, (data,), private)
    except OSError as error:
        raise Refusal(f"cannot write {output}: {error.strerror or error}") from None


def answer(text: str, flags: dict[str, Any]) -> None:
    """Write a command's answer, in ASCII if its text must be. Raises Refusal as `write` does."""
    from .display import only_ascii, styled

    if flags["format_"] in ("text", "markdown") and only_ascii(flags):
        text = ascii_only(text)
    write(text.encode("utf-8", "backslashreplace"), flags["output"], styled=styled(flags))


def first_paragraph(text: str) -> str:
    """Up to the first blank line: the line to type, or the verdict."""
    return text.partition("\n\n")[0].rstrip("\n") + "\n"


def write_parts(parts: Iterable[bytes], output: str | None) -> None:
    """The same for long output: stdout gets each part as it comes, a file gets all or nothing."""
    if output is None or output == "-":
        for part in parts:
            to_stdout(visible_bytes(part))
        return
    import tempfile

    try:
        with tempfile.TemporaryFile() as kept:
            for part in parts:
                kept.write(visible_bytes(part))
            to_file(output, _Kept(kept), False)
    except OSError as error:
        raise Refusal(f"cannot write {output}: {error.strerror or error}") from None


class _Kept:
    """The bytes of a file, readable more than once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        return iter(lambda: self._file.read(1 << 20), b"")


def to_stdout(data: bytes) -> None:
    """Write all of it, also to an unbuffered stream or a non-blocking pipe."""
    if getattr(sys.stdout, "was_closed", False):
        raise Refusal("cannot write the report: standard output is closed")
    sys.stdout.flush()
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # no file: somebody calls us from Python
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        write_all(descriptor, (data,))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Refusal(f"cannot write the report: {error.strerror or error}") from None
