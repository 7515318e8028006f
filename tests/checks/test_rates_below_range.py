"""matmul-below-range, memory-bandwidth-below-range, h2d-below-range: against what the matrix expects."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import NOT_ASKED, Missing, Rate, Snapshot, StepEnd

from ..judging import ids, report, run
from ..proof.stories import (
    BOARDS,
    KEY,
    Board,
    assert_every_fix_is_looked_at_again,
    changed,
    load,
    loads,
    machine,
    proven,
    rates,
    torch_proof,
)
from ..report.samples import LAYERS
from ..rows import for_each

MATMUL, MEMORY, H2D = "matmul-below-range", "memory-bandwidth-below-range", "h2d-below-range"
CHECKS = (MATMUL, MEMORY, H2D)
B = BOARDS["h100"]


@for_each("check_id", CHECKS)
@for_each("board", BOARDS)
def test_a_gpu_within_its_range(check_id: str, board: str) -> None:
    assert run(check_id, proven(board)) == ("pass", "", [])


@for_each(
    ("check_id", "part", "share", "status"),
    [
        (MATMUL, "speed", 0.92, "pass"),
        (MATMUL, "speed", 0.75, "warn"),
        (MATMUL, "speed", 0.5, "fail"),
        (MEMORY, "memory", 0.92, "pass"),
        (MEMORY, "memory", 0.65, "warn"),
        (MEMORY, "memory", 0.4, "fail"),
        (H2D, "h2d", 0.85, "pass"),
        (H2D, "h2d", 0.7, "warn"),
        (H2D, "h2d", 0.1, "warn"),
    ],
)
def test_the_band_of_a_measured_model(check_id: str, part: str, share: float, status: str) -> None:
    s = proven(B, rates=rates(B, **{part: share}))
    got, _, findings = run(check_id, s)
    assert got == status
    assert ids(s) == ([check_id] if status != "pass" else [])
    for finding in findings:
        assert finding.subject == KEY and finding.facts["basis"] == "measured" and finding.facts["percent"] < 100
        assert_every_fix_is_looked_at_again(s, finding)


@for_each("others", [Missing("denied"), 1])
def test_only_a_gpu_that_is_seen_to_be_free_can_fail(others: Any) -> None:
    slow = rates(B, speed=0.5)
    assert run(MATMUL, proven(B, rates=slow))[0] == "fail"
    assert run(MATMUL, proven(B, rates=slow, loads=loads(B, others=others)))[0] == ("pass" if others == 1 else "warn")
    assert run(MATMUL, proven(B, rates=slow, loads=NOT_ASKED))[0] == "warn"


def test_products_at_the_power_limit_never_fail() -> None:
    capped = loads(B, reasons_percent={"power-cap": 90.0}, clock_sm_mhz=1450.0)
    for speed, status in ((0.5, "warn"), (0.75, "pass")):
        assert run(MATMUL, proven(B, rates=rates(B, speed=speed), loads=capped))[0] == status
    assert run(MEMORY, proven(B, rates=rates(B, memory=0.4), loads=capped))[0] == "fail"


@for_each(
    ("nvml", "status"),
    [
        ({"power_w": B.watt * 0.97, "clock_sm_mhz": 1450.0}, "pass"),
        ({"power_w": B.watt * 0.97, "clock_sm_mhz": 1450.0, "samples": 4}, "warn"),
        ({"power_w": B.watt * 0.8, "clock_sm_mhz": 1450.0}, "warn"),  # it did not draw what it may
        ({"power_w": B.watt * 0.8, "clock_sm_mhz": 1450.0, "seconds": 0.36}, "pass"),  # a mean of what was before too
        ({"power_w": B.watt * 0.8, "clock_sm_mhz": 1450.0, "seconds": 0.36, "power_instant": True}, "warn"),
        ({"power_w": B.watt * 0.97, "clock_sm_mhz": 1800.0}, "warn"),  # nine tenths of the clock, three quarters of it
        ({"power_w": Missing("absent"), "clock_sm_mhz": 1450.0}, "warn"),
        ({"power_w": B.watt * 0.97, "clock_sm_mhz": Missing("absent")}, "warn"),
        ({"power_w": B.watt * 0.97, "clock_sm_mhz": 1450.0, "reasons_percent": {"power-cap": 10.0}}, "warn"),
    ],
)
def test_the_power_limit_excuses_what_it_explains(nvml: dict[str, Any], status: str) -> None:
    seen = loads(B, **{"reasons_percent": {"power-cap": 90.0}, **nvml})
    assert run(MATMUL, proven(B, rates=rates(B, speed=0.75), loads=seen))[0] == status


def h200(**reaches: float) -> Snapshot:
    """An H200 at its default limit of 700 W, as it is in a rack; `reaches`: TFLOP/s by type, `memory` in GB/s."""
    board = BOARDS["h200"]
    own = {"bf16": 720.0, "tf32": 385.0, "fp16": 700.0, "fp32": 50.0}
    own |= {what: value for what, value in reaches.items() if what != "memory"}
    changed = board._replace(products=own, memory=reaches.get("memory", 4200.0))
    seen = loads(changed, reasons_percent={"power-cap": 95.0}, power_w=692.0, clock_sm_mhz=1500.0)
    return proven(changed, machine(changed), loads=seen)


def test_slow_h200s_at_their_default_limit() -> None:
    for reaches, check_id in (({"memory": 2800.0}, MEMORY), ({"bf16": 500.0}, MATMUL), ({"tf32": 250.0}, MATMUL)):
        status, _, findings = run(check_id, h200(**reaches))
        assert status == "warn" and findings[0].facts["percent"] < 75, (reaches, status)
        assert ids(h200(**reaches)) == [check_id]
    for bf16 in (700.0, 750.0, 800.0):
        assert ids(h200(bf16=bf16)) == []


@for_each(
    ("gb_s", "status"),
    [(1500.0, "fail"), (2040.0, "warn"), (2100.0, "warn"), (2320.0, "warn"), (2570.0, "warn"), (2700.0, "pass"),
     (3000.0, "pass")],
)  # fmt: skip
def test_an_h100s_memory_beside_what_sound_ones_reach(gb_s: float, status: str) -> None:
    """Sound boards copy 2,900 to 3,020 GB/s; neither DCGM's pass threshold nor a peer copy of 160 MB is a usual rate."""
    board = BOARDS["h100"]._replace(memory=gb_s)
    s = proven(board, machine(board), rates=rates(board))
    assert run(MEMORY, s)[0] == status
    if status == "pass":
        table = render_terminal(report(s), LAYERS, Display(width=110, verbose=1))
        (row,) = [line for line in table.splitlines() if "memory copy" in line]
        assert "normal" in row and "above" not in row, row


