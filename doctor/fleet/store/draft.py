"""A database that is being written: next to its final name, locked, and moved there whole or not at all; or put there
first, where a long run fills it, so that a killed run leaves what it had stored."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import stat
from pkgutil import get_data

from ...formats.given import Unopened
from ...guard import Refusal
from .opened import APPLICATION_ID, SCHEMA_VERSION, is_growing, refuse_other

DRAFT_ID = 0x67706470
"""`gpdp` in the header of what is not finished."""
_PAGE_BYTES = 8192
_CACHE_KIB = 16_384


class Draft:
    """`with Draft(path) as draft:` fill `draft.db`, then `draft.finish()`; without that nothing is left behind."""

    def __init__(self, path: str) -> None:
        """Raises Refusal: no place to write, a file that is not a fleet database, or a second run that writes it."""
        self._shown = path
        self._path = os.path.realpath(path)
        self._part = f"{self._path}.part"
        self._mode = _mode(path, self._path)
        self._kept = False
        self._lock = self._locked()
        try:
            self.db = sqlite3.connect(self._part, isolation_level=None)
            for pragma in (f"page_size = {_PAGE_BYTES}", "journal_mode = off", "synchronous = off",
                           f"cache_size = -{_CACHE_KIB}", "locking_mode = exclusive", "temp_store = memory",
                           f"application_id = {DRAFT_ID}", f"user_version = {SCHEMA_VERSION}"):  # fmt: skip
                self.db.execute(f"pragma {pragma}")
            self.db.executescript((get_data(__package__, "schema.sql") or b"").decode("utf-8"))
            self.db.execute("begin")
        except sqlite3.Error as error:
            self._drop()
            raise self._refusal(error) from None

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        self._drop()
        if isinstance(error, sqlite3.Error):
            raise self._refusal(error) from None

    def finish(self) -> None:
        """Put it in its place. Raises Refusal if that cannot be done; the old file is intact then."""
        try:
            if self._kept:
                self.db.execute("commit")
                self.db.close()
                return
            self._put()
        except (sqlite3.Error, OSError) as error:
            raise self._refusal(error) from None

    def commit(self) -> None:
        """Store what came since the last one, in its place: it stays, whatever ends this process.

        Raises Refusal if that cannot be done; the first time, the old file is intact then.
        """
        try:
            if self._kept:
                self.db.execute("commit")
            else:
                self._put()
                self._kept = True
                self.db = sqlite3.connect(self._path, isolation_level=None)
                for pragma in (f"cache_size = -{_CACHE_KIB}", "temp_store = memory", "synchronous = normal"):
                    self.db.execute(f"pragma {pragma}")
            self.db.execute("begin")
        except (sqlite3.Error, OSError) as error:
            raise self._refusal(error) from None

    def _put(self) -> None:
        self.db.execute(f"pragma application_id = {APPLICATION_ID}")
        self.db.execute("commit")
        self.db.close()
        os.fsync(self._lock)
        os.fchmod(self._lock, self._mode)
        with contextlib.suppress(FileNotFoundError):  # of a killed run: it must not be taken for the new file's
            os.unlink(f"{self._path}-journal")  # noqa: PTH108
        os.replace(self._part, self._path)  # noqa: PTH105

    def _locked(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self._part, flags, 0o600)
        except OSError as error:
            raise self._refusal(error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.stat(self._part), os.fstat(descriptor)):  # noqa: PTH116
                raise BlockingIOError  # the other run has just put it in its place
            if not _is_leftover(descriptor):
                os.close(descriptor)
                raise Refusal(
                    f"cannot write {self._shown}: {self._part} is in the way and does not belong to gpudoctor"
                )
            os.ftruncate(descriptor, 0)
        except (BlockingIOError, FileNotFoundError):
            os.close(descriptor)
            raise Refusal(f"cannot write {self._shown}: another run of gpudoctor fleet is writing it") from None
        except OSError as error:
            os.close(descriptor)
            raise self._refusal(error) from None
        return descriptor

    def _drop(self) -> None:
        """Close all, and remove what is not in its place yet."""
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self.db.close()
        if self._lock < 0:
            return
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(self._part), os.fstat(self._lock)):  # noqa: PTH116
                os.unlink(self._part)  # noqa: PTH108
        os.close(self._lock)
        self._lock = -1

    def _refusal(self, error: Exception) -> Refusal:
        return Refusal(f"cannot write {self._shown}: {getattr(error, 'strerror', None) or error}")


def _is_leftover(descriptor: int) -> bool:
    """Whether it is empty, or what an interrupted run has left: anything else is somebody's."""
    head = os.pread(descriptor, 100, 0)
    return not head or (head[:16] == b"SQLite format 3\0" and int.from_bytes(head[68:72], "big") == DRAFT_ID)


def _mode(shown: str, path: str) -> int:
    """Permissions of the file that will be there. Raises Refusal if what is there must not be replaced."""
    try:
        about = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask
    except (OSError, ValueError) as error:
        raise Refusal(f"cannot write {shown}: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(about.st_mode):
        raise Refusal(f"cannot write {shown}: it is not a regular file")
    if about.st_size:
        try:
            refuse_other(path)
            if is_growing(path):
                raise Refusal(f"cannot write {shown}: another run of gpudoctor fleet is writing it")
        except Unopened as error:
            raise Refusal(f"{str(error).replace(path, shown, 1)}; it will not be replaced") from None
    return stat.S_IMODE(about.st_mode)
