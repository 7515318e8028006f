"""A CUDA library that torch names and nobody brings."""

from __future__ import annotations

from doctor.snapshot import Distribution, Missing, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..torches import import_fails, not_asked, with_torch

ID = "torch-import-broken"


def without_runtime_wheel(s: Snapshot) -> Snapshot:
    """The CUDA runtime's wheel is gone: the import says which file."""
    left = tuple(d for d in known(s.python.distributions) or () if d.name != "nvidia-cuda-runtime-cu12")
    broken = import_fails(s, "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory")
    return broken.replace({"python.distributions": left, "torch.missing_libraries": ("libcudart.so.12",)})


def test_a_missing_library_is_the_cause_and_the_import_its_symptom() -> None:
    sick = without_runtime_wheel(healthy())
    assert ids(sick) == ["bundled-cuda-libs-missing", ID]
    assert report(sick).findings[1].downstream_of == ("bundled-cuda-libs-missing",)
    finding = run("bundled-cuda-libs-missing", sick)[2][0]
    assert finding.facts["missing_libraries"] == ["libcudart.so.12"]
    assert "nvidia-cuda-runtime-cu12==12.8.90" in finding.fixes[0].steps[-1].command
    assert_fix_works(sick, finding)


def test_missing_libraries_are_seen_without_an_import() -> None:
    sick = not_asked(without_runtime_wheel(healthy()))
    assert ids(sick) == ["bundled-cuda-libs-missing"]


def test_the_drivers_own_library_is_not_torchs_to_bring() -> None:
    sick = not_asked(healthy()).replace({"torch.missing_libraries": ("libcuda.so.1",)})
    assert run("bundled-cuda-libs-missing", sick)[0] == "pass"


def test_what_imports_has_its_libraries() -> None:
    odd = healthy().replace({"torch.missing_libraries": ("libcupti.so.12",)})
    assert run("bundled-cuda-libs-missing", odd)[0] == "pass"


def test_missing_libraries_unknown() -> None:
    sick = not_asked(healthy()).replace({"torch.missing_libraries": Missing("error")})
    assert run("bundled-cuda-libs-missing", sick)[0] == "unknown"


_TOOLKIT = 'cuda-toolkit[cublas,cudart,cufft,nvtx]==13.0.2; platform_system == "Linux"'
"""As torch 2.11.0's METADATA has it, with fewer extras."""
_SYSTEM = "(sys_platform == 'linux' or sys_platform == 'win32')"
_BRINGS = (
    f"nvidia-cublas==13.1.0.3.*; {_SYSTEM} and extra == 'all'", f"nvidia-cublas==13.1.0.3.*; {_SYSTEM} and extra == 'cublas'",
    f"nvidia-cuda-runtime==13.0.96.*; {_SYSTEM} and extra == 'cudart'", f"nvidia-cufft==12.0.0.61.*; {_SYSTEM} and extra == 'cufft'",
    f"nvidia-nvtx==13.0.85.*; {_SYSTEM} and extra == 'nvtx'", f"nvidia-curand==10.4.0.35.*; {_SYSTEM} and extra == 'curand'",
)  # fmt: skip
"""Lines of cuda-toolkit 13.0.2's METADATA."""


def cuda_13(lost: str, *gone: str, brings: tuple[str, ...] | Missing = _BRINGS) -> Snapshot:
    """torch 2.11.0 of CUDA 13 whose library `lost` is nowhere; `gone`: wheels that are not installed."""
    s = with_torch(healthy(), "2.11.0", "cu130")
    site = "/opt/venv/lib/python3.11/site-packages"
    wheels = {"cuda-toolkit": "13.0.2", "nvidia-cublas": "13.1.0.3", "nvidia-cuda-runtime": "13.0.96",
              "nvidia-cufft": "12.0.0.61", "nvidia-nvtx": "13.0.85", "pip": "26.3"}  # fmt: skip
    put = [Distribution(name="torch", version="2.11.0", location=site, requires=(_TOOLKIT,))]
    put += [
        Distribution(name=name, version=version, location=site, requires=brings if name == "cuda-toolkit" else ())
        for name, version in wheels.items()
        if name not in gone
    ]
    broken = import_fails(s, f"ImportError: {lost}: cannot open shared object file: No such file or directory")
    return broken.replace(
        {"python.distributions": tuple(put), "torch.requires": (_TOOLKIT,), "torch.missing_libraries": (lost,)}
    )


def command(sick: Snapshot) -> str:
    finding = run("bundled-cuda-libs-missing", sick)[2][0]
    assert_fix_works(sick, finding)
    return finding.fixes[0].steps[-1].command.removeprefix("/opt/venv/bin/python -m pip install ")


def test_the_wheels_that_cuda_toolkit_brings_are_restored_by_name() -> None:
    lost, pinned = "libcublas.so.13", "'nvidia-cublas==13.1.0.3.*'"
    assert command(cuda_13(lost, "nvidia-cublas")) == f"--no-deps {pinned}"
    assert command(cuda_13("libcublasLt.so.13")) == f"--force-reinstall --no-deps {pinned}", "its files are gone"
    whole = "'cuda-toolkit[cublas,cudart,cufft,nvtx]==13.0.2'"
    assert command(cuda_13(lost, "nvidia-cublas", "cuda-toolkit")) == whole, "the extras bring what is missing"
    blind = command(cuda_13(lost, "nvidia-cublas", brings=Missing("not-asked")))
    assert blind.startswith("--force-reinstall torch==2.11.0"), "which wheels they are is not known"


def test_a_wheel_whose_files_are_gone_is_written_anew() -> None:
    sick = without_runtime_wheel(healthy()).replace({"python.distributions": healthy().python.distributions})
    assert command(sick) == "--force-reinstall --no-deps nvidia-cuda-runtime-cu12==12.8.90"