NVL = Board("NVIDIA H100 NVL", "2321", "9.0", 95830, 400, 5, {"bf16": 488.5}, 3300, 50.0)
L4 = Board("NVIDIA L4", "27b8", "8.9", 23034, 72, 4, {"fp32": 10.66, "tf32": 24.0, "bf16": 54.91}, 250, 22.5)
L40S = Board("NVIDIA L40S", "26b9", "8.9", 46068, 350, 4, {"fp32": 46.88, "fp16": 264.0, "bf16": 252.0}, 740, 24.0)
A100 = Board("NVIDIA A100 80GB PCIe", "20b5", "8.0", 81920, 300, 4, {"bf16": 252.9}, 1700, 24.0)
RTX5090 = Board("NVIDIA GeForce RTX 5090", "2b85", "12.0", 32607, 575, 5, {"bf16": 221.7, "fp32": 63.99}, 1600, 50.0)


@for_each("board", [NVL, L4, L40S, A100, RTX5090])
@for_each(("share", "status"), [(1.0, "pass"), (0.91, "pass"), (0.89, "warn"), (0.82, "warn")])
def test_a_tenth_below_the_lowest_that_was_measured(board: Board, share: float, status: str) -> None:
    """Also where one board was measured."""
    s = proven(board, machine(board), rates=rates(board, speed=share), loads=loads(board, power_w=0.7 * board.watt))
    assert run(MATMUL, s)[0] == status


@for_each(("share", "status"), [(0.89, "pass"), (0.82, "pass"), (0.7, "warn")])
def test_power_that_nvml_does_not_show_may_be_the_reason(share: float, status: str) -> None:
    unread = loads(NVL, power_w=Missing("denied"), reasons_samples=Missing("denied"))
    for seen in (Missing("denied"), unread):
        assert run(MATMUL, proven(NVL, machine(NVL), rates=rates(NVL, speed=share), loads=seen))[0] == status
    for given in ({"idle": 2.0}, {}):  # also where none of them was set in any sample
        reasons = loads(NVL, power_w=Missing("denied"), reasons_percent=given)
        assert run(MATMUL, proven(NVL, machine(NVL), rates=rates(NVL, speed=share), loads=reasons))[0] == "warn"


def test_an_h100_at_700_tflops_and_its_default_limit_is_healthy() -> None:
    board = BOARDS["h100"]
    board = board._replace(products={**board.products, "bf16": 700.0})
    seen = loads(board, reasons_percent={"power-cap": 95.0}, power_w=692.0, clock_sm_mhz=1500.0)
    assert ids(proven(board, machine(board), rates=rates(board), loads=seen)) == []


