"""Files that contain no reports, by their first bytes: one line for a whole file, whatever lines it has."""

from __future__ import annotations

from .store.draft import DRAFT_ID
from .store.opened import APPLICATION_ID

HEAD_BYTES = 512
"""So many of a file's first bytes say of what kind it is."""
OF_ANOTHER_KIND = "is not a gpudoctor report, so it was not read"
FOLDER_LINK = "is a link to a folder: it was not followed"
_NOT_ANSWERS = frozenset((OF_ANOTHER_KIND, FOLDER_LINK))
"""Reasons of files that are no answer of any node: nothing is unknown because of them."""

_PACKED = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\xfd7zXZ\0", "packed with xz"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd"),
    (b"BZh", "packed with bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x04\x22\x4d\x18", "packed with lz4"),
    (b"\x1f\x8b", "packed with gzip twice"),
)
"""How these begin. Sources: APPNOTE.TXT 4.3.7, xz-file-format 2.1.1.1, RFC 8878 3.1.1, the bzip2 manual, 7zFormat.txt,
lz4_Frame_format.md, RFC 1952 2.3.1."""
_OTHERS = (
    (b"SQLite format 3\0", "an SQLite database"), (b"%PDF-", "a PDF"), (b"\x7fELF", "a program or library"),
    (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"), (b"GIF8", "a picture"), (b"PAR1", "a Parquet file"),
)  # fmt: skip


def foreign(head: bytes) -> str:
    """What a file is that begins with these bytes, as the end of `FILE ...`; empty if it may contain reports.

    head: unpacked, `HEAD_BYTES` of them where there are so many.
    """
    if is_database(head):
        return (
            "is a fleet load database, not a report: read it with gpudoctor fleet report, or give fleet load the "
            "reports that it was made from"
        )
    for start, words in _PACKED:
        if head.startswith(start):
            return f"is {words}: unpack it first, or pack it as .gz"
    if head[257:262] == b"ustar":
        return "is a tar archive: unpack it first"
    return next((f"is {words}, not a report" for start, words in _OTHERS if head.startswith(start)), "")


def is_unread(reason: str) -> bool:
    """Whether a refused file or line may have been a node's answer."""
    return reason not in _NOT_ANSWERS


def is_database(head: bytes) -> bool:
    """Whether these bytes begin a database that `gpudoctor fleet` wrote, or was writing."""
    return head[:16] == b"SQLite format 3\0" and int.from_bytes(head[68:72], "big") in (APPLICATION_ID, DRAFT_ID)
