"""Reading the data files: which file holds which rows, decoded on first use."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, cast

import msgspec

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")  # noqa: PTH100, PTH118, PTH120
_MAX_BYTES = 16 << 20

# File name without .json -> module and row type.
TABLES = {
    "drivers": ("rows_driver", "DriverBranch"),
    "toolkits": ("rows_driver", "Toolkit"),
    "cuda_majors": ("rows_driver", "CudaMajor"),
    "forward_compat": ("rows_driver", "ForwardCompat"),
    "forward_compat_rules": ("rows_driver", "ForwardCompatRule"),
    "compat_notes": ("rows_driver", "CompatNote"),
    "compute_capability": ("rows_code", "Capability"),
    "ptx_portability": ("rows_code", "PtxTarget"),
    "binary_rules": ("rows_code", "BinaryRule"),
    "torch_releases": ("rows_torch", "TorchRelease"),
    "torch_builds": ("rows_torch", "TorchBuild"),
    "index_urls": ("rows_torch", "IndexUrl"),
    "conda": ("rows_torch", "CondaBuild"),
    "companions": ("rows_torch", "Companion"),
    "preloads": ("rows_torch", "Preload"),
    "torch_requires": ("rows_torch", "TorchRequires"),
    "gpus": ("rows_gpu", "Gpu"),
    "boards": ("rows_gpu", "Board"),
    "gpu_specs": ("rows_gpu", "GpuSpec"),
    "cudnn": ("rows_library", "Cudnn"),
    "nccl": ("rows_library", "Nccl"),
    "frameworks": ("rows_library", "Framework"),
    "cuda_errors": ("rows_library", "CudaError"),
    "nvml_errors": ("rows_library", "NvmlError"),
    "images": ("rows_more", "Image"),
    "ngc_images": ("rows_more", "NgcImage"),
    "extensions": ("rows_more", "Extension"),
    "extension_wheels": ("rows_more", "ExtensionWheel"),
    "extension_indexes": ("rows_more", "ExtensionIndex"),
    "mig": ("rows_more", "MigProfile"),
    "performance": ("rows_more", "Performance"),
    "nvlink": ("rows_more", "NvLink"),
    "pcie": ("rows_more", "Pcie"),
    "cpus": ("rows_more", "Cpu"),
    "rocm": ("rows_more", "Rocm"),
    "publishers": ("rows_more", "Publisher"),
}

# What makes a row of a table unique.
KEYS = {
    "drivers": ("branch",), "toolkits": ("version",), "cuda_majors": ("major",), "forward_compat": ("cuda",),
    "forward_compat_rules": ("rule",), "compat_notes": ("libcuda",), "compute_capability": ("cc",),
    "ptx_portability": ("target",), "binary_rules": ("device", "code", "rule"), "torch_releases": ("torch",),
    "torch_builds": ("torch", "tag", "platform"), "conda": ("torch", "cuda", "platform"),
    "index_urls": ("tag",), "gpus": ("id",), "gpu_specs": ("id",),
    "boards": ("name", "cc"),
    "companions": ("torch", "package", "version"), "preloads": ("torch",),
    "torch_requires": ("torch",), "cudnn": ("version",), "nccl": ("version",),
    "frameworks": ("package", "version", "cuda"),
    "ngc_images": ("release",),
    "extensions": ("package", "version"), "extension_wheels": ("package", "version", "cuda", "torch"),
    "extension_indexes": ("package", "version", "tag"), "rocm": ("torch", "rocm"), "pcie": ("gen",),
    "publishers": ("table", "package"),
}  # fmt: skip


class MatrixError(Exception):
    """The matrix files cannot be used: missing, not JSON, a different structure, or a newer schema."""


def read(directory: str, name: str) -> bytes:
    """The bytes of one data file. Raises MatrixError."""
    try:
        with open(f"{directory}/{name}.json", "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise MatrixError(f"matrix file {name}.json: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise MatrixError(f"matrix file {name}.json is larger than {_MAX_BYTES >> 20} MiB")
    return data


def decode(directory: str, name: str, kind: Any) -> Any:
    """One data file decoded as `kind`. Raises MatrixError."""
    try:
        return msgspec.json.decode(read(directory, name), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MatrixError(f"matrix file {name}.json: {error}") from error


def row_type(name: str) -> type[msgspec.Struct]:
    """The row type of a table; KeyError for an unknown name."""
    module, row = TABLES[name]
    return cast("type[msgspec.Struct]", getattr(import_module(f".{module}", __package__), row))


def row_name(row: msgspec.Struct) -> tuple[str, str]:
    """(table, what identifies a row within its table): ('torch_builds', '2.8.0 cu128 linux_x86_64')."""
    kind = type(row).__name__
    table = next(name for name, (_, row_type) in TABLES.items() if row_type == kind)
    columns = KEYS.get(table) or [f for f in row.__struct_fields__ if f not in ("source", "confidence", "note")][:3]
    return table, " ".join(str(value) for name in columns if (value := getattr(row, name)) not in (None, ""))
