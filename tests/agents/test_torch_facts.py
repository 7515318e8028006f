"""The torch agent and its parser on small packages named torch: each way in which an import can go wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from doctor.probes.torch_run import cudnn_version, nccl_version, parse_torch_run
from doctor.snapshot import ABSENT, Missing, Snapshot, TorchRun
from doctor.targets.agent import AgentResult

from ..rows import for_each
from .run import SHORT_S, run_torch

WORKING = '''
import sys, types, warnings
print("noise of a library on stdout")
import os; os.write(1, b"{\\"field\\": \\"version\\", \\"value\\": \\"forged\\"}\\n")
__version__ = "2.8.0+cu128"
version = types.SimpleNamespace(cuda="12.8", hip=None)
_C = types.SimpleNamespace(_cuda_getArchFlags=lambda: "sm_80 sm_90 compute_90", _nccl_version=lambda: 2 << 32 | 27 << 16 | 3)
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 91002))
float32 = "float32"

class Tensor:
    """Enough of a 64 x 64 matrix for an addition and a product."""
    def __init__(self, rows): self.rows = rows
    def reshape(self, *shape): return self
    def to(self, place): return self
    def cpu(self): return self
    def __truediv__(self, n): return Tensor([[x / n for x in row] for row in self.rows])
    def __add__(self, other): return Tensor([[x + y for x, y in zip(r, s)] for r, s in zip(self.rows, other.rows)])
    def __matmul__(self, other): return Tensor([[sum(x * y for x, y in zip(r, c)) for c in zip(*other.rows)] for r in self.rows])

def arange(n, dtype=None): return Tensor([[float(64 * i + j) for j in range(64)] for i in range(64)])
def device(kind, index): return (kind, index)
def equal(a, b): return a.rows == b.rows
def allclose(a, b, rtol, atol): return all(abs(x - y) <= atol + rtol * abs(y) for r, s in zip(a.rows, b.rows) for x, y in zip(r, s))

class cuda:
    def is_available():
        warnings.warn("CUDA initialization: a word of warning")
        return True
    def device_count(): return 2
    def init(): pass
    def synchronize(): pass
    def get_device_name(i): return "NVIDIA H100 80GB HBM3"
    def get_device_capability(i): return (9, 0)
'''


def fake(folder: Path, source: str) -> dict[str, str]:
    """A package torch with this text, first on the path of the environment returned."""
    (folder / "site" / "torch").mkdir(parents=True)
    (folder / "site" / "torch" / "__init__.py").write_text(source, "utf-8")
    return {**os.environ, "PYTHONPATH": str(folder / "site"), "PYTHONDONTWRITEBYTECODE": "1"}


def parsed(result: AgentResult) -> TorchRun:
    return Snapshot().replace(parse_torch_run(result)[0]).torch_run


def test_a_torch_that_works(tmp_path: Path) -> None:
    result = run_torch(fake(tmp_path, WORKING))
    run = parsed(result)
    assert result.fault is None
    assert (run.imported, run.import_error, run.import_fault) == (True, ABSENT, ABSENT)
    assert (run.version, run.cuda, run.cuda_available, run.device_count) == ("2.8.0+cu128", "12.8", True, 2)
    assert run.file == str(tmp_path / "site" / "torch" / "__init__.py")
    assert run.arch_list == ("sm_80", "sm_90", "compute_90")
    assert (run.cudnn_version, run.cudnn_error, run.nccl_version) == ("9.10.2", ABSENT, "2.27.3")
    assert (run.first_call_code, run.first_call_error, run.kernel_ran, run.kernel_error) == (0, ABSENT, True, ABSENT)
    assert run.device_names == ("NVIDIA H100 80GB HBM3",) * 2
    assert run.device_capabilities == ("9.0", "9.0")
    assert run.warnings == ("CUDA initialization: a word of warning",)
    assert isinstance(run.import_seconds, float)


def test_noise_on_stdout_spoils_nothing(tmp_path: Path) -> None:
    result = run_torch(fake(tmp_path, WORKING))
    assert result.noise == []
    assert "noise of a library" in result.stderr_tail


def test_no_kernel(tmp_path: Path) -> None:
    run = parsed(run_torch(fake(tmp_path, WORKING), "--no-kernel"))
    assert run.kernel_ran == run.kernel_error == Missing("not-asked")
    assert run.device_capabilities == ("9.0", "9.0")


def test_a_wrong_result(tmp_path: Path) -> None:
    source = WORKING.replace("return a.rows == b.rows", "return False")
    run = parsed(run_torch(fake(tmp_path, source)))
    assert run.kernel_ran is False
    assert run.kernel_error == "device 0: wrong result; device 1: wrong result"


def test_a_kernel_that_raises(tmp_path: Path) -> None:
    source = WORKING.replace(
        "def to(self, place): return self",
        "def to(self, place): raise RuntimeError('CUDA error: no kernel image is available for execution on the device')",
    )
    run = parsed(run_torch(fake(tmp_path, source)))
    assert run.kernel_ran is False
    assert "RuntimeError: CUDA error: no kernel image is available" in str(run.kernel_error)
    assert run.first_call_code == 0


@for_each(
    ("text", "code"),
    [
        (
            "Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination",
            803,
        ),
        ("No CUDA GPUs are available", 100),
        ("Found no NVIDIA driver on your system.", 35),
        ("The NVIDIA driver on your system is too old (found version 11040).", 35),
        ("CUDA driver initialization failed, you might not have a CUDA gpu.", None),
    ],
)
def test_the_code_of_the_first_call(text: str, code: int | None, tmp_path: Path) -> None:
    source = WORKING.replace("def init(): pass", f"def init(): raise RuntimeError({text!r})")
    run = parsed(run_torch(fake(tmp_path, source)))
    assert run.first_call_error == f"RuntimeError: {text}"
    assert run.first_call_code == (code if code else Missing("error", "torch's message contains no code"))
    assert run.kernel_ran == run.device_names == Missing("error", "CUDA did not initialize")


def test_cudnn_that_refuses_its_version(tmp_path: Path) -> None:
    source = WORKING.replace(
        "lambda: 91002", "lambda: (_ for _ in ()).throw(RuntimeError('cuDNN version incompatibility'))"
    )
    run = parsed(run_torch(fake(tmp_path, source)))
    assert run.cudnn_error == "RuntimeError: cuDNN version incompatibility"
    assert isinstance(run.cudnn_version, Missing)
    assert run.first_call_code == 0


def test_a_build_without_cuda(tmp_path: Path) -> None:
    source = WORKING.replace('cuda="12.8"', "cuda=None").replace("_cuda_getArchFlags=", "_other=")
    run = parsed(run_torch(fake(tmp_path, source)))
    no_cuda = Missing("absent", "a build without CUDA")
    assert run.cuda == run.first_call_code == run.kernel_ran == no_cuda
    assert run.arch_list == ()


@for_each(
    ("source", "error"),
    [
        (
            "raise ImportError('libcudnn.so.9: cannot open shared object file: No such file or directory')",
            "ImportError: libcudnn.so.9: cannot open",
        ),
        ("import os, nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("this is no Python", "SyntaxError: "),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd()", "Odd"),
        ("raise OSError('x' * 100000)", "OSError: xxx"),
    ],
)
def test_an_import_that_raises(source: str, error: str, tmp_path: Path) -> None:
    result = run_torch(fake(tmp_path, source))
    run = parsed(result)
    assert result.fault is None
    assert (run.imported, run.import_fault) == (False, "raised")
    assert str(run.import_error).startswith(error)
    assert len(str(run.import_error)) < 2100
    assert run.version == run.kernel_ran == Missing("error", "torch cannot be imported")


def test_an_import_that_segfaults(tmp_path: Path) -> None:
    run = parsed(run_torch(fake(tmp_path, "import ctypes\nctypes.string_at(0)")))
    assert (run.imported, run.import_fault) == (False, "crash")
    assert run.import_error == "import torch killed the process with signal 11"
    assert run.python_version is not None and not isinstance(run.python_version, Missing)
    assert run.version == Missing("error", "crashed in import torch")


def test_an_import_that_ends_the_process_quietly(tmp_path: Path) -> None:
    run = parsed(run_torch(fake(tmp_path, "import os\nos._exit(0)")))
    assert (run.imported, run.import_fault) == (False, "crash")


@pytest.mark.slow
def test_an_import_that_never_returns(tmp_path: Path) -> None:
    run = parsed(
        run_torch(fake(tmp_path, "import time\nprint('noise', flush=True)\ntime.sleep(600)"), deadline_s=SHORT_S)
    )
    assert (run.imported, run.import_fault) == (False, "hang")
    assert run.version == Missing("timeout", "import torch did not return")


def test_a_crash_after_the_import_keeps_what_was_said(tmp_path: Path) -> None:
    source = WORKING.replace("return True", "import ctypes; ctypes.string_at(0)")
    run = parsed(run_torch(fake(tmp_path, source)))
    assert (run.imported, run.version) == (True, "2.8.0+cu128")
    assert run.cuda_available == run.first_call_code == Missing("error", "crashed in cuda_available")


def test_no_torch(tmp_path: Path) -> None:
    run = parsed(run_torch({**os.environ, "PYTHONPATH": ""}))
    assert run.imported is False
    assert str(run.import_error) == "ModuleNotFoundError: No module named 'torch'"


def test_a_package_that_is_no_torch(tmp_path: Path) -> None:
    result = run_torch(fake(tmp_path, "hello = 1"))
    run = parsed(result)
    assert result.fault is None
    assert run.imported is True
    assert isinstance(run.version, Missing)


def test_a_folder_in_the_working_directory_is_never_imported(tmp_path: Path) -> None:
    env = fake(tmp_path, WORKING)
    (tmp_path / "work" / "torch").mkdir(parents=True)
    (tmp_path / "work" / "torch" / "__init__.py").write_text("__version__ = 'shadow'")
    assert parsed(run_torch(env, cwd=tmp_path / "work")).file == str(tmp_path / "site" / "torch" / "__init__.py")


@for_each(("number", "text"), [(91002, "9.10.2"), (8902, "8.9.2"), (7605, "7.6.5")])
def test_cudnn_numbers(number: int, text: str) -> None:
    assert cudnn_version(number) == text


@for_each(("number", "text"), [(2 << 32 | 27 << 16 | 3, "2.27.3"), (21003, "2.10.3"), (2708, "2.7.8")])
def test_nccl_numbers(number: int, text: str) -> None:
    assert nccl_version(number) == text


def test_hostile_lines_never_raise() -> None:
    odd: list[Any] = [None, True, -1, 10**30, 10**400, "x", [], {}, [[]], [None, None, None]]
    names = ["import", "import_seconds", "version", "cuda", "hip", "arch_list", "cuda_available", "device_count", "cudnn_version", "nccl_version",
             "libraries", "first_call", "runtime_code", "device_name", "device_capability", "kernel", "warnings", "python"]  # fmt: skip
    for value in odd:
        for key in ("value", "error", "code"):
            lines = [{"field": name, key: value} for name in names]
            parsed(AgentResult(lines))
            parsed(AgentResult([{"field": "import", "value": True}, {"field": "device_count", "value": 2}, *lines[8:]]))
            parsed(
                AgentResult(
                    [
                        {"field": "import", "value": True},
                        *({**line, "device": 0} for line in lines),
                        {"field": "x", "device": value},
                    ]
                )
            )
