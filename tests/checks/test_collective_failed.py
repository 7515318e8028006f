"""collective-failed: GPUs that cannot pass data to each other."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import CollectiveProof, EnvVar, Missing, PairProof

from ..judging import ids, report, run
from ..proof.stories import BOARDS, assert_every_fix_is_looked_at_again, driver_proof, proven, torch_proof
from ..rows import for_each

ID = "collective-failed"
PAIRS = tuple(
    PairProof(source=a, target=b, right=True, peer_access=True, gb_s=300.0)
    for a, b in (("cuda:0", "cuda:1"), ("cuda:1", "cuda:0"))
)
RING = CollectiveProof(backend="nccl", ranks=2, right=True, seconds=0.4)


def pair(**more: Any) -> tuple[PairProof, ...]:
    return (PairProof(source="cuda:0", target="cuda:1", **more), PAIRS[1])


@for_each(
    ("measured", "words"),
    [
        ({"pairs": pair(right=Missing("timeout"), fault="hang")}, "hangs"),
        ({"pairs": pair(right=Missing("error"), fault="failed", error="peer access is not supported")}, "fails"),
        (
            {"collective": CollectiveProof(backend="nccl", ranks=2, fault="hang", error="no answer within 20 s")},
            "with NCCL hangs",
        ),
        ({"collective": CollectiveProof(backend="gloo", ranks=2, right=False)}, "with gloo gives wrong values"),
    ],
)
def test_what_does_not_arrive_fails(measured: dict[str, Any], words: str) -> None:
    s = proven("h100", **{"pairs": PAIRS, "collective": RING, **measured})
    assert ids(s) == [ID] and report(s).exit_code == 1
    finding = run(ID, s)[2][0]
    assert words in finding.title and finding.severity == "critical"
    assert_every_fix_is_looked_at_again(s, finding)


def test_a_small_shared_memory_is_told_above_it_only_as_the_weaker_finding() -> None:
    """A warning never explains a failure."""
    s = proven("h100", collective=CollectiveProof(backend="nccl", ranks=2, fault="crash", error="bus error"))
    done = report(s.replace({"host.shm_mib": 64, "container.kind": "docker"}))
    assert done.findings[0].id == ID
    assert "64 MiB" in done.findings[0].detail and done.findings[0].fixes[0].id == "more-shared-memory"
    assert_every_fix_is_looked_at_again(s, done.findings[0])


def test_peer_to_peer_that_is_off_is_not_switched_off_again() -> None:
    s = proven("h100", collective=CollectiveProof(backend="nccl", ranks=2, fault="hang"))
    off = s.replace({"host.environment": (EnvVar("NCCL_P2P_DISABLE", "1"),)})
    assert [run(ID, x)[2][0].fixes[0].id for x in (s, off)] == ["without-p2p", "nccl-log"]
    assert_every_fix_is_looked_at_again(off, run(ID, off)[2][0])


def test_pairs_that_copy_directly_name_the_path_between_them() -> None:
    s = proven("h100", pairs=pair(right=Missing("error"), fault="failed", peer_access=True, error="no such link"))
    (finding,) = run(ID, s)[2]
    assert finding.detail.startswith("No such link. The GPUs copy directly") and "IOMMU or ACS" in finding.detail
    assert [fix.id for fix in finding.fixes] == ["train-without-p2p", "repair-p2p"]
    assert_every_fix_is_looked_at_again(s, finding)


def test_right_left_out_or_not_measured() -> None:
    assert run(ID, proven("h100", pairs=PAIRS, collective=RING)) == ("pass", "", [])
    assert run(ID, proven("h100"))[0] == "skipped"
    assert run(ID, proven("h100", collective=CollectiveProof(backend="nccl", ranks=2, fault="skipped")))[0] == "skipped"


def test_a_gpu_that_took_no_part_is_no_cause() -> None:
    board = BOARDS["h100"]
    wrong = torch_proof(board, device="cuda:2", key="GPU-three", right=False, matmul_error=0.4)
    s = proven(
        board,
        torch_devices=("cuda:0", "cuda:2"),
        torch=(torch_proof(board), wrong),
        collective=CollectiveProof(backend="nccl", ranks=2, fault="hang"),
    )
    (mine,) = [f for f in report(s).findings if f.id == ID]
    assert mine.downstream_of == () and "gpu-wrong-results" in ids(s)
    by_driver = s.replace({"measured.driver": (driver_proof(board, right=False, wrong_elements=9),)})
    assert next(f for f in report(by_driver).findings if f.id == ID).downstream_of == ("gpu-wrong-results",)


def test_pairs_alone_or_the_ring_alone_were_measured() -> None:
    """Either is enough to have examined something; neither, or a ring that says nothing, is not."""
    nothing = CollectiveProof(backend="nccl", ranks=2)
    assert run(ID, proven("h100", pairs=PAIRS))[0] == "pass"
    assert run(ID, proven("h100", collective=RING))[0] == "pass"
    assert run(ID, proven("h100", collective=nothing))[0] != "pass"
