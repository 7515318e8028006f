"""What a GPU should reach: bands that the table's own measurements fit, and that follow link, limit and slice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_matrix import Matrix
from compat_matrix.expectation import Expectation
from compat_matrix.rows_more import Performance

from ..rows import for_each
from .conftest import Edit

DTYPES = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")


def of(m: Matrix, name: str, kind: str = "matmul", what: str = "bf16", **more: object) -> Expectation:
    return m.expected(m.gpu(name).rows, kind, what, **more)  # type: ignore[arg-type]


def test_bands_are_in_order_for_every_gpu(m: Matrix) -> None:
    known = 0
    watts = {spec.id: spec.tdp_w for spec in m.gpu_specs}
    shares = {spec.id: spec.sustained_share for spec in m.gpu_specs}
    for row in m.gpus:
        for kind, what in (*(("matmul", d) for d in DTYPES), ("memory", "copy"), ("h2d", "h2d-pinned")):
            e = m.expected([row], kind, what)  # type: ignore[arg-type]
            if e.basis == "unknown":
                assert e.reason and e.low == e.floor == e.high == 0, row.id
                continue
            known += 1
            assert 0 <= e.floor <= e.low < e.typical <= e.high and e.unit and e.rows, (row.id, kind, what, e)
            assert e.basis == "measured" or e.floor == 0 or kind in ("h2d", "memory")  # NVIDIA's own check
            if kind == "matmul" and row.form_factor != "laptop":
                least = 0.18 if (watts[row.id] or 300) <= 75 else 0.25 if shares[row.id] else 0.3
                own = [r.median for r in e.rows if isinstance(r, Performance)]
                most = 0.9 * min(r or 0.0 for r in own) if e.basis == "measured" else 0.8001 * e.peak
                assert least * e.peak <= e.low <= most, (row.id, what, e)
    assert known > 1000


def test_nothing_that_was_measured_is_below_its_own_floor(m: Matrix) -> None:
    """The table's own samples are healthy GPUs: a band that calls one of them broken is a wrong band."""
    rows = [r for r in m.performance if r.metric.startswith("matmul_tflops") and r.pattern in DTYPES and r.gpu_name]
    judged = 0
    for row in rows:
        e = of(m, row.gpu_name, what=row.pattern)
        if e.basis == "unknown" or row.median is None:
            continue
        judged += 1
        assert row.median >= e.low, (row.gpu_name, row.pattern, row.median, e)
    assert judged > 150


@for_each("dtype", DTYPES)
def test_the_share_of_a_peak_fits_every_measured_board(m: Matrix, dtype: str) -> None:
    """As if none of them had been measured: boards with one power setting all reach the low share."""
    unmeasured = {
        geforce: of(m, "NVIDIA GeForce RTX 4070" if geforce else "NVIDIA RTX PRO 4000 Blackwell", what=dtype)
        for geforce in (True, False)
    }
    assert {e.basis for e in unmeasured.values()} == {"peak"} or dtype == "fp4"
    low = {geforce: e.low / (e.peak or 1.0) for geforce, e in unmeasured.items()}
    for row in m.performance:
        apart = any(word in row.gpu_name for word in ("Laptop", "Thor", "NVIDIA L4", "Tesla T4"))  # a slot's power
        if row.metric.startswith("matmul_tflops") and row.pattern == dtype and row.percent and not apart:
            assert row.percent / 100 >= low["GeForce" in row.gpu_name], (row.gpu_name, row.percent)


def test_geforce_is_a_pool_of_its_own(m: Matrix) -> None:
    """GeForce holds its listed TF32 and more; boards for data centres and workstations reach half to all of it."""
    geforce, other = (of(m, name, what="tf32") for name in ("NVIDIA GeForce RTX 5070", "NVIDIA H800"))
    unmeasured = of(m, "NVIDIA GeForce RTX 4070", what="tf32")
    assert unmeasured.basis == other.basis == "peak" and geforce.basis == "measured"
    assert unmeasured.typical > unmeasured.peak and unmeasured.low > 0.7 * unmeasured.peak
    assert 0.7 * other.peak < other.typical < 0.9 * other.peak


