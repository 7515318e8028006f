"""collective-failed: GPUs that cannot pass data to each other."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.snapshot import CollectiveProof, Missing, PairProof

from ..judging import ids, report, run
from ..proof.stories import assert_every_fix_is_looked_at_again, proven

ID = "collective-failed"
PAIRS = tuple(PairProof(source=a, target=b, right=True, peer_access=True, gb_s=300.0) for a, b in (("cuda:0", "cuda:1"), ("cuda:1", "cuda:0")))
RING = CollectiveProof(backend="nccl", ranks=2, right=True, seconds=0.4)


def pair(**more: Any) -> tuple[PairProof, ...]:
    return (PairProof(source="cuda:0", target="cuda:1", **more), PAIRS[1])


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ({"pairs": pair(right=False)}, "from cuda:0 to cuda:1 arrives damaged"),
        ({"pairs": pair(right=Missing("timeout"), fault="hang")}, "does not come to an end"),
        ({"pairs": pair(right=Missing("error"), fault="failed", error="peer access is not supported")}, "fails"),
        ({"collective": CollectiveProof(backend="nccl", ranks=2, fault="hang", error="no answer within 20 s")}, "by NCCL does not come"),
        ({"collective": CollectiveProof(backend="gloo", ranks=2, right=False)}, "by GLOO gives wrong values"),
    ],
)  # fmt: skip
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


def test_right_left_out_or_not_measured() -> None:
    assert run(ID, proven("h100", pairs=PAIRS, collective=RING)) == ("pass", "", [])
    assert run(ID, proven("h100"))[0] == "skipped"
    assert run(ID, proven("h100", collective=CollectiveProof(backend="nccl", ranks=2, fault="skipped")))[0] == "skipped"
