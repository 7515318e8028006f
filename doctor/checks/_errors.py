"""What torch said when it failed: the few messages whose cause is certain."""

from __future__ import annotations

from ..findings.patterns import lazy
from ..snapshot import Missing, Snapshot, known, need

_MISSING = lazy(
    r"(lib(?:cudart|cublas|cublasLt|cudnn|cufft|cufile|cupti|curand|cusolver|cusparse|nccl|nvrtc|nvJitLink|nvToolsExt"
    r"|nvshmem|torch_cuda)[\w-]*\.so[.\d]*): cannot open shared object file"
)
_NOT_FOUND = lazy(r"(lib(?:cu|nv)\w+\.so)\S* not found in the system path")
_SYMBOL = lazy(
    r"undefined symbol: ((?:_{0,2})(nvJitLink|nccl|cublasLt|cublas|cusparse|cusolver|cudnn|cufft|curand|nvrtc)\w*)"
)
_NUMPY = lazy(
    r"compiled using NumPy 1\.x cannot be run|_ARRAY_API not found|numpy\.core\.multiarray failed to import"
    r"|numpy\.dtype size changed|Numpy is not available"
)
_LIBC = lazy(r"version [`']((?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found")


def texts(s: Snapshot) -> str:
    """Everything that torch reported: the import, the first call, cuDNN, the kernel, and its warnings."""
    run = s.torch_run
    facts = (run.import_error, run.first_call_error, run.cudnn_error, run.kernel_error)
    return "\n".join([*(text for fact in facts if (text := known(fact))), *run.warnings])[:100_000]


def import_failed(s: Snapshot) -> bool | None:
    """Whether `import torch` failed; None where it was not tried."""
    imported = known(s.torch_run.imported)
    return None if imported is None else not imported


def need_answer(s: Snapshot) -> None:
    """Unknown if torch was not asked."""
    if isinstance(s.torch_run.imported, Missing):
        need("torch_run.imported", s.torch_run.imported)


def missing_library(text: str) -> str:
    """The CUDA library that was not found: `libcudart.so.13`."""
    found = _MISSING.search(text) or _NOT_FOUND.search(text)
    return found[1] if found else ""


def undefined_symbol(text: str) -> tuple[str, str]:
    """The missing symbol of a CUDA library and that library's name: (`__nvJitLinkAddData_12_1`, `libnvJitLink`)."""
    found = _SYMBOL.search(text)
    return (found[1], f"lib{found[2]}") if found else ("", "")


def numpy_words(text: str) -> str:
    """The line about NumPy's binary interface, if any."""
    found = _NUMPY.search(text)
    return found[0] if found else ""


def libc_version(text: str) -> str:
    """`GLIBC_2.28`, `GLIBCXX_3.4.29`: what the binary asked for and did not get."""
    found = _LIBC.search(text)
    return found[1] if found else ""


def first_line(text: str, limit: int = 300) -> str:
    """The last non-empty line of an error, shortened: Python puts the message there."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:limit] if lines else ""
