"""Which fields and variables hold what: versions and our own words, names, identities, secrets."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from .fact import Missing

NEVER = frozenset(
    (  # noqa: SIM905
        "id kind status severity layer where missing role libc architecture system os_id os_name kernel "
        "cpu_model sha256 base64 soname arch section sass ptx special_sass arch_text arch_list modules "
        "compute_capability build cuda hip vbios cu_init_name pci_address pci_device_id pci_subsystem_id "
        "vendor device address class_code generated_at gathered_at requires_python installer "
        "implementation image_cuda image_torch driver_capabilities at "
    ).split()
)
"""Fields that hold versions, identifiers of products, or words of our own."""
ONLY_SECRETS = ("requires", "wheel")
"""Lines of requirements: a URL in them may hold a token, what looks like an address is a version."""
COMMANDS = ("command", "note")
"""What holds words to type."""
OURS = ("policy", "tool", "matrix")
NO_TEXT = (type(None), bool, int, float)
"""Types of fields that have nothing to mask."""
DEVICE_LISTS = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "visible_devices")
USER_VARIABLES = ("USER", "LOGNAME", "SUDO_USER", "USERNAME")
HOST_VARIABLES = ("HOSTNAME", "MASTER_ADDR", "NCCL_HOSTID", "SLURMD_NODENAME", "SM_CURRENT_HOST",
                   "RUNPOD_POD_HOSTNAME", "TORCHELASTIC_HOSTNAME", "hostname", "nodename")  # fmt: skip
IDENTITY = ("_POD_ID", "_JOB_ID", "_JOBID", "_TASK_ID", "_RUN_ID", "_NODE_ID", "_PROJECT_ID", "_WORKLOAD_ID",
             "CONTAINERLABEL", "CONTAINER_NAME", "METADATA_URI", "METADATA_URI_V4", "WORKSTATIONS")  # fmt: skip
IDENTITIES = ("JOB_ID", "SPACE_ID")
SECRETS = ("TOKEN", "SECRET", "PASSW", "CREDENTIAL", "APIKEY", "AUTHORIZATION", "_PWD", "_KEY")
SERIALS = ("serial", "board_serial", "serial_number", "product_serial")
PRODUCTS = ("Distribution", "Gpu", "CudaDevice", "MigInstance", "LoaderLibrary", "EnvVar", "Tool", "DriverProof",
             "TorchProof", "CpuScore")  # fmt: skip
"""Structs whose `name` (or `model`) is that of a product or variable."""


@cache
def is_version(key: str) -> bool:
    """Whether the field or variable of this name holds a version."""
    return key == "version" or key.endswith(("_version", "_VERSION"))


def label_of(value: Struct) -> str:
    """What the values of a Struct are to be called where its own field names say too little."""
    kind = type(value).__name__
    if kind == "EnvVar":
        return str(getattr(value, "name", ""))
    return "target" if kind == "Target" else ""


def texts_of(value: Any, key: str) -> list[tuple[str, str]]:
    """(name of the field or variable, text) of every text in a Struct, list, dict or text."""
    found: list[tuple[str, str]] = []
    _collect(value, key, found)
    return found


def _collect(value: Any, key: str, found: list[tuple[str, str]]) -> None:
    if isinstance(value, str):
        found.append((key, value))
    elif isinstance(value, Struct):
        label = label_of(value)
        for name in value.__struct_fields__:
            item = getattr(value, name)
            kind = type(item)
            if kind is str:
                found.append((name if name == "name" else label or name, item))  # a variable's own name is no value
            elif kind not in NO_TEXT and (kind is not Missing or item.detail):
                _collect(list(item.values()) if name == "witnesses" else item, label or name, found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, key, found)
    elif isinstance(value, dict):
        field = value.get("field")
        if isinstance(value.get("path"), str) and isinstance(value.get("names"), (list, tuple)):
            found += [("", f"{value['path']}/{name}") for name in value["names"]]
        for k, item in value.items():
            _collect(item, field if k == "value" and isinstance(field, str) else str(k), found)