def test_a_t4_at_its_base_clock_is_healthy() -> None:
    """24 TFLOP/s of fp16 at 70 W: what NVIDIA's forum calls expected."""
    t4 = Board("Tesla T4", "1eb8", "7.5", 15360, 70, 3, {"fp32": 3.9, "fp16": 24.0}, 258, 12.0)
    for nvml in ({"reasons_percent": {"power-cap": 100.0}}, {}):
        s = proven(t4, machine(t4), loads=loads(t4, **nvml))
        assert [run(check_id, s)[0] for check_id in CHECKS] == ["pass"] * 3 and run(MATMUL, s)[2] == []


def test_a_share_of_a_peak_never_fails() -> None:
    """Nobody measured an A10's products: 30 % of its peak is a warning."""
    s = proven("a10", rates=rates(BOARDS["a10"], speed=0.3))
    status, _, findings = run(MATMUL, s)
    assert (status, findings[0].facts["basis"], findings[0].direct) == ("warn", "peak", False)


def one_slow(what: str, share: float) -> tuple[Rate, ...]:
    return tuple(replace(r, value=r.value * share) if (r.kind, r.what) == ("matmul", what) else r for r in rates(B))


def test_one_slow_type_is_the_librarys() -> None:
    finding = run(MATMUL, proven(B, rates=one_slow("bf16", 0.7)))[2][0]
    assert "Only this data type is slow" in finding.detail and [r["what"] for r in finding.facts["rates"]] == ["bf16"]


@for_each(
    ("nvml", "words"),
    [
        ({"clock_sm_mhz": 600.0}, "600 MHz (maximum: 1980 MHz)"),
        ({"reasons_percent": {"sw-thermal": 5.0}}, "Heat slowed the GPU down"),
        ({"reasons_percent": {"power-brake": 5.0}}, "hardware protection"),
        ({"others": NOT_ASKED}, "a program that NVML does not show here"),
        ({}, "No other program was using the GPU"),
        ({"clock_sm_mhz": 1500.0}, "locked clocks or an old torch"),
    ],
)
def test_the_likeliest_cause_by_what_nvml_showed(nvml: dict[str, Any], words: str) -> None:
    finding = run(MATMUL, proven(B, rates=rates(B, speed=0.7), loads=loads(B, **nvml)))[2][0]
    assert words in finding.detail


def test_memory_clocks() -> None:
    finding = run(MEMORY, proven(B, rates=rates(B, memory=0.5), loads=loads(B, clock_memory_mhz=1593.0)))[2][0]
    assert "1593 MHz (maximum: 2619 MHz)" in finding.detail and finding.fixes[0].steps[0].command.endswith("-i 0 -rmc")
    high = run(MEMORY, proven(B, rates=rates(B, memory=0.5)))[2][0]
    assert "Most likely its memory is defective" in high.detail and not any(
        fix.id == "reset-clocks" for fix in high.fixes
    )
    assert_every_fix_is_looked_at_again(proven(B, rates=rates(B, memory=0.5)), high)


@for_each(
    ("facts", "words"),
    [
        ({"pcie_width": 4}, "generation 5 with 4 lanes"),
        ({"pcie_gen": 3}, "generation 3 with 16 lanes"),
        ({}, "as it should be"),
        ({"pcie_gen": Missing("absent"), "pcie_width": Missing("absent")}, "Most likely"),
    ],
)
def test_the_link_under_load(facts: dict[str, Any], words: str) -> None:
    s = proven(B, rates=rates(B, h2d=0.4), loads=(load("copy", B, **facts),))
    finding = run(H2D, s)[2][0]
    assert words in finding.detail
    assert (finding.fixes[0].id == "seat-board") is ("lanes" in words)


def test_a_slot_that_can_do_less_is_the_measure() -> None:
    """A board of generation 5 in a slot of generation 3 with eight lanes gives what that slot can."""
    s = machine(B)
    assert isinstance(s.gpus, tuple)
    s = s.replace({"gpus": (s.gpus[0].with_(pcie_gen_max=3, pcie_width_max=8, pcie_width=8),)})
    s = proven(B, s, rates=rates(B, h2d=6.0 / 55.2), loads=loads(B, pcie_gen=3, pcie_width=8))
    assert run(H2D, s) == ("pass", "", [])


def test_a_virtual_machine_is_told() -> None:
    s = proven(B, machine(B, virtualization="kvm"), rates=rates(B, h2d=0.4))
    assert "virtual machine" in run(H2D, s)[2][0].detail


