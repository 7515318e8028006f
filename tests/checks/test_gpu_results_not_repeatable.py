"""gpu-results-not-repeatable: other bits in a repeat, all within rounding."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import Missing, ProductProof

from ..judging import ids, report, run
from ..proof.stories import KEY, assert_every_fix_is_looked_at_again, proven

ID = "gpu-results-not-repeatable"


def product(what: str = "bf16", **more: Any) -> ProductProof:
    facts: dict[str, Any] = {"right": True, "m": 8192, "n": 8192, "k": 8192, "blocks": 1 << 23, "repeats": 20}
    return ProductProof(device="cuda:0", what=what, **{**facts, **more})


def test_other_bits_within_rounding_warn() -> None:
    s = proven("h100", products=(product(differing_repeats=3, differing_elements=1), product("fp16")))
    assert ids(s) == [ID] and report(s).exit_code == 0
    status, _, (finding,) = run(ID, s)
    assert (status, finding.subject) == ("warn", KEY)
    assert "bf16 (8192 x 8192 x 8192): 3 of 20 repeats differ, in up to 1 of 67,108,864 elements" in finding.detail
    assert_every_fix_is_looked_at_again(s, finding)


def test_the_same_bits_each_time_wrong_ones_or_none() -> None:
    assert run(ID, proven("h100", products=(product(),))) == ("pass", "", [])
    wrong = product(right=False, differing_repeats=3, wrong_elements=3)
    assert ids(proven("h100", products=(wrong,))) == ["gpu-wrong-results"]
    for products in ((), (product(right=Missing("timeout")),), Missing("timeout")):
        assert run(ID, proven("h100", products=products))[0] == "skipped"
