"""The one place that writes a report: stdout, or a file. Whole, or an error that says so."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import IO

from ..findings.patterns import lazy
from ..guard import Refusal
from ..report.clean import visible, visible_bytes

_STREAM = lazy(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/(\d{1,4})")
_NUMBERS = {"stdout": 1, "stderr": 2}


def echo(text: str, err: bool = False, nl: bool = True) -> None:
    """Words for the user on stdout or stderr (`err`), with a line end (`nl`)."""
    stream = sys.stderr if err else sys.stdout
    stream.write(visible(text) + ("\n" if nl else ""))
    stream.flush()


def write(data: bytes, output: str | None, private: bool = False, styled: bool = False, as_it_is: bool = False) -> None:
    """Write to stdout, or to the file `output`, without hidden characters (`visible`).

    private: a new file is for its owner alone; styled: colors of our own are kept; as_it_is: the user's own file, which
    keeps every byte where it does not go to a terminal. Raises Refusal where it cannot, or not whole; BrokenPipeError
    passes.
    """
    if not as_it_is or (output in (None, "-") and sys.stdout.isatty()):
        data = visible_bytes(data.replace(b"\r\n", b"\n") if as_it_is else data, styled)
    if output is None or output == "-":
        to_stdout(data)
        return
    try:
        _to_file(output, (data,), private)
    except OSError as error:
        raise Refusal(f"cannot write {output}: {error.strerror or error}") from None


def write_parts(parts: Iterable[bytes], output: str | None) -> None:
    """The same for what is long: stdout gets each part as it comes, a file gets all or nothing."""
    if output is None or output == "-":
        for part in parts:
            to_stdout(visible_bytes(part))
        return
    import tempfile

    try:
        with tempfile.TemporaryFile() as kept:
            for part in parts:
                kept.write(visible_bytes(part))
            _to_file(output, _Kept(kept), False)
    except OSError as error:
        raise Refusal(f"cannot write {output}: {error.strerror or error}") from None


class _Kept:
    """The bytes of a file, as often as they are asked for."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        return iter(lambda: self._file.read(1 << 20), b"")


def to_stdout(data: bytes) -> None:
    """All of it, also on an unbuffered stream and in a pipe that does not block."""
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
        _all(descriptor, (data,))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Refusal(f"cannot write the report: {error.strerror or error}") from None


def _all(descriptor: int, parts: Iterable[bytes]) -> None:
    """A write may take a part only: the rest is written until it is out or refused. Raises OSError."""
    for part in parts:
        view = memoryview(part)
        while view:
            try:
                view = view[os.write(descriptor, view[: 1 << 20]) :]
            except BlockingIOError:
                import select

                select.select([], [descriptor], [])


def _to_file(path: str, data: Iterable[bytes], private: bool) -> None:
    """A new or plain file is replaced as a whole; what must not or cannot be replaced is written in place."""
    stream = _STREAM.fullmatch(path)
    if stream:  # opened already, perhaps to append: opening it again would start at its beginning
        _all(_NUMBERS.get(stream[1]) or int(stream[2]), data)
        return
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        _replace(path, data, 0o600 if private else 0o666 & ~_umask())
        return
    if stat.S_ISLNK(about.st_mode):
        if about.st_uid not in (os.geteuid() if hasattr(os, "geteuid") else about.st_uid, 0):
            raise OSError(errno.ELOOP, "a symbolic link of another user")
        _in_place(path, data, 0, 0o600 if private else 0o666)
    elif stat.S_ISREG(about.st_mode) and about.st_nlink == 1:
        try:
            _replace(path, data, stat.S_IMODE(about.st_mode))
        except OSError as error:
            # A folder that cannot be written, a file that is a mount point, another file system below it.
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV):
                raise
            _in_place(path, data, getattr(os, "O_NOFOLLOW", 0))
    else:
        _in_place(path, data, getattr(os, "O_NOFOLLOW", 0))


def _in_place(path: str, data: Iterable[bytes], flags: int, mode: int = 0o666) -> None:
    """Over what is there: a device, a pipe that somebody reads, a file that cannot be replaced."""
    flags |= os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, mode)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "a pipe or socket that nobody reads") from None
        raise
    try:
        _all(descriptor, data)
    finally:
        os.close(descriptor)


def _replace(path: str, data: Iterable[bytes], mode: int) -> None:
    """All or nothing: a full disk must not leave half a report behind, nor a name that others could foresee."""
    beside = f"{path}.{os.urandom(8).hex()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(beside, flags, 0o600)
    try:
        try:
            _all(descriptor, data)
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
        os.replace(beside, path)  # noqa: PTH105
    except BaseException:
        os.unlink(beside)  # noqa: PTH108
        raise


def _umask() -> int:
    """Reading it means setting it; nothing else makes files meanwhile."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