@for_each(("share", "machines"), [(0.9, ("pass", 0)), (0.7, ("pass", 1)), (0.52, ("pass", 1)), (0.45, ("warn", 1))])
def test_a_virtual_machine_has_no_published_range(share: float, machines: tuple[str, int]) -> None:
    """Down to half of what bare machines reach it is a remark there; on a bare machine a warning below 80 %."""
    got, _, findings = run(H2D, proven(B, machine(B, virtualization="kvm"), rates=rates(B, h2d=share)))
    assert (got, len(findings)) == machines
    bare = run(H2D, proven(B, machine(B, virtualization="none"), rates=rates(B, h2d=share)))
    assert bare[0] == ("pass" if share > 0.8 else "warn")


@for_each("virtualization", ["kvm", "none"])
def test_copies_without_a_look_at_the_link_are_judged_by_the_board(virtualization: str) -> None:
    s = proven(B, machine(B, virtualization=virtualization), rates=rates(B, h2d=0.4), loads=())
    status, _, (finding,) = run(H2D, s)
    assert status == "warn" and "Under load" not in finding.detail


@for_each(("lanes", "share", "status"), [(8, 0.48, "pass"), (8, 0.2, "warn"), (16, 0.48, "warn")])
def test_a_provider_that_gives_half_the_lanes(lanes: int, share: float, status: str) -> None:
    s = proven(B, machine(B, virtualization="kvm"), rates=rates(B, h2d=share), loads=loads(B, pcie_width=lanes))
    got, _, findings = run(H2D, s)
    assert (got, len(findings)) == (status, 1)
    bare = proven(B, rates=rates(B, h2d=share), loads=loads(B, pcie_width=lanes))
    assert run(H2D, bare)[0] == "warn"


@for_each(
    ("name", "lanes", "share", "status"),
    [
        ("4090", 8, 0.48, "pass"),
        ("4090", 4, 0.24, "warn"),
        ("4090", 8, 0.2, "warn"),
        ("h100", 8, 0.48, "warn"),
    ],
)
def test_two_boards_that_share_a_processors_lanes(name: str, lanes: int, share: float, status: str) -> None:
    """Each in its slot of sixteen, wired for eight: a desktop of two GPUs. A module on its board has all of them."""
    b = BOARDS[name]
    s = machine(b, virtualization="none")
    assert isinstance(s.gpus, tuple)
    both = s.replace({"gpus": (s.gpus[0], replace(s.gpus[0], key="GPU-second", uuid="GPU-second", index=1))})
    slow = dict(rates=rates(b, h2d=share), loads=loads(b, pcie_width=lanes))
    assert run(H2D, proven(b, both, **slow))[0] == status
    assert run(H2D, proven(b, s, **slow))[0] == "warn"


def test_products_of_eight_bits_alone_are_a_remark() -> None:
    slow = tuple(replace(r, value=r.value * 0.3) if r.what in ("fp8", "int8") else r for r in rates(B))
    s = proven(B, rates=slow)
    status, _, findings = run(MATMUL, s)
    assert (status, ids(s)) == ("pass", []) and [r["what"] for r in findings[0].facts["rates"]] == ["fp8", "int8"]
    both = tuple(replace(r, value=r.value * 0.3) if r.what in ("int8", "bf16") else r for r in rates(B))
    assert run(MATMUL, proven(B, rates=both))[0] == "fail"


def test_products_of_four_bits_have_a_range_from_their_dense_peak() -> None:
    """B200: 9,000 TFLOP/s; half of it is sound, a quarter alone a remark: no kernel for them, most likely."""
    board = Board("NVIDIA B200", "2901", "10.0", 183359, 1000, 5, {"bf16": 1600.0, "fp4": 4600.0}, 6300, 50.0)
    assert run(MATMUL, proven(board)) == ("pass", "", [])
    slow = board._replace(products={**board.products, "fp4": 2300.0})
    status, _, (finding,) = run(MATMUL, proven(slow))
    assert (status, finding.severity) == ("pass", "info") and "'s dense peak" in finding.detail
    (fact,) = finding.facts["rates"]
    assert (fact["what"], fact["value"]) == ("fp4", 2300.0)


def test_a_lowered_power_limit_is_the_measure() -> None:
    s = machine("4090")
    assert isinstance(s.gpus, tuple)
    s = s.replace({"gpus": (s.gpus[0].with_(power_limit_w=225.0),)})
    b = BOARDS["4090"]
    assert run(MATMUL, proven(b, s, rates=rates(b, speed=0.6)))[0] == "pass"
    assert run(MATMUL, proven(b, s, rates=rates(b, speed=0.3)))[0] == "warn"
    assert run(MATMUL, proven(b, rates=rates(b, speed=0.6)))[0] in ("warn", "fail")


