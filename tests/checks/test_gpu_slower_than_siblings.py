"""gpu-slower-than-siblings: GPUs of one model beside each other."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from doctor.snapshot import NOT_ASKED, Snapshot, known
from doctor.snapshot.siblings import below_siblings

from ..judging import ids, report, run
from ..proof.stories import BOARDS, UNKNOWN, Board, assert_every_fix_is_looked_at_again, load, proven, torch_proof
from ..rows import for_each

ID = "gpu-slower-than-siblings"


def key(number: int) -> str:
    return f"GPU-0a0b0c0d-0000-4000-8000-00000000000{number}"


def eight(
    board: Board = BOARDS["h200"],
    share: dict[int, float] | None = None,
    kinds: tuple[str, ...] = ("matmul", "memory", "copy"),
    gpu: dict[str, Any] | None = None,
    **of_sick: Any,
) -> Snapshot:
    """Eight GPUs of a model. `share`: how fast some are, in these kinds of figures; `of_sick`: NVML's load of those."""
    share = share or {}
    s = proven(board)
    one = (known(s.gpus) or ())[0]
    gpus, proofs, rates, loads = [], [], [], []
    for n in range(8):
        device, odd = f"cuda:{n}", n in share
        gpus.append(replace(one, key=key(n), uuid=key(n), index=n, **((gpu or {}) if odd else {})))
        proofs.append(torch_proof(board, device=device, tensor_device=device, key=key(n)))
        for rate in known(s.measured.rates) or ():
            if rate.kind in ("matmul", "memory", "copy"):
                factor = share.get(n, 1.0) if rate.kind in kinds else 1.0
                detail = {"at_once": 8} if rate.kind != "copy" else {}
                rates.append(replace(rate, device=device, value=rate.value * factor * (1 + 0.002 * n), detail=detail))
        for phase in ("matmul", "memory", "copy"):
            loads.append(replace(load(phase, board, **(of_sick if odd else {})), key=key(n)))
    changed = replace(s.measured, torch=tuple(proofs), rates=tuple(rates), loads=tuple(loads), driver=NOT_ASKED)
    cuda = known(s.driver.cuda_devices) or ()
    devices = tuple(replace(cuda[0], ordinal=n, uuid=key(n)) for n in range(8))
    return s.replace({"gpus": tuple(gpus), "driver.cuda_devices": devices, "measured": changed})


def test_half_the_speed_fails_on_that_gpu() -> None:
    s = eight(share={5: 0.5})
    status, _, (finding,) = run(ID, s)
    assert (status, finding.subject, finding.facts["device"], finding.facts["percent"]) == (
        "fail",
        key(5),
        "cuda:5",
        50,
    )
    assert "bf16 379 TFLOP/s (the others: 75" in finding.detail and "suspect the board" in finding.detail
    assert report(s).findings[0].id == ID and report(s).exit_code == 1
    assert_every_fix_is_looked_at_again(s, finding)


def test_a_model_that_no_table_knows() -> None:
    assert [f.subject for f in run(ID, eight(UNKNOWN, share={2: 0.6}))[2]] == [key(2)]


@for_each(
    ("share", "kinds", "found"),
    [
        ({}, ("matmul",), []),
        ({5: 0.93}, ("matmul", "memory"), []),
        ({5: 0.85}, ("matmul",), [("warn", 5)]),
        ({1: 0.6, 6: 0.8}, ("memory",), [("fail", 1), ("warn", 6)]),
        ({5: 0.7}, ("copy",), []),
        ({5: 0.4}, ("copy",), [("fail", 5)]),
        (dict.fromkeys(range(8), 0.5), ("matmul", "memory"), []),
    ],
    ids=str,
)
def test_how_far_behind(share: dict[int, float], kinds: tuple[str, ...], found: list[tuple[str, int]]) -> None:
    """Copies may differ by the place in the machine; all of them slow is for the range to tell."""
    findings = run(ID, eight(share=share, kinds=kinds))[2]
    assert [(f.status, f.subject) for f in findings] == [(status, key(number)) for status, number in found]


@for_each(
    ("of_sick", "words"),
    [
        ({"reasons_percent": {"hw-thermal": 80.0}}, "Heat slowed it down"),
        ({"reasons_percent": {"power-brake": 80.0}}, "hardware protection"),
        ({"clock_sm_mhz": 900.0}, "Its SM clock was 900 MHz, while the others ran at 1800 MHz"),
    ],
)
def test_what_nvml_showed_meanwhile(of_sick: dict[str, Any], words: str) -> None:
    assert words in run(ID, eight(share={5: 0.5}, **of_sick))[2][0].detail


def test_others_on_it_are_no_fault() -> None:
    s = eight(share={5: 0.5}, others=1)
    assert run(ID, s)[0] == "pass" and ID not in ids(s)
    assert [r.subject for r in report(s).remarks if r.id == ID] == [key(5)]
    assert run(ID, eight(share={5: 0.5}, others=NOT_ASKED))[2][0].status == "warn"


def test_as_slow_alone_is_told() -> None:
    s = eight(share={5: 0.5})
    alone = {"at_once": 1, "before": 300.0}
    rates = tuple(replace(r, detail=alone) if r.device == "cuda:5" else r for r in known(s.measured.rates) or ())
    again = s.replace({"measured": replace(s.measured, rates=rates)})
    assert "just as slow when measured again alone" in run(ID, again)[2][0].detail


def test_other_models_limits_and_links_are_no_siblings() -> None:
    assert run(ID, proven("h200"))[:2] == ("skipped", "only one GPU")
    assert run(ID, eight(share={5: 0.5}, gpu={"power_limit_w": 400}))[0] == "pass"
    assert run(ID, eight(share={5: 0.5}, gpu={"pcie_width_max": 8}, kinds=("copy",)))[0] == "pass"
    assert run(ID, eight(share={5: 0.5}, gpu={"pcie_width_max": 8}, kinds=("matmul",)))[0] == "fail", "no link is in it"


def test_a_slow_majority_is_seen_by_the_fastest() -> None:
    for count in (4, 5, 6):
        status, _, found = run(ID, eight(share=dict.fromkeys(range(count), 0.5)))
        assert (status, len(found)) == ("fail", count), count
    assert below_siblings({str(n): 100.0 - 2 * n for n in range(8)}) == {}


def test_the_median_of_the_others() -> None:
    assert below_siblings({"cuda:0": 100.0}) == {}
    assert below_siblings({"cuda:0": 100.0, "cuda:1": 80.0}) == {"cuda:1": 100.0}
    assert below_siblings({"a": 100.0, "b": 98.0, "c": 50.0, "d": 102.0}) == {"c": 100.0}


@for_each("count", range(2, 10))
def test_far_below_the_fastest_is_far_below_however_many_are_slow(count: int) -> None:
    """The median of fast and slow ones lies between them, and is then no reference."""
    for slow in range(1, count):
        for percent in (45.0, 60.0, 69.0):
            values = {str(n): percent if n < slow else 100.0 for n in range(count)}
            found = below_siblings(values)
            assert found.keys() == {str(n) for n in range(slow)}, (slow, percent)
            assert all(percent < 70 / 100 * reference for reference in found.values()), (slow, percent, found)
