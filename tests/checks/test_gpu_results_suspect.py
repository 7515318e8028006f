"""gpu-results-suspect: off by more than rounding usually makes, within the proven bound."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import Missing, ProductProof

from ..judging import ids, report, run
from ..proof.stories import KEY, assert_every_fix_is_looked_at_again, proven
from ..rows import for_each

ID = "gpu-results-suspect"


def product(what: str = "tf32", **more: Any) -> ProductProof:
    facts: dict[str, Any] = {"right": True, "m": 8192, "n": 8192, "k": 8192, "blocks": 1 << 23, "repeats": 20}
    facts.update(over_bound=0.002, suspect_blocks=0, over_expected=0.18)
    return ProductProof(device="cuda:0", what=what, **{**facts, **more})


SUSPECT: dict[str, Any] = {"suspect_blocks": 12, "over_expected": 1.7}


def test_a_format_that_was_measured_on_this_architecture_warns() -> None:
    s = proven("h100", products=(product("bf16"), product(**SUSPECT)))
    assert ids(s, status="warn") == [ID] and report(s).exit_code == 0
    status, _, (finding,) = run(ID, s)
    assert (status, finding.subject, finding.facts["products"]) == ("warn", KEY, ["tf32"])
    assert "tf32 (8192 x 8192 x 8192): 12 of 8,388,608 sums are off by up to 1.7 times" in finding.detail
    assert_every_fix_is_looked_at_again(s, finding)


@for_each(("board", "what"), [("4090", "tf32"), ("pro6000", "fp32"), ("h100", "bf16"), ("a10", "fp16")])
def test_elsewhere_it_is_a_remark(board: str, what: str) -> None:
    s = proven(board, products=(product(what, **SUSPECT),))
    status, _, (finding,) = run(ID, s)
    assert (status, finding.status, finding.severity) == ("pass", "pass", "info") and "not a warning" in finding.detail
    assert [f.id for f in report(s).findings if f.status != "pass"] == []


@for_each(
    ("second", "words"),
    [
        (product(suspect_blocks=3, over_expected=1.2), "1.7 times the expected error; a second process saw this too"),
        (product(), "1.7 times the expected error; a second process did not see this"),
    ],
)
def test_a_second_process_looks_again(second: ProductProof, words: str) -> None:
    for products in ((product(**SUSPECT), second), (second, product(**SUSPECT))):
        status, _, (finding,) = run(ID, proven("h100", products=products))
        assert status == "warn" and words in finding.detail


def test_sound_wrong_and_not_judged() -> None:
    assert run(ID, proven("h100", products=(product(),))) == ("pass", "", [])
    wrong = product(right=False, wrong_blocks=9, over_bound=3.0, **SUSPECT)
    assert ids(proven("h100", products=(wrong,))) == ["gpu-wrong-results"]
    assert ids(proven("h100", products=(wrong, product(**SUSPECT)))) == ["gpu-wrong-results"]
    exact = product("int8", suspect_blocks=Missing("not-asked"))
    for products in ((), (exact,), (product(right=Missing("timeout")),), Missing("timeout")):
        assert run(ID, proven("h100", products=products))[0] == "skipped"


def test_other_bits_too_are_another_finding() -> None:
    s = proven("h100", products=(product(differing_repeats=2, differing_elements=1, **SUSPECT),))
    assert ids(s) == ["gpu-results-not-repeatable", ID]
