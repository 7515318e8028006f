"""libcuda-stub-loaded, driver-libs-not-on-loader-path, cuda-compat-on-unsupported-gpu, cuda-compat-conflict."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import NOT_ASKED, LibraryFile, Missing, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import compat_loaded, cuda_says, env, not_given, without_libcuda
from .test_driver_library_version_mismatch import upgraded

STUB, PATH = "libcuda-stub-loaded", "driver-libs-not-on-loader-path"
GPU, CLASH = "cuda-compat-on-unsupported-gpu", "cuda-compat-conflict"
STUBS = "/usr/local/cuda/lib64/stubs"


def stub(s: Snapshot) -> Snapshot:
    """The stubs folder on LD_LIBRARY_PATH wins over the real library."""
    fake = LibraryFile(
        soname="libcuda.so.1",
        path=f"{STUBS}/libcuda.so.1",
        real_path=f"{STUBS}/libcuda.so",
        stub=True,
        found_by="LD_LIBRARY_PATH",
    )
    real = LibraryFile(
        soname="libcuda.so.1",
        path="/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        version="580.82.07",
        real_path="/usr/lib/x86_64-linux-gnu/libcuda.so.580.82.07",
        found_by="ld.so.cache",
    )
    s = env(cuda_says(s, 34), LD_LIBRARY_PATH=f"/opt/lib:{STUBS}")
    return s.replace(
        {
            "driver.libcuda_path": f"{STUBS}/libcuda.so",
            "driver.libcuda_version": Missing("absent"),
            "driver.libcuda_stub": True,
            "driver.libcuda_candidates": (fake, real),
            "cuda.stub_directories": (STUBS,),
            "cuda.ld_library_path": ("/opt/lib", STUBS),
        }
    )


def gke(s: Snapshot) -> Snapshot:
    """The driver is mounted at /usr/local/nvidia, and nothing searches there."""
    there = LibraryFile(
        soname="libcuda.so.1",
        path="/usr/local/nvidia/lib64/libcuda.so.1",
        version="580.82.07",
        real_path="/usr/local/nvidia/lib64/libcuda.so.580.82.07",
        found_by="elsewhere",
    )
    return without_libcuda(s).replace({"driver.libcuda_candidates": (there,), "container.driver_capabilities": None})


def geforce(s: Snapshot) -> Snapshot:
    return cuda_says(compat_loaded(s), 804)


def clash(s: Snapshot) -> Snapshot:
    """The image's compat library 575 on a host that runs 580."""
    return cuda_says(compat_loaded(s, "/usr/local/cuda-12.9/compat/libcuda.so.575.57.08", cuda_version="12.9"), 803)


def test_what_else_the_loader_finds_is_said_only_where_it_is_known() -> None:
    s = stub(healthy())
    fake, real = known(s.driver.libcuda_candidates) or ()
    compat = LibraryFile(
        soname="libcuda.so.1",
        path="/usr/local/cuda/compat/libcuda.so.1",
        version="575.57.08",
        real_path="/usr/local/cuda/compat/libcuda.so.575.57.08",
        found_by="LD_LIBRARY_PATH",
    )
    elsewhere = LibraryFile(soname="libcuda.so.1", path="/opt/x/libcuda.so.1", real_path="/opt/x/libcuda.so.1")
    elsewhere = replace(elsewhere, found_by="elsewhere")
    none, ours, theirs = "No other libcuda", "The driver's library is", "from cuda-compat"
    for files, wanted in (
        ((fake,), none),
        ((fake, elsewhere), none),
        ((fake, compat), theirs),
        ((fake, real, compat), ours),
        (Missing("denied"), ""),
        (NOT_ASKED, ""),
    ):
        (found,) = run(STUB, s.replace({"driver.libcuda_candidates": files}))[2]
        assert [words for words in (none, ours, theirs) if words in found.detail] == ([wanted] if wanted else [])


CAUSES = [
    (STUB, stub(healthy())),
    (PATH, gke(healthy(container=True))),
    (GPU, geforce(healthy("rtx3060", driver="535.183.01", cuda="12.2", container=True))),
    (CLASH, clash(healthy(container=True))),
]


@for_each(("check_id", "sick"), CAUSES)
def test_it_comes_first_and_can_be_mended(check_id: str, sick: Snapshot) -> None:
    assert ids(sick)[0] == check_id
    finding = run(check_id, sick)[2][0]
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