@for_each(
    ("name", "kind", "what", "lowest"),
    [
        ("NVIDIA H100 NVL", "matmul", "bf16", 488.5),
        ("NVIDIA H100 PCIe", "matmul", "tf32", 225.7),  # at 10240; 240.4 at 8192
        ("NVIDIA A100-PCIE-40GB", "matmul", "fp16", 197.5),  # at 8192; 241.5 at 4096, which takes half a millisecond
        ("NVIDIA L4", "matmul", "fp32", 10.66),
        ("NVIDIA L40S", "matmul", "bf16", 252.0),
        ("NVIDIA GeForce RTX 5090", "matmul", "bf16", 221.7),  # more than its listed boost clock gives
        ("NVIDIA GeForce RTX 4090", "memory", "copy", 904.3),
        ("NVIDIA H100 80GB HBM3", "memory", "copy", 2900.0),  # p2pBandwidthLatencyTest: 2569.5, by copies of 160 MB
        ("NVIDIA H200", "memory", "copy", 4010.0),
        ("NVIDIA A100-SXM4-80GB", "memory", "copy", 1610.0),  # a scale kernel on another board: 1732.0
        ("NVIDIA A40", "memory", "copy", 652.0),
        ("Tesla V100-PCIE-16GB", "memory", "copy", 802.0),
    ],
)
def test_a_tenth_below_the_lowest_sound_reading_is_low(
    m: Matrix, name: str, kind: str, what: str, lowest: float
) -> None:
    """However few were measured."""
    e = of(m, name, kind, what)
    assert e.basis == "measured" and 0.89 * lowest < e.low <= 0.9001 * lowest


@for_each(("rate", "low"), [(1400.0, True), (1455.0, False), (1500.0, False), (1550.0, False), (1732.0, False)])
def test_copies_of_an_a100_by_two_tools(m: Matrix, rate: float, low: bool) -> None:
    """BabelStream copies 1,610 GB/s in Azure's machines, gpu-benches scales at 1,732: neither is out of range."""
    e = of(m, "NVIDIA A100-SXM4-80GB", "memory")
    assert (rate < e.low) is low and rate <= e.high


def test_only_readings_that_differ_by_more_allow_more(m: Matrix) -> None:
    """Every measured band, but those of boards whose readings were taken before they reached their power limit."""
    slot = {spec.id for spec in m.gpu_specs if (spec.tdp_w or 300) <= 75}
    wider, judged = set(), 0
    for row in m.gpus:
        for kind, what in (*(("matmul", d) for d in DTYPES), ("memory", "copy")):
            e = m.expected([row], kind, what)  # type: ignore[arg-type]
            if e.basis != "measured" or (kind == "matmul" and row.id in slot):
                continue
            judged += 1
            own = [r for r in e.rows if isinstance(r, Performance)]
            spread = max(1 - r.least / r.most for r in own)
            lowest = min(r.least for r in own)
            if spread <= 0.1:
                assert e.low == pytest.approx(0.9 * lowest), (row.id, what)
            else:
                wider.add(row.name)
                assert e.low >= 0.8 * lowest, (row.id, what)
    assert judged > 150 and "NVIDIA GeForce RTX 3080" in wider


@for_each(
    ("kind", "what", "rate", "low"),
    [
        ("memory", "copy", 2800.0, True),
        ("matmul", "bf16", 500.0, True),
        ("matmul", "tf32", 250.0, True),
        ("memory", "copy", 4200.0, False),
        ("matmul", "bf16", 700.0, False),
        ("matmul", "bf16", 800.0, False),
    ],
)
def test_slow_and_sound_h200(m: Matrix, kind: str, what: str, rate: float, low: bool) -> None:
    assert (rate < of(m, "NVIDIA H200", kind, what).low) is low


def test_a_board_below_its_chips_power_may_be_slower(m: Matrix) -> None:
    """A10 has 150 W for the chip that A40 drives with 300 W; GB10 shares 140 W with its CPU."""
    for name in ("NVIDIA A10", "NVIDIA GB10"):
        e = of(m, name)
        assert e.basis == "peak" and e.low < 0.45 * e.peak


def test_one_outlier_of_three_samples_does_not_widen_the_band(m: Matrix) -> None:
    row = next(r for r in m.performance if r.gpu_name == "NVIDIA GeForce RTX 3080" and r.pattern == "bf16")
    assert row.min is not None and row.min < 0.4 * (row.median or 0)
    assert of(m, "NVIDIA GeForce RTX 3080").low > 1.2 * row.min


def test_a_card_with_an_a10s_chip_says_nothing_of_the_a10(m: Matrix) -> None:
    """The BlueField-2 card with its PCI device (2236149D in DCGM's list) copies 485 GB/s; nothing is listed of the A10."""
    e = of(m, "NVIDIA A10", "memory")
    assert e.basis == "peak" and e.floor == 0


