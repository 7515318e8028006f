"""A build hook of hatchling: the wheel once more, with its files packed as well as it can be done here, and the code
without comments, the strings below constants and fields, which Python drops too, and the docstrings of plain functions
outside the public package, which nothing reads: those with a decorator may be a command's help. Every line keeps its
number, for tracebacks.

With the package `deflate` (libdeflate), which a release is built with, 2.5 % smaller than hatchling packs it; else with
zlib's best level, half a percent.
"""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import io
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

try:
    from deflate import deflate_compress
except ImportError:
    deflate_compress = None

PUBLIC = "gpudoctor/"
METHOD, SIZES = 8, 14
"""Where a local header has the method, and the CRC-32 with both sizes. Source: PKWARE's APPNOTE.TXT, 4.3.7."""


class PackedWheel(BuildHookInterface):  # type: ignore[type-arg]
    """Names, order, dates, and all contents but comments are those that hatchling wrote."""

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is there; an editable one has nothing to pack."""
        if version != "standard":
            return
        packed = f"{artifact_path}.part"
        with zipfile.ZipFile(artifact_path) as wheel, open(packed, "w+b") as file:
            with zipfile.ZipFile(file, "w") as smaller:
                data = {entry.filename: wheel.read(entry) for entry in wheel.infolist()}
                for entry in wheel.infolist():
                    _add(smaller, entry, _shipped(entry.filename, data))
            for entry in smaller.infolist():
                file.seek(entry.header_offset + METHOD)
                file.write(struct.pack("<H", entry.compress_type))
                file.seek(entry.header_offset + SIZES)
                file.write(struct.pack("<III", entry.CRC, entry.compress_size, entry.file_size))
        Path(packed).replace(artifact_path)


def _add(wheel: zipfile.ZipFile, entry: zipfile.ZipInfo, data: bytes) -> None:
    """The packed bytes as they are; what the local header says of them is put right at the end."""
    wheel.writestr(entry, _deflated(data), zipfile.ZIP_STORED)
    entry.compress_type, entry.CRC, entry.file_size = zipfile.ZIP_DEFLATED, zlib.crc32(data), len(data)


def _shipped(name: str, data: dict[str, bytes]) -> bytes:
    """A file as the wheel has it: Python without comments, and RECORD with the hashes of what is shipped."""
    if name.endswith(".dist-info/RECORD"):
        return "".join(_row(line, data) for line in data[name].decode().splitlines(keepends=True)).encode()
    return shipped_code(name, data[name]) if name.endswith(".py") else data[name]


def _row(line: str, data: dict[str, bytes]) -> str:
    ((name, checksum, *_),) = csv.reader([line])
    if not checksum or not name.endswith(".py"):
        return line
    shipped = shipped_code(name, data[name])
    digest = base64.urlsafe_b64encode(hashlib.sha256(shipped).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(shipped)}\n"


def shipped_code(name: str, code: bytes) -> bytes:
    """Python code with the same lines, but no comments (the first two lines keep theirs) and no string that is a
    statement of its own; docstrings stay, except those that `unread_docstrings` finds. name: the file in the wheel."""
    lines = code.split(b"\n")
    for token in tokenize.tokenize(io.BytesIO(code).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT and row > 2:
            text = lines[row - 1].decode("utf-8")
            lines[row - 1] = text[:column].rstrip().encode()
    tree = ast.parse(code)
    for string in [*below_names(tree), *([] if name.startswith(PUBLIC) else unread_docstrings(tree))]:
        lines[string.lineno - 1 : string.end_lineno] = [b""] * (string.end_lineno - string.lineno + 1)
    return b"\n".join(lines)


def below_names(tree: ast.Module) -> list[ast.stmt]:
    """The strings that are statements of their own and no docstring: each stands after another statement."""
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.ClassDef))]
    return [one for body in bodies for one in body[1:] if isinstance(one, ast.Expr) and _is_string(one.value)]


def unread_docstrings(tree: ast.Module) -> list[ast.stmt]:
    """The docstrings of functions without a decorator, where a statement is left without them."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.decorator_list:
            first, *rest = node.body
            own_line = first.lineno > node.lineno
            if rest and own_line and isinstance(first, ast.Expr) and _is_string(first.value):
                found.append(first)
    return found


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _deflated(data: bytes) -> bytes:
    if deflate_compress is not None:
        return bytes(deflate_compress(data, 12))
    best = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    return best.compress(data) + best.flush()
