"""nccl-lacks-gpu-arch by bytes; nccl-version-conflict by what was said, and by variables that name another NCCL."""

from __future__ import annotations

from doctor.snapshot import ABSENT, CollectiveProof, LoaderLibrary, Missing, Snapshot

from ..extensions import library, with_extension
from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import env
from ..torches import import_fails, with_version

ARCH, CONFLICT = "nccl-lacks-gpu-arch", "nccl-version-conflict"


def with_nccl(s: Snapshot, *sass: str, ptx: tuple[str, ...] = ()) -> Snapshot:
    """An NCCL that does not tell its version: its own bytes are all there is."""
    lib = library("nvidia-nccl", "nvidia/nccl/lib/libnccl.so.2", sass, ptx, needed=())
    return s.replace({"python.extensions": (lib,), "torch.nccl_bundled": ABSENT})


def test_several_gpus_without_code_are_the_one_finding() -> None:
    sick = with_nccl(healthy("t4", "t4"), "8.0", "9.0")
    assert ids(sick) == [ARCH]
    finding = run(ARCH, sick)[2][0]
    assert (finding.status, finding.subject) == ("fail", "7.5")
    assert "nvidia-nccl-cu12==" in finding.fixes[0].steps[0].command
    assert_fix_works(sick, finding)


def test_what_ran_beats_the_bytes_and_the_published_wheel_makes_them_doubtful() -> None:
    sick = with_nccl(healthy("t4", "t4"), "8.0", "9.0")
    ring = CollectiveProof(backend="nccl", ranks=2, right=True)
    status, _, said = run(ARCH, sick.replace({"measured.level": "proof", "measured.collective": ring}))
    assert status == "pass" and "works here" in said[0].title
    one = CollectiveProof(backend="nccl", ranks=1, right=True)
    assert run(ARCH, sick.replace({"measured.level": "proof", "measured.collective": one}))[0] == "fail"
    read = sick.replace({"torch.nccl_bundled": "2.27.3"})
    status, reason, _ = run(ARCH, read)
    assert status == "unknown" and "the published nvidia-nccl-cu12 2.27.3 has code for 7.5" in reason


def test_one_gpu_needs_no_nccl() -> None:
    assert ids(with_nccl(healthy("t4"), "8.0", "9.0")) == []


@for_each(("models", "sass"), [(("h100", "h100"), ("7.0", "9.0")), (("t4", "t4"), ("7.0", "8.0"))])
def test_binary_compatible_code_is_enough(models: tuple[str, ...], sass: tuple[str, ...]) -> None:
    assert run(ARCH, with_nccl(healthy(*models), *sass))[0] == "pass"


def test_ptx_is_enough() -> None:
    assert run(ARCH, with_nccl(healthy("rtx5090", "rtx5090"), "9.0", ptx=("9.0",)))[0] == "pass"


def test_where_it_does_not_apply_or_is_unknown() -> None:
    assert run(ARCH, healthy())[0] == "skipped"
    assert run(ARCH, healthy().replace({"python.extensions": Missing("denied")}))[0] == "unknown"


def test_an_extension_is_not_taken_for_nccl() -> None:
    machine = with_extension(healthy("t4", "t4"), "natten", "1", library("natten", "natten/x.so", ("8.0",)))
    assert run(ARCH, machine)[0] == "skipped"


def test_torchs_own_nccl_passes() -> None:
    assert run(CONFLICT, healthy())[0] == "pass"


def test_a_missing_function_is_the_one_failure() -> None:
    error = "ImportError: /opt/x/libtorch_cuda.so: undefined symbol: ncclCommRegister"
    sick = import_fails(healthy(), error).replace({"torch.nccl_bundled": "2.17.1"})
    assert run(CONFLICT, sick)[0] == "fail"
    assert ids(sick, status="fail")[0] == CONFLICT
    assert_fix_works(sick, run(CONFLICT, sick)[2][0])


def test_mixed_wheels_and_the_loaders_path_have_checks_of_their_own() -> None:
    error = "ImportError: libtorch_cuda.so: undefined symbol: ncclCommResume"
    mixed = with_version(import_fails(healthy(), error), nvidia_nccl_cu13="2.25.0")
    assert run(CONFLICT, mixed)[0] == "pass"
    item = LoaderLibrary(
        name="libnccl", soname="libnccl.so.2", path="/opt/nccl/libnccl.so.2", found_by="LD_LIBRARY_PATH"
    )
    assert run(CONFLICT, import_fails(healthy(), error).replace({"cuda.libraries": (item,)}))[0] == "pass"


@for_each(("path", "status"), [("/opt/nccl/libnccl.so.2.18.5", "warn"), ("/opt/nccl/libnccl.so.2.29.1", "pass")])
def test_a_variable_that_names_another_nccl(path: str, status: str) -> None:
    sick = env(healthy(), LD_PRELOAD=f"/usr/lib/libtcmalloc.so.4:{path}")
    assert run(CONFLICT, sick)[0] == status
    if status == "warn":
        finding = run(CONFLICT, sick)[2][0]
        assert finding.fixes[0].steps[0].command == "export LD_PRELOAD=/usr/lib/libtcmalloc.so.4"
        assert_fix_works(sick, finding)


def test_the_version_that_torch_answers() -> None:
    assert run(CONFLICT, healthy().replace({"torch_run.nccl_version": "2.30.1"}))[0] == "pass"
    older = healthy().replace({"torch_run.nccl_version": "2.18.5"})
    assert run(CONFLICT, older)[0] == "warn"
    assert_fix_works(older, run(CONFLICT, older)[2][0])


def test_unknown_without_any_witness() -> None:
    gone = {"torch.nccl_bundled": Missing("denied"), "torch_run.imported": Missing("not-asked")}
    assert run(CONFLICT, healthy().replace(gone))[0] == "unknown"
