"""Parameters counted in the headers of safetensors files: eight bytes of length, then JSON; the weights stay unread.

Source: github.com/huggingface/safetensors, README, "Format": the header is at most 100 MB.
"""

from __future__ import annotations

import json
import os
from math import prod
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..formats.given import Unopened, file_given

_MOST_HEADER = 100_000_000
_MOST_FILES = 2000
_PACKED = ("qweight", "qzeros", "scales", "g_idx", "weight_scale", "weight_scale_inv", "absmax", "quant_map",
           "weight_packed", "blocks", "gate_up_proj_blocks", "down_proj_blocks", "SCB")  # fmt: skip
_BITS = {
    "F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16, "U16": 16,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I8": 8, "U8": 8, "BOOL": 8, "F4": 4,
}  # fmt: skip
"""Of one element. Source: safetensors/src/tensor.rs, Dtype."""


class Unreadable(Exception):
    """A file that cannot be read: one line that names it, exit 2."""


class Header(Struct, frozen=True):
    """What the files hold. dtypes: elements by type as the files name it; bytes: of all tensors; packed: some weights
    are quantized, so that elements are not parameters."""

    count: int
    dtypes: dict[str, int]
    bytes: int = 0
    packed: bool = False


def headers(path: Path) -> Header | None:
    """Elements of one safetensors file, or of all in a folder; None if there is none.

    Raises Unreadable for a header that is cut, too long or no JSON.
    """
    files = sorted(path.glob("*.safetensors"))[:_MOST_FILES] if path.is_dir() else [path]
    if not files:
        return None
    sizes: dict[str, int] = {}
    names: set[str] = set()
    packed = False
    for file in files:
        for name, entry in _header(file).items():
            if name == "__metadata__":
                continue
            if name in names:  # a file of all weights beside its parts
                continue
            names.add(name)
            packed = packed or name.rpartition(".")[2] in _PACKED
            dtype, size = _elements(file, name, entry)
            sizes[dtype] = sizes.get(dtype, 0) + size
    size = sum(count * _BITS.get(dtype, 16) for dtype, count in sizes.items()) // 8
    return Header(sum(sizes.values()), sizes, size, packed)


def _header(file: Path) -> dict[str, Any]:
    try:
        with file_given(str(file)) as opened:
            whole = os.fstat(opened.fileno()).st_size
            length = int.from_bytes(opened.read(8), "little")
            if whole < 8 or length > min(_MOST_HEADER, whole - 8):
                raise Unreadable(f"{file}: the header gives {length} bytes, but the file has {max(0, whole - 8)}")
            found = json.loads(opened.read(length))
    except Unopened as error:
        raise Unreadable(str(error)) from None
    except OSError as error:
        raise Unreadable(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise Unreadable(f"{file}: its header is not valid JSON") from None
    if not isinstance(found, dict):
        raise Unreadable(f"{file}: its header is not a JSON object")
    return found


def _elements(file: Path, name: str, entry: Any) -> tuple[str, int]:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    whole = isinstance(shape, list) and all(type(size) is int and 0 <= size < 1 << 40 for size in shape)
    if not isinstance(shape, list) or not whole or len(shape) > 16 or not isinstance(entry.get("dtype"), str):
        raise Unreadable(f"{file}: {name[:60]!r} has no shape")
    return entry["dtype"], prod(shape)
