"""What a passed check says: no more than what it looked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

from doctor.judge import load_all

from ..judging import run
from ..rows import for_each
from ..sickness import env
from .test_mig_and_order import fastest_first

TOO_MUCH = re.compile(
    r"\b(?:healthy|intact|compatible|sound|fine|correct values|as (?:fast|good) as|equally|(?:match|fit)(?:es)? each other|"
    r"(?:large|fast|high) enough for)\b"
)
"""Words for a whole that a check of certain faults cannot see; `incompatible` names such a fault."""


def test_a_pass_claims_no_whole() -> None:
    claims = {check.id: check.about.sound for check in load_all()}
    assert len(claims) > 100 and not {id: words for id, words in claims.items() if TOO_MUCH.search(words)}


@for_each("values", [("GPU-",), ("0", "GPU-"), ("MIG-",)])
def test_gpus_that_are_chosen_by_identifier_have_no_order(values: tuple[str, ...]) -> None:
    value = ",".join(f"{one}00000000-0000-4000-8000-000000000001" if one.endswith("-") else one for one in values)
    ended, reason, findings = run("cuda-device-order-mismatch", env(fastest_first(), CUDA_VISIBLE_DEVICES=value))
    assert (ended, findings) == ("skipped", []) and "by identifier" in reason


def test_every_rule_that_runs_gpudoctor_in_an_image_says_how_it_gets_there() -> None:
    rules = json.loads((Path(__file__).parents[2] / "doctor/images/recipes/rules.json").read_text("utf-8"))
    naming = [rule for rule in rules if "gpudoctor" in rule["fix"]]
    assert naming
    for rule in naming:
        assert "pip install gpudoctor" in rule["fix"] and '"/opt/gpudoctor/bin/gpudoctor"' in rule["fix"], rule["id"]
