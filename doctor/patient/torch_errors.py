"""Part of the agent torch_proof: what an exception of torch tells."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

TEXT_LIMIT = 2000
CODES = (
    (2, "cudaErrorMemoryAllocation", "out of memory"),
    (35, "cudaErrorInsufficientDriver", "driver on your system is too old"),
    (46, "cudaErrorDevicesUnavailable", "busy or unavailable"),
    (100, "cudaErrorNoDevice", "No CUDA GPUs are available"),
    (209, "cudaErrorNoKernelImageForDevice", "no kernel image is available"),
    (214, "cudaErrorECCUncorrectable", "uncorrectable ECC error"),
    (220, "cudaErrorNvlinkUncorrectable", "uncorrectable NVLink error"),
    (221, "cudaErrorJitCompilerNotFound", "PTX JIT compiler library not found"),
    (222, "cudaErrorUnsupportedPtxVersion", "unsupported toolchain"),
    (700, "cudaErrorIllegalAddress", "illegal memory access"),
    (702, "cudaErrorLaunchTimeout", "launch timed out"),
    (710, "cudaErrorAssert", "device-side assert"),
    (715, "cudaErrorIllegalInstruction", "illegal instruction"),
    (716, "cudaErrorMisalignedAddress", "misaligned address"),
    (719, "cudaErrorLaunchFailure", "unspecified launch failure"),
    (802, "cudaErrorSystemNotReady", "system not yet initialized"),
    (999, "cudaErrorUnknown", "unknown error"),
)
"""CUDA runtime numbers, their names (newer torch prints them) and their words (older torch prints these alone)."""


def text_of(error: BaseException) -> str:
    """An exception's words, bounded; empty where it has none to tell."""
    try:
        return str(error)[:TEXT_LIMIT]
    except Exception:
        return ""


def out_of_memory(error: BaseException) -> bool:
    """Of the device: torch's own exception, CUDA's error 2, or a library's that could not allocate."""
    text = text_of(error)
    return "OutOfMemory" in type(error).__name__ or "out of memory" in text or "ALLOC_FAILED" in text


def error_code(error: BaseException, text: str) -> Optional[int]:
    """CUDA's runtime number in an exception: its own attribute, a number, a name or CUDA's words in its text."""
    number = getattr(error, "error_code", None)
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    match = re.search(r"\b[Ee]rror (\d{1,4}):|cudaGetDeviceCount\(\) returned (\d+)|\(error (\d{1,4})\)", text)
    if match:
        return int(next(group for group in match.groups() if group))
    for known, name, words in CODES:
        if name in text or words in text:
            return known
    return None
