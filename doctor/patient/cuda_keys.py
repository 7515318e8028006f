"""Part of agents that use a GPU: its key."""

from __future__ import annotations

import ctypes
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def driver_key(index: int) -> str:
    """`GPU-` and the UUID of a device in libcuda's order, which is torch's; of a MIG slice the whole GPU's.

    Empty where libcuda does not tell. Makes no context.
    """
    try:
        library = getattr(ctypes, "WinDLL", ctypes.CDLL)("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        handle, uuid = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        if library.cuInit(0) or library.cuDeviceGet(ctypes.byref(handle), index):
            return ""
        if library.cuDeviceGetUuid(ctypes.byref(uuid), handle):
            return ""
    except (OSError, AttributeError):
        return ""
    digits = bytes(uuid).hex()
    return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def gpu_key(torch: Any, index: int) -> str:
    """The key of the whole GPU, as NVML writes it; empty where nobody tells.

    libcuda is asked first: its older call names the GPU where the newer one, and torch, may name a MIG instance.
    """
    key = driver_key(index)
    if key:
        return key
    text = str(getattr(torch.cuda.get_device_properties(index), "uuid", "") or "")
    return text if not text or text.startswith(("GPU-", "MIG-")) else "GPU-" + text
