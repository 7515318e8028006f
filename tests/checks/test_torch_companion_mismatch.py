"""torch-companion-mismatch: the companion's own pin first, then the build tags, then the table."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import Missing, Snapshot, known

from ..extensions import TORCH, TORCH_CUDA, library, with_extension
from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..torches import with_other_build, with_version

ID = "torch-companion-mismatch"


def with_torchvision(s: Snapshot, version: str, requires: tuple[str, ...] | Missing) -> Snapshot:
    """Another torchvision, and what its metadata asks for."""
    return s.replace(
        {
            "python.distributions": tuple(
                replace(d, version=version, requires=requires) if d.name == "torchvision" else d
                for d in known(s.python.distributions) or ()
            )
        }
    )


def test_the_matching_set_passes() -> None:
    assert run(ID, healthy())[0] == "pass"


@for_each("requires", [("torch==2.7.1",), ("torch (==2.7.1)", "numpy"), Missing("error")])
def test_another_torchs_torchvision_is_the_one_finding(requires: tuple[str, ...] | Missing) -> None:
    sick = with_torchvision(healthy(), "0.22.1", requires)
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert (finding.status, finding.subject) == ("fail", "torchvision")
    assert "torchvision==0.23.0" in finding.fixes[0].steps[0].command
    assert_fix_works(sick, finding)


@for_each(
    ("version", "found"), [("0.23.0+cu128", []), ("0.23.0+cu126", []), ("0.23.0+cu118", [ID]), ("0.23.0+cpu", [ID])]
)
def test_build_tags(version: str, found: list[str]) -> None:
    assert ids(with_torchvision(healthy(), version, ("torch==2.8.0",))) == found


def test_torchaudio_compares_the_whole_cuda_version() -> None:
    assert ids(with_version(healthy(), torchaudio="2.8.0+cu126")) == [ID]


def test_the_table_judges_where_the_metadata_was_not_read() -> None:
    assert ids(with_version(healthy(), torchtext="0.18.0")) == []
    sick = with_version(healthy(), torchtext="0.17.0")
    assert ids(sick, status="fail") == [ID]
    assert_fix_works(sick, run(ID, sick)[2][0])


def test_another_triton_is_a_warning() -> None:
    sick = with_version(healthy(), triton="3.2.0")
    assert ids(sick) == [ID]
    assert run(ID, sick)[0] == "warn"
    assert_fix_works(sick, run(ID, sick)[2][0])


def test_vendor_builds_are_not_judged_by_their_numbers() -> None:
    vendor = with_version(healthy(), torch="2.8.0a0+34c6371d24.nv25.8", torchvision="0.22.0a0+95f10a4e").replace(
        {"torch.version": "2.8.0a0+34c6371d24.nv25.8"}
    )
    assert run(ID, vendor)[0] == "pass"


def test_a_cpu_torch_is_the_cause() -> None:
    sick = with_torchvision(with_other_build(healthy()), "0.23.0+cu128", ("torch==2.8.0",))
    assert ids(sick)[0] == "cpu-only-torch"


def test_unknown_without_the_list() -> None:
    assert run(ID, healthy().replace({"python.distributions": Missing("denied")}))[0] == "unknown"


def linked(s: Snapshot, *needed: str) -> Snapshot:
    """torchvision's own library with these needs."""
    name, version = "torchvision", "0.23.0"
    lib = library(name, "torchvision/_C.so", ("8.0", "9.0") if "libtorch_cuda.so" in needed else (), needed=needed)
    return with_extension(s, name, version, lib, requires=("torch==2.8.0",))


def test_the_right_number_of_a_cuda_build_beside_a_cpu_torch() -> None:
    sick = linked(with_other_build(healthy()), *TORCH_CUDA, "libcudart.so.12")
    finding = run(ID, sick)[2][0]
    assert (finding.status, finding.facts["links"]) == ("fail", "libc10_cuda.so")
    assert finding.fixes[0].steps[0].command.endswith("--index-url https://download.pytorch.org/whl/cpu")
    assert finding.fixes[1].id == "remove-companion"
    assert_fix_works(sick, finding)


@for_each(("needed", "found"), [((*TORCH_CUDA, "libcudart.so.12"), []), (TORCH_CUDA, []), (TORCH, [ID])])
def test_the_libraries_that_it_links_decide(needed: tuple[str, ...], found: list[str]) -> None:
    assert ids(linked(healthy(), *needed)) == found


def test_another_cuda_major_without_a_tag() -> None:
    sick = linked(healthy(), *TORCH_CUDA, "libcudart.so.13")
    assert ids(sick) == [ID]
    assert_fix_works(sick, run(ID, sick)[2][0])