def test_what_an_a16_is_accepted_with_is_not_the_a2s(m: Matrix) -> None:
    """Both have PCI device 25B6: 180,000 and 164,300 in DCGM's list."""
    rates = {r.gpu_name: r.median for r in m.performance if "(dev 25B6)" in r.gpu and r.metric == "device_memory_bw"}
    assert rates == {"NVIDIA A16": 180.0, "NVIDIA A2": 164.3}
    for name, accepted in rates.items():
        assert of(m, name, "memory").floor == pytest.approx(0.6 * (accepted or 0))


def test_form_factors_are_not_mixed_up(m: Matrix) -> None:
    assert of(m, "NVIDIA H100 PCIe").high < of(m, "NVIDIA H100 80GB HBM3").low
    assert of(m, "NVIDIA A10").peak == 125 and of(m, "NVIDIA A10G").peak == 63
    assert of(m, "NVIDIA H200", "memory").low > of(m, "NVIDIA H100 80GB HBM3", "memory").low


def test_types_without_tensor_cores_have_no_expectation(m: Matrix) -> None:
    for name, what in (
        ("Tesla T4", "bf16"),
        ("Tesla P100-PCIE-16GB", "tf32"),
        ("NVIDIA A10", "fp8"),
        ("NVIDIA H100 80GB HBM3", "fp3"),
    ):
        assert of(m, name, what=what).basis == "unknown"


def test_bandwidth_rows_that_cannot_be_true_are_not_believed(m: Matrix) -> None:
    """GB200 43 % and H20 50 % of the nameplate by a list with mixed units; one tool's copy on an H200 at 66 %."""
    for name in ("NVIDIA GB200", "NVIDIA H20"):
        assert of(m, name, "memory").basis == "peak"
    assert of(m, "NVIDIA H200", "memory").low > 0.75 * 4800
    assert of(m, "NVIDIA A40", "memory").typical == 652.0


def test_a_lower_limit_lowers_the_band_and_nothing_can_fail_by_it(m: Matrix) -> None:
    full, capped = (
        of(m, "NVIDIA GeForce RTX 4090"),
        of(m, "NVIDIA GeForce RTX 4090", power_limit_w=270, power_default_w=450),
    )
    assert capped.low == pytest.approx(0.6 * full.low) and capped.low < capped.typical < full.typical
    assert full.floor > 0 == capped.floor and "60%" in capped.reason
    assert of(m, "NVIDIA GeForce RTX 4090", power_limit_w=600, power_default_w=450) == full
    assert of(m, "NVIDIA GeForce RTX 4090", power_limit_w=225).low == pytest.approx(0.5 * full.low)  # by the listed TDP
    mobile = of(
        m, "NVIDIA GeForce RTX 2070", what="fp16", power_limit_w=115, power_default_w=115
    )  # the desktop's has 175
    assert mobile.low == pytest.approx(115 / 175 * of(m, "NVIDIA GeForce RTX 2070", what="fp16").low)
    memory = of(m, "NVIDIA GeForce RTX 4090", "memory", power_limit_w=270)
    assert (
        0.6 * of(m, "NVIDIA GeForce RTX 4090", "memory").low
        < memory.low
        < of(m, "NVIDIA GeForce RTX 4090", "memory").low
    )


def test_boards_on_a_slots_power_may_fall_to_their_base_clock(m: Matrix) -> None:
    """A T4 does 24 TFLOP/s of fp16 when the runs are many, by NVIDIA's own word a healthy one."""
    t4 = of(m, "Tesla T4", what="fp16")
    assert t4.low < 24 < t4.typical and 0 < t4.floor < 18
    assert of(m, "Tesla T4", "memory").low > 0.5 * of(m, "Tesla T4", "memory").peak


@for_each(
    ("name", "what", "sustained", "slow"),
    [
        ("NVIDIA L4", "bf16", 54.91, 49.0),
        ("NVIDIA L4", "fp16", 52.47, 47.0),
        ("NVIDIA L4", "tf32", 24.0, 21.5),
        ("NVIDIA L4", "fp32", 10.66, 9.5),
        ("NVIDIA RTX A2000 12GB", "fp16", 27.6, 24.5),
        ("NVIDIA RTX A2000 12GB", "fp32", 4.4, 3.9),
    ],
)
def test_a_board_that_was_measured_at_its_power_limit_is_the_measure(
    m: Matrix, name: str, what: str, sustained: float, slow: float
) -> None:
    """At 4096 and more an L4 does three quarters of its best size: no further share is taken off for its 72 W."""
    e = of(m, name, what=what)
    assert e.floor < slow < e.low <= 0.9001 * sustained and sustained < e.typical <= e.high


