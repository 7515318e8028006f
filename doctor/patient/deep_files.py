"""Compare every file of torch, its CUDA wheels and Triton with the hash that RECORD has: what `check --deep` adds.

Lines: hashed {done, of} (MiB, at most one for each 64 MiB), and at the end deep {files, changed: [{path, package,
version, site, state, size, whole}]}; state: missing, empty, content (of the size that was installed) or size.
"""

from __future__ import annotations

import base64
import csv
import os
from typing import Any, Dict, Iterator, List, Tuple

from .files import Files
from .path_words import clean

_BLOCK = 1 << 20
_EACH_MIB = 64
_MAX_RECORD = 64 << 20
_MAX_CHANGED = 1000
Row = Tuple[str, str, int]


def hash_files(files: Files, folders: List[Tuple[str, str, str, str]]) -> None:
    """Emit the lines above. `folders`: (site-packages, metadata folder, package, version) of each distribution."""
    todo = [(site, name, version, row) for site, folder, name, version in folders for row in _rows(files, folder)]
    total = sum(row[2] for _, _, _, row in todo) >> 20
    done, emitted = 0, 0
    changed: List[Dict[str, Any]] = []
    files.emit({"at": "hashed", "done": 0, "of": total})
    for site, name, version, (path, digest, size) in todo:
        state, found = _compare(files, site + "/" + path, digest, size)
        if state:
            names = {"path": clean(path), "package": clean(name), "version": clean(version), "site": clean(site)}
            changed.append(dict(names, state=state, size=found, whole=size))
        done += size
        if (done >> 20) - emitted >= _EACH_MIB:
            emitted = done >> 20
            files.emit({"at": "hashed", "done": emitted, "of": total})
    files.emit({"at": "deep", "files": len(todo), "changed": files.first(changed, _MAX_CHANGED, "changed-files")})


def _rows(files: Files, folder: str) -> Iterator[Row]:
    """(path, digest, bytes) of the files that RECORD has a SHA-256 for."""
    text = files.peek(folder + "/RECORD", _MAX_RECORD) or ""
    for row in csv.reader(text.splitlines()):
        if len(row) != 3 or not row[1].startswith("sha256=") or not row[2].isdecimal():
            continue
        if not row[0].startswith(("/", "..")) and "\0" not in row[0]:
            yield row[0], row[1][7:], int(row[2])


def _compare(files: Files, path: str, digest: str, size: int) -> Tuple[str, int]:
    """(what is wrong or '', bytes)."""
    found = files.size(path)
    if found < 0:
        return "missing", 0
    if found != size:
        return ("size" if found else "empty"), found
    return ("" if _sha256(files.on_disk(path)) == digest.rstrip("=") else "content"), found


def _sha256(path: str) -> str:
    """As RECORD writes it; empty where it cannot be read."""
    from hashlib import sha256

    whole = sha256()
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            while True:
                block = os.read(descriptor, _BLOCK)
                if not block:
                    break
                whole.update(block)
        finally:
            os.close(descriptor)
    except OSError:
        return ""
    return base64.urlsafe_b64encode(whole.digest()).rstrip(b"=").decode()
