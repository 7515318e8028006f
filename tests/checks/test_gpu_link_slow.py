"""gpu-link-slow: copies between GPUs beside what joins them, and beside the pairs that are joined alike."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from msgspec.structs import replace

from doctor.snapshot import GpuPair, Missing, PairProof, Snapshot, known

from ..judging import ids, run
from ..proof.stories import BOARDS, Board, assert_every_fix_is_looked_at_again, changed, loads
from ..rows import for_each
from .test_gpu_slower_than_siblings import eight, key

ID = "gpu-link-slow"
A6000 = Board("NVIDIA RTX A6000", "2230", "8.6", 49140, 300, 4, {"bf16": 120.0}, 672, 25.0)


def machine(
    board: Board,
    joined: Any,
    rate: Any,
    count: int = 8,
    topology: Any = lambda a, b: 50,
    peer: bool = True,
    **gpu: Any,
) -> Snapshot:
    """So many GPUs. `joined`: whether NVLink joins two; `rate`, `topology`: of each two."""
    s = eight(board)
    gpus = tuple(replace(one, **gpu) for one in (known(s.gpus) or ())[:count])
    facts = tuple(
        GpuPair(a=key(a), b=key(b), p2p_read=0, p2p_nvlink=0 if joined(a, b) else 5, topology=topology(a, b))
        for a in range(count)
        for b in range(a + 1, count)
    )
    pairs = tuple(
        PairProof(source=f"cuda:{a}", target=f"cuda:{b}", right=True, peer_access=peer, gb_s=rate(a, b))
        for a, b in permutations(range(count), 2)
    )
    s = s.replace(
        {"gpus": gpus, "gpu_pairs": facts, "driver.cuda_devices": (known(s.driver.cuda_devices) or ())[:count]}
    )
    mine = {f"cuda:{n}" for n in range(count)}
    rates = tuple(r for r in known(s.measured.rates) or () if r.device in mine)
    proofs = tuple(p for p in known(s.measured.torch) or () if p.device in mine)
    return changed(s, pairs=pairs, torch_devices=tuple(sorted(mine)), rates=rates, torch=proofs)


def switched(rate: Any, **more: Any) -> Snapshot:
    """Eight H200 behind NVSwitches."""
    return machine(BOARDS["h200"], lambda a, b: True, rate, nvlink_active=18, fabric_state=3, **more)


def one_slow(slow: float, usual: float, *ends: int) -> Any:
    return lambda a, b: slow if {a, b} == set(ends) else usual


def test_sound_links_are_not_named() -> None:
    s = switched(lambda a, b: 380.0)
    assert run(ID, s)[0] == "pass" and ids(s) == []


def test_an_nvlink_pair_at_pcie_speed_fails_and_is_named() -> None:
    s = switched(one_slow(12.0, 380.0, 2, 6))
    status, _, (finding,) = run(ID, s)
    assert status == "fail" and "cuda:2 to cuda:6" in finding.title and "12.0 GB/s over NVLink" in finding.title
    assert finding.facts["pairs"] == [["cuda:2", "cuda:6"], ["cuda:6", "cuda:2"]]
    assert "18 links" in finding.detail and "315 to 428" in finding.detail
    assert_every_fix_is_looked_at_again(s, finding)


def test_a_gpu_whose_every_pair_is_slow_is_named() -> None:
    _, _, (finding,) = run(ID, switched(lambda a, b: 200.0 if 5 in (a, b) else 380.0))
    assert "All of these pairs include cuda:5" in finding.detail and len(finding.facts["pairs"]) == 14


def test_all_pairs_at_a_third_warn_without_any_sibling() -> None:
    assert run(ID, switched(lambda a, b: 250.0))[0] == "warn"


def test_a_bridge_joins_two_and_the_others_take_pcie() -> None:
    """RTX A6000, 4 links of 14.0625 GB/s: 56.25 each way over the bridge, no range across the processors."""

    def bridged(a: int, b: int) -> bool:
        return a // 2 == b // 2

    sound = machine(A6000, bridged, lambda a, b: 51.0 if bridged(a, b) else 11.0, 4, nvlink_active=4)
    assert run(ID, sound)[0] == "pass"
    sick = machine(
        A6000, bridged, lambda a, b: 12.0 if {a, b} == {2, 3} else 51.0 if bridged(a, b) else 11.0, 4, nvlink_active=4
    )
    status, _, (finding,) = run(ID, sick)
    assert status == "fail" and "cuda:2 to cuda:3" in finding.title and finding.facts["nvlinks"] == 4
    assert "39.4 to 53.4" in finding.detail


BRIDGED: list[tuple[Board, int, float, float]] = [
    (Board("NVIDIA A100 80GB PCIe", "20b5", "8.0", 81920, 300, 4, {"bf16": 250.0}, 1700, 25.0), 12, 265.0, 60.0),
    (Board("NVIDIA H100 NVL", "2321", "9.0", 95830, 400, 5, {"bf16": 600.0}, 3500, 55.0), 12, 265.0, 60.0),
    (Board("NVIDIA GeForce RTX 2080 Ti", "1e07", "7.5", 11264, 250, 3, {"fp16": 80.0}, 540, 12.0), 2, 45.0, 11.0),
]
"""Board, links, and the rates of a sound and of a sick bridge."""


def test_bridges_have_a_range_without_siblings_that_are_joined_alike() -> None:
    for board, links, sound, sick in BRIDGED:
        two = dict(count=2, nvlink_active=links)
        status, why, _ = run(ID, machine(board, lambda a, b: True, lambda a, b, rate=sound: rate, **two))
        assert (status, why) == ("pass", ""), (board.name, why)
        status, _, findings = run(ID, machine(board, lambda a, b: True, lambda a, b, rate=sick: rate, **two))
        assert status == "fail" and findings[0].facts["nvlinks"] == links, board.name


def test_a_mesh_of_four_has_a_third_of_the_links_for_each_peer() -> None:
    mesh = dict(count=4, nvlink_active=18)
    assert run(ID, machine(BOARDS["h100"], lambda a, b: True, lambda a, b: 128.0, **mesh))[0] == "pass"
    status, _, (finding,) = run(ID, machine(BOARDS["h100"], lambda a, b: True, one_slow(20.0, 128.0, 0, 3), **mesh))
    assert status == "fail" and finding.facts["nvlinks"] == 6


def test_a_far_pair_that_is_sound_is_never_a_warning() -> None:
    near = {(a, b) for a, b in permutations(range(8), 2) if a // 4 == b // 4}
    for far in (5.5, 9.0, 14.0):
        s = machine(
            BOARDS["4090"],
            lambda a, b: False,
            lambda a, b, far=far: 24.0 if (a, b) in near else far,
            topology=lambda a, b: 20 if (a, b) in near else 50,
        )
        assert run(ID, s)[0] == "pass", far


def test_below_one_switch_and_beside_pairs_that_are_joined_alike() -> None:
    slow_one = machine(BOARDS["4090"], lambda a, b: False, one_slow(6.0, 24.0, 0, 1), topology=lambda a, b: 10)
    status, _, (finding,) = run(ID, slow_one)
    assert status == "warn" and finding.facts["way"] == "switch"
    assert_every_fix_is_looked_at_again(slow_one, finding)
    # Between NUMA nodes there is no range, but one pair of many at a third of the others is told.
    status, _, (finding,) = run(ID, machine(BOARDS["4090"], lambda a, b: False, one_slow(3.0, 11.0, 1, 7)))
    assert status == "warn" and "pairs with the same kind of link: 11.0" in finding.detail


def test_with_another_program_there_it_is_a_remark() -> None:
    s = switched(one_slow(12.0, 380.0, 2, 6))
    busy = tuple(replace(one, others=1) for one in known(s.measured.loads) or ())
    status, _, (finding,) = run(ID, changed(s, loads=busy))
    assert (status, finding.severity) == ("pass", "info")


def test_copies_of_other_bytes_are_another_finding() -> None:
    s = switched(one_slow(12.0, 380.0, 2, 6))
    wrong = tuple(
        replace(p, right=False, error="3 of 9 numbers came wrong") if p.gb_s == 12.0 else p
        for p in known(s.measured.pairs) or ()
    )
    assert run(ID, changed(s, pairs=wrong))[0] == "pass" and "gpu-wrong-results" in ids(changed(s, pairs=wrong))


@for_each("pairs", [Missing("not-asked"), ()])
def test_nothing_was_copied(pairs: Any) -> None:
    assert run(ID, changed(switched(lambda a, b: 380.0), pairs=pairs))[0] == "skipped"


def test_an_unknown_board_is_held_against_its_siblings_alone() -> None:
    board = replace_name(BOARDS["h200"])
    s = machine(board, lambda a, b: True, one_slow(100.0, 380.0, 0, 1), nvlink_active=18, fabric_state=3)
    assert run(ID, changed(s, loads=loads(board)))[0] == "warn"


def replace_name(board: Board) -> Board:
    return board._replace(name="NVIDIA Graphics Device", pci="3fff")