def test_healthy_machines_pass() -> None:
    for s in (healthy(), healthy(container=True)):
        assert [run(i, s)[0] for i in (STUB, PATH, GPU, CLASH)] == ["pass"] * 4


def test_a_compat_library_that_works_is_no_fault() -> None:
    s = compat_loaded(healthy("a100", driver="535.183.01", cuda="12.2", container=True))
    assert [run(i, s)[0] for i in (GPU, CLASH)] == ["pass", "pass"]


def test_only_the_stubs_folder_goes_off_the_path() -> None:
    step = run(STUB, stub(healthy()))[2][0].fixes[0].steps[0]
    assert step.command == "export LD_LIBRARY_PATH=/opt/lib"


def test_a_stubs_folder_that_does_not_win_is_a_remark() -> None:
    s = env(healthy(), LD_LIBRARY_PATH=STUBS).replace({"cuda.stub_directories": (STUBS,)})
    status, _, findings = run(STUB, s)
    assert (status, [f.severity for f in findings]) == ("pass", ["info"])


def test_predicted_from_the_brand_where_cuda_was_not_asked() -> None:
    blind = geforce(healthy("rtx3060", driver="535.183.01", cuda="12.2", container=True))
    blind = blind.replace({"driver.cu_init": NOT_ASKED, "torch_run.first_call_code": NOT_ASKED})
    finding = run(GPU, blind)[2][0]
    assert not finding.direct
    a100 = compat_loaded(healthy("a100", driver="535.183.01", cuda="12.2"))
    a100 = a100.replace({"driver.cu_init": NOT_ASKED, "torch_run.first_call_code": NOT_ASKED})
    assert run(GPU, a100)[0] == "unknown"


def test_predicted_from_the_versions_where_cuda_was_not_asked() -> None:
    blind = clash(healthy()).replace({"driver.cu_init": NOT_ASKED, "torch_run.first_call_code": NOT_ASKED})
    assert run(CLASH, blind)[0] == "fail"
    assert run(CLASH, blind.replace({"driver.kernel_version": Missing("denied")}))[0] == "unknown"


@for_each("code", [803, 804])
def test_the_same_codes_without_compat_are_a_mismatch(code: int) -> None:
    sick = cuda_says(upgraded(healthy()), code)
    assert ids(sick)[0] == "driver-library-version-mismatch"
    assert not {GPU, CLASH} & set(ids(sick))


def test_unknown_without_the_deciding_facts() -> None:
    blind = healthy().replace(
        {"driver.cu_init": NOT_ASKED, "torch_run.first_call_code": NOT_ASKED, "driver.libcuda_path": NOT_ASKED}
    )
    assert [run(i, blind)[0] for i in (PATH, GPU, CLASH)] == ["unknown"] * 3
    assert run(STUB, healthy().replace({"driver.libcuda_stub": NOT_ASKED, "driver.cu_init": NOT_ASKED}))[0] == "unknown"
    assert run(STUB, healthy().replace({"driver.libcuda_stub": NOT_ASKED}))[0] == "pass", "a stub never answers 0"
    assert run(PATH, gke(healthy()).replace({"driver.libcuda_candidates": NOT_ASKED}))[0] == "unknown"


def test_a_stub_is_folded_where_the_container_has_no_gpu() -> None:
    s = stub(healthy(container=True))
    found = ids(
        not_given(s).replace(
            {
                "driver.libcuda_path": f"{STUBS}/libcuda.so",
                "driver.libcuda_stub": True,
                "driver.cu_init": 34,
                "driver.libcuda_candidates": (),
            }
        )
    )
    assert found[0] == "container-no-gpu-flag" and STUB in found


def test_the_kernel_module_and_the_library_are_named_where_they_are_known() -> None:
    sick = clash(healthy(container=True))
    module, version = known(sick.driver.kernel_version), known(sick.driver.libcuda_version)
    detail = run(CLASH, sick)[2][0].detail
    assert f"the kernel module is version {module}." in detail and f"({version})" in detail
    unknown = sick.replace({"driver.kernel_version": Missing("error"), "driver.libcuda_version": Missing("error")})
    for finding in run(CLASH, unknown)[2]:
        assert "kernel module" not in finding.detail and "()" not in finding.detail
