"""Opening a fleet's database to read: nothing is written, and what is none is one line."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import urllib.parse

from ...formats.given import Unopened, file_given

APPLICATION_ID = 0x67706466
"""`gpdf` in the file's header."""
SCHEMA_VERSION = 3
DAMAGE = (sqlite3.Error, UnicodeError, OverflowError)
"""What reading a damaged file raises; sqlite3's own messages may be no UTF-8 then."""
_PATIENCE_S = 10.0
"""For a run that is just storing."""
HEAP_BYTES = 256 << 20
"""What SQLite may hold in memory, whatever a query makes of its words."""


def connect(path: str) -> sqlite3.Connection:
    """A read-only connection. Raises Unopened with one line if there is no database of this kind and schema."""
    refuse_other(path)
    growing = is_growing(path)
    if not growing:
        _roll_back(path)
    quoted = urllib.parse.quote(os.path.abspath(path))  # noqa: PTH100
    how = "" if growing else "&immutable=1"
    db = sqlite3.connect(f"file:{quoted}?mode=ro{how}", uri=True, timeout=_PATIENCE_S)
    try:
        db.execute("pragma trusted_schema = off")
        db.execute("pragma temp_store = memory")
        db.execute("pragma cell_size_check = on")
        db.execute(f"pragma hard_heap_limit = {HEAP_BYTES}")
        db.execute("select count(*) from sqlite_master").fetchone()
    except DAMAGE as error:
        db.close()
        raise Unopened(f"{path} cannot be read as a fleet database: {error}") from None
    return db


def is_growing(path: str) -> bool:
    """Whether a run of `gpudoctor fleet` still writes this database."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False


def _roll_back(path: str) -> None:
    """A run that was killed while it stored left a journal: undo what is half stored. Raises Unopened if it cannot."""
    try:
        if not os.stat(f"{path}-journal").st_size:  # noqa: PTH116
            return
        with contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE_S)) as db:
            db.execute("select count(*) from sqlite_master").fetchone()
            db.execute("begin immediate")
    except FileNotFoundError:
        return
    except (OSError, *DAMAGE) as error:
        words = f"{path} was left behind by a killed run, and {path}-journal cannot be applied: {error}"
        raise Unopened(words) from None


def refuse_other(path: str) -> None:
    """Raises Unopened if the file at `path` cannot be read, or is not a fleet database of this schema."""
    with file_given(path) as file:
        try:
            head = file.read(100)
        except OSError as error:
            raise Unopened(f"cannot read {path}: {error.strerror or error}") from None
    if head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise Unopened(f"{path} is not a gpudoctor fleet database")
    version = int.from_bytes(head[60:64], "big")
    if version != SCHEMA_VERSION:
        newer = ": update gpudoctor" if version > SCHEMA_VERSION else ": load the reports again"
        raise Unopened(f"{path} has fleet schema {version}, but this gpudoctor reads {SCHEMA_VERSION}{newer}")