@for_each("name", ["NVIDIA Thor", "Orin (nvgpu)", "Xavier"])
def test_a_module_with_power_modes_has_no_expectation(m: Matrix, name: str) -> None:
    for kind, what in (("matmul", "fp16"), ("memory", "copy")):
        e = of(m, name, kind, what)
        assert e.basis == "unknown" and "power mode" in e.reason


@for_each(
    ("name", "profile", "compute", "memory"),
    [
        ("NVIDIA H100 80GB HBM3", "1g.10gb", 16 / 132, 1 / 8),
        ("NVIDIA H100 80GB HBM3", "1g.20gb", 26 / 132, 1 / 4),
        ("NVIDIA H100 80GB HBM3", "3g.40gb", 60 / 132, 1 / 2),
        ("NVIDIA A100-SXM4-40GB", "2g.10gb", 28 / 108, 1 / 4),
        ("NVIDIA A30", "2g.12gb", 28 / 56, 1 / 2),
        ("NVIDIA H200", "1g.18gb", 16 / 132, 1 / 8),
        ("NVIDIA H200 NVL", "1g.35gb", 26 / 132, 1 / 4),
        ("NVIDIA H20-3e", "1g.18gb", 1 / 7, 1 / 8),
        ("NVIDIA A100-PCIE-40GB", "3g.20gb", 42 / 108, 1 / 2),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "1g.24gb", 46 / 188, 1 / 4),
        ("NVIDIA H200", "7g.141gb", 1.0, 1.0),
        ("NVIDIA H200", "1g.18gb+me", 16 / 132, 1 / 8),
        ("NVIDIA A100-SXM4-40GB", "1c.3g.20gb", 14 / 108, 1 / 2),
    ],
)
def test_a_slice_gets_its_share(m: Matrix, name: str, profile: str, compute: float, memory: float) -> None:
    board, part = of(m, name), of(m, name, mig_profile=profile)
    assert part.basis == "peak" and part.peak == pytest.approx(compute * board.peak) and part.floor == 0
    slow = of(m, name, "memory", mig_profile=profile)
    assert slow.peak == pytest.approx(memory * of(m, name, "memory").peak) and slow.low < 0.45 * slow.peak
    assert of(m, name, "h2d", mig_profile=profile).basis == "unknown"


@for_each("profile", ["9z", "1g", "1g.10gb; rm", "MIG", "1c.1g", "c.1g.10gb"])
def test_a_slice_that_is_none(m: Matrix, profile: str) -> None:
    assert of(m, "NVIDIA H100 80GB HBM3", mig_profile=profile).basis == "unknown"


def test_copies_follow_generation_and_lanes_of_board_and_slot(m: Matrix) -> None:
    full = of(m, "NVIDIA H100 80GB HBM3", "h2d")
    assert 43 < full.low < 48 < full.typical < 56  # Azure's pass line is 48, the best hosts reach 55
    assert of(m, "NVIDIA H100 80GB HBM3", "h2d", pcie_gen=4).typical == pytest.approx(25.7)
    assert of(m, "NVIDIA H100 80GB HBM3", "h2d", pcie_gen=6) == full
    assert of(m, "NVIDIA H100 80GB HBM3", "h2d", pcie_width=4).typical == pytest.approx(full.typical / 4)
    assert of(m, "NVIDIA GeForce RTX 4060", "h2d").typical == pytest.approx(25.7 / 2)  # a board of eight lanes
    assert of(m, "NVIDIA GH200 480GB", "h2d").low > 200
    assert of(m, "NVIDIA GB10", "h2d").basis == "unknown"


def test_unlisted_gpus_have_no_expectation(m: Matrix) -> None:
    e = m.expected((), "matmul", "bf16")
    assert e.basis == "unknown" and "not listed" in e.reason


def test_several_products_give_the_widest_band(m: Matrix) -> None:
    rows = [row for row in m.gpus if row.name in ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3")]
    both = m.expected(rows, "matmul", "bf16")
    assert both.low == of(m, "NVIDIA H100 PCIe").low and both.high == of(m, "NVIDIA H100 80GB HBM3").high


def test_expectations_follow_the_data(changed: Callable[[str, Edit], Matrix]) -> None:
    def slower(rows: list[dict[str, object]]) -> None:
        for row in rows:
            if row.get("gpu_name") == "NVIDIA H200" and row["metric"] == "matmul_tflops":
                row.update(min=500, median=500, max=500)

    assert of(changed("performance", slower), "NVIDIA H200").low == pytest.approx(450)  # four samples that agree
    without = changed(
        "performance", lambda rows: [rows.remove(r) for r in [*rows] if r.get("gpu_name") == "NVIDIA H200"]
    )
    assert of(without, "NVIDIA H200").basis == "peak"
