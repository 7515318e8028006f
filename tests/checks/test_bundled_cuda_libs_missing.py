"""A CUDA library that torch names and nobody brings."""

from __future__ import annotations

from doctor.snapshot import Missing, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..torches import import_fails, not_asked

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
