"""A build hook of hatchling: the wheel once more, with its files packed as well as zip can (level 9 instead of 6), and
the tables of the matrix without the blanks that people read them by."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackedWheel(BuildHookInterface):
    """Half a percent smaller; names, order, dates, and all other contents are those that hatchling wrote."""

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is there; an editable one has nothing to pack."""
        if version != "standard":
            return
        packed = f"{artifact_path}.part"
        with zipfile.ZipFile(artifact_path) as wheel, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as smaller:
            changed: dict[str, str] = {}
            for entry in wheel.infolist():  # RECORD is the last one
                data = wheel.read(entry)
                if entry.filename.startswith("compat_matrix/data/") and entry.filename.endswith(".json"):
                    old, data = data, _without_blanks(data)
                    changed[_record(entry.filename, old)] = _record(entry.filename, data)
                elif entry.filename.endswith(".dist-info/RECORD"):
                    lines = data.decode().splitlines()
                    data = "".join(f"{changed.pop(line, line)}\n" for line in lines).encode()
                smaller.writestr(entry, data, zipfile.ZIP_DEFLATED, compresslevel=9)
            if changed:
                raise ValueError(f"not in RECORD as it was: {list(changed)}")
        Path(packed).replace(artifact_path)


def _without_blanks(data: bytes) -> bytes:
    """The same JSON; a list keeps one row in a line, as `matrix lint` asks for."""
    found = json.loads(data)
    write = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
    rows = ",\n".join(map(write, found)) if isinstance(found, list) else ""
    return (f"[\n{rows}\n]\n" if rows else write(found)).encode()


def _record(name: str, data: bytes) -> str:
    """A file's line in RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(data)}"
