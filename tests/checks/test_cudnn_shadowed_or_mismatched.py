"""cudnn-shadowed-or-mismatched: torch's own rule, on what is loaded, on the path, and among the wheels."""

from __future__ import annotations

from doctor.checks._cudnn import compiled_with
from doctor.snapshot import LoaderLibrary, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, matrix, run
from ..rows import for_each
from ..torches import not_asked, with_torch, with_version

ID = "cudnn-shadowed-or-mismatched"
FOLDER = "/usr/local/cuda/lib64"
ERROR = (
    "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (9, 10, 2) but found runtime version "
    "(9, 1, 0)"
)


def shadowed(s: Snapshot, version: str = "9.1.0") -> Snapshot:
    """A system cuDNN on LD_LIBRARY_PATH, before torch's own."""
    path = f"{FOLDER}/libcudnn.so.9"
    item = LoaderLibrary(
        name="libcudnn",
        soname="libcudnn.so.9",
        path=path,
        version=version,
        found_by="LD_LIBRARY_PATH",
        real_path=f"{path}.{version}",
    )
    return not_asked(s).replace(
        {"cuda.libraries": (item,), "cuda.ld_library_path": (FOLDER,), "torch.cudnn_shadow": path}
    )


def test_healthy_passes() -> None:
    assert run(ID, healthy())[0] == "pass"
    assert run(ID, not_asked(healthy()))[0] == "pass"


def test_what_torch_refuses_fails() -> None:
    sick = shadowed(healthy()).replace(
        {"torch_run.imported": True, "torch_run.cuda_available": True, "torch_run.cudnn_error": ERROR}
    )
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert "found runtime version (9, 1, 0)" in finding.detail
    assert_fix_works(sick, finding)


def test_a_lower_minor_on_the_path_fails_before_the_import() -> None:
    sick = shadowed(healthy())
    assert ids(sick, status="fail") == [ID]
    assert_fix_works(sick, run(ID, sick)[2][0])


@for_each("version", ["9.10.2", "9.10.0", "9.12.0"])
def test_one_that_fits_is_harmless(version: str) -> None:
    assert run(ID, shadowed(healthy(), version))[0] == "pass"


def test_other_folders_stay_on_the_path() -> None:
    sick = shadowed(healthy()).replace({"cuda.ld_library_path": ("/opt/mine/lib", FOLDER)})
    assert run(ID, sick)[2][0].fixes[0].steps[0].command == "export LD_LIBRARY_PATH=/opt/mine/lib"


def test_several_copies_in_system_folders_are_harmless() -> None:
    copies = tuple(
        LoaderLibrary(
            name="libcudnn", soname=f"libcudnn.so.{n}", path=f"/usr/lib/libcudnn.so.{n}", found_by="ld.so.cache"
        )
        for n in (8, 9)
    )
    for machine in (healthy(), not_asked(healthy())):
        assert ids(machine.replace({"cuda.libraries": copies})) == []


def test_a_wheel_of_a_lower_minor_fails() -> None:
    sick = not_asked(with_version(healthy(), nvidia_cudnn_cu12="9.1.0.70")).replace({"torch.cudnn_bundled": "9.1.0"})
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert "nvidia-cudnn-cu12==9.10.2.21" in finding.fixes[0].steps[-1].command
    assert_fix_works(sick, finding)


def test_unknown_without_the_deciding_fact() -> None:
    gone = {"torch.cudnn_shadow": Missing("error"), "torch.requires": (), "python.distributions": Missing("denied")}
    assert run(ID, not_asked(healthy()).replace(gone))[0] == "unknown"


@for_each(
    ("torch", "tag", "cudnn"),
    [
        ("2.6.0", "cu126", "9.5.1.17"),  # a build of its own
        ("2.6.0", "cu124", "9.1.0.70"),
        ("2.15.0", "cu132", "9.26.0.51"),  # the one on PyPI: the release's
        ("2.9.1", "cu129", ""),  # neither: not known
    ],
)
def test_without_a_pin_the_matrix_says_what_torch_was_built_with(torch: str, tag: str, cudnn: str) -> None:
    s = with_torch(healthy(), torch, tag)
    assert compiled_with(s.replace({"torch.requires": ()}), matrix()) == cudnn