def test_two_names_of_one_chip_are_two_measures() -> None:
    """What is normal for an H100 PCIe is slow for an H100 SXM."""
    pcie = B._replace(name="NVIDIA H100 PCIe", pci="2331", watt=350)
    slow = tuple(replace(r, value=500.0) if r.what == "bf16" else r for r in rates(B) if r.what in ("bf16", "copy"))
    assert run(MATMUL, proven(pcie, machine(pcie), rates=slow))[0] == "pass"
    assert run(MATMUL, proven(B, rates=slow))[0] in ("warn", "fail")


EXCUSES: dict[str, dict[str, Any]] = {
    "busy": {"torch": (torch_proof(B, busy=True),)},
    "smaller": {
        "ended": tuple(
            StepEnd(
                agent="torch_speed",
                step=f"matmul {what}",
                device="cuda:0",
                fault="skipped",
                detail="3000 MiB free: made smaller, edge at most 1024",
            )
            for what in B.products
        )
    },
}


@for_each("excuse", EXCUSES)
def test_what_excuses_a_low_rate(excuse: str) -> None:
    s = proven(B, rates=rates(B, speed=0.5), **EXCUSES[excuse])
    status, _, findings = run(MATMUL, s)
    assert (status, [f.severity for f in findings]) == ("pass", ["info"]) and ids(s) == []


def test_a_laptop_is_a_remark() -> None:
    laptop = BOARDS["3060ti"]._replace(name="NVIDIA GeForce RTX 3060 Laptop GPU", pci="2520", mib=6144, watt=80)
    s = proven(laptop, machine(laptop), rates=tuple(replace(r, value=r.value / 9) for r in rates(laptop)))
    assert run(MATMUL, s)[0] == "pass" and len(run(MATMUL, s)[2]) == 1


def test_a_max_q_workstation_board_is_no_laptop() -> None:
    board = BOARDS["pro6000"]._replace(
        name="NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", pci="2bb4", watt=300
    )
    assert run(MEMORY, proven(board, machine(board)))[0] == "pass"
    assert run(MEMORY, proven(board, machine(board), rates=rates(board, memory=0.7)))[0] == "warn"


@for_each("check_id", CHECKS)
def test_missing_measurements(check_id: str) -> None:
    assert run(check_id, proven(B, rates=NOT_ASKED))[:2] == (
        "skipped",
        "speed was not measured; run gpudoctor prove --quick",
    )
    assert run(check_id, proven(B, rates=Missing("timeout", "no time left")))[0] == "unknown"
    assert run(check_id, proven(B, device="cpu", rates=()))[0] == "skipped"
    step = {MATMUL: "matmul bf16", MEMORY: "memory copy", H2D: "copy h2d-pinned"}[check_id]
    ended = (StepEnd(agent="torch_speed", step=step, device="cuda:0", fault="failed", detail="CUDA error"),)
    status, reason, _ = run(check_id, proven(B, rates=(), ended=ended))
    assert status == "unknown" and "CUDA error" in reason
    assert run(check_id, changed(proven(B), level=Missing("recheck")))[0] == "unknown"


def test_gpus_that_nobody_lists() -> None:
    """Without NVML the proof's name tells which GPU it is."""
    s = proven(B, rates=rates(B, speed=0.5)).replace({"gpus": Missing("denied")})
    status, _, findings = run(MATMUL, s)
    assert status == "warn" and findings[0].title.startswith("NVIDIA H100 80GB HBM3")
    assert_every_fix_is_looked_at_again(s, findings[0])


def test_two_gpus_are_judged_apart() -> None:
    s: Snapshot = machine(B)
    assert isinstance(s.gpus, tuple)
    other = replace(s.gpus[0], key="GPU-second", uuid="GPU-second", index=1)
    second = tuple(replace(r, device="cuda:1", value=r.value * 0.5) for r in rates(B) if r.kind == "matmul")
    proofs = (torch_proof(B), torch_proof(B, device="cuda:1", key="GPU-second"))
    s = proven(
        B,
        s.replace({"gpus": (s.gpus[0], other)}),
        torch=proofs,
        rates=(*rates(B), *second),
        loads=(*loads(B), *loads(B, key="GPU-second")),
    )
    assert [f.subject for f in run(MATMUL, s)[2]] == ["GPU-second"]
    done = report(s).measured
    assert done is not None and {e.device for e in done.expected} == {"cuda:0", "cuda:1"}
