"""The fastest link between some GPUs: what it would give, and that this is the one."""

from __future__ import annotations

import pytest

from compat_matrix import Matrix
from doctor.report.topo import topo_text
from doctor.topo import Answer, answer, parse_table

from ..rows import for_each

M = Matrix.load()


def same(link: str, count: int) -> str:
    """The table of so many GPUs, every two of them joined by this link."""
    names = [f"GPU{at}" for at in range(count)]
    rows = [[name, *("X" if other == name else link for other in names)] for name in names]
    return "\n".join("\t".join(row) for row in (["", *names], *rows)) + "\n"


def judged(m: Matrix, gpu: str, link: str, count: int) -> Answer:
    return answer(m, parse_table(same(link, count)), 7e9, 2048, gpu)


@for_each(
    ("gpu", "link", "count", "name", "reached"),
    [
        ("H200", "NV18", 8, "NV18", True), ("H200", "NV9", 8, "NV18", False), ("H200", "SYS", 8, "NV18", False),
        ("H100 SXM", "NV18", 8, "NV18", True), ("H100 SXM", "PIX", 8, "NV18", False), ("B200", "NV18", 8, "NV18", True),
        ("A100-SXM4-80GB", "NV12", 8, "NV12", True), ("A100-SXM4-40GB", "NV4", 4, "NV4", True),
        ("A100-SXM4-40GB", "NV4", 8, "NV12", False), ("GB200", "NV18", 72, "NV18", True),
        ("RTX 3090", "NV4", 2, "NV4", True), ("RTX 3090", "PHB", 2, "NV4", False),
        ("RTX 3090", "PHB", 4, "PCIe 4 x16", True), ("RTX 3090", "SYS", 4, "PCIe 4 x16", False),
        ("RTX 4090", "PIX", 8, "PCIe 4 x16", True), ("L40S", "SYS", 8, "PCIe 4 x16", False),
        ("H100 PCIe", "PIX", 4, "PCIe 5 x16", True), ("H100 PCIe", "NV12", 2, "NV12", True),
    ],
)  # fmt: skip
def test_the_fastest_link_of_these_gpus(gpu: str, link: str, count: int, name: str, reached: bool) -> None:
    found = judged(M, gpu, link, count)
    assert found.fastest is not None and (found.fastest.name, found.fastest.reached) == (name, reached)
    words = " ".join(topo_text(found).split())
    assert f"fastest link these GPUs have: {name}, " in words
    assert ("(reached here)" in words) is reached and (", the fastest link these GPUs have: " in words) is reached


@pytest.mark.slow
def test_the_fastest_link_slows_nothing_and_a_slower_one_says_what_the_fastest_would_give() -> None:
    """Every board with NVLink and some without, by the best link, by half of it, below a switch and by two sockets."""
    seen = 0
    names = {row.id: row.name for row in M.gpus}
    for at, spec in enumerate(M.gpu_specs):
        if not spec.nvlink_links and at % 12:
            continue
        gpu, links = names.get(spec.id, ""), int(spec.nvlink_links or 0)
        if not M.gpu(gpu).rows or not spec.pcie_gen:
            continue
        for link in ("PIX", "SYS", *([f"NV{links}", f"NV{links // 2}"] if links > 1 else [])):
            found = judged(M, gpu, link, 4)
            if found.fastest is None or found.rate_gb_s is None or not all(cost.grade for cost in found.costs):
                continue
            seen += 1
            words = " ".join((found.verdict, *(cost.verdict for cost in found.costs)))
            if found.fastest.reached:
                assert "slowed by the link" not in words and "wait for the link" not in words, (gpu, link, words)
                shares = {cost.fastest_share: cost.share_of_computing for cost in found.costs}
                assert list(shares) == pytest.approx(list(shares.values()), rel=0.011), (gpu, link)
                slow = [cost for cost in found.costs if cost.grade != "fine"]
                assert all("these GPUs have no faster link" in cost.verdict for cost in slow), (gpu, link)
            elif found.fastest.rate_gb_s > 1.01 * found.rate_gb_s:
                assert f"{found.fastest.name} would be " in found.verdict, (gpu, link, found.verdict)
                slow = [cost for cost in found.costs if cost.grade not in ("fine", "")]
                assert all(f" with {found.fastest.name})" in cost.verdict for cost in slow), (gpu, link, words)
                shares = [(cost.fastest_share, cost.share_of_computing) for cost in slow]
                assert all(best is not None and now is not None and best < now for best, now in shares), (gpu, link)
    assert seen > 60


def test_a_board_without_nvswitch_says_that_all_its_links_are_in_use() -> None:
    found = judged(M, "A100-SXM4-40GB", "NV4", 4)
    assert "all 12 NVLinks of each GPU are in use; NVSwitch would give each pair of GPUs NV12" in found.notes
    assert not judged(M, "A100-SXM4-40GB", "NV12", 8).notes[1:]


def test_what_is_not_listed_for_sure_has_no_fastest_link() -> None:
    for gpu, link in (("", "PHB"), ("V100-DGXS", "NV4"), ("RTX 5090 of tomorrow", "PIX")):
        found = judged(M, gpu, link, 4)
        assert found.fastest is None and "fastest" not in topo_text(found), gpu
