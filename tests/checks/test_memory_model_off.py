"""memory-model-off: bytes for each parameter against the rule."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.findings import Policy
from doctor.snapshot import NOT_ASKED, EnvVar, Missing

from ..judging import ids, run
from ..proof.stories import KEY, STEP, assert_every_fix_is_looked_at_again, machine, proven
from ..rows import for_each

ID = "memory-model-off"


@for_each(
    ("now", "status"), [(18.0, "pass"), (22.4, "pass"), (22.6, "warn"), (13.6, "pass"), (13.0, "warn"), (40.0, "warn")]
)
def test_the_band_around_the_rule(now: float, status: str) -> None:
    s = proven("h100", training=(replace(STEP, bytes_per_parameter=now),))
    assert run(ID, s)[0] == status and ids(s) == ([ID] if status == "warn" else [])
    for finding in run(ID, s)[2]:
        assert finding.subject == KEY and "optimizer 144 MiB" in finding.detail
        assert_every_fix_is_looked_at_again(s, finding)
    assert run(ID, s, Policy(thresholds={"memory_model_percent": 200}))[0] == "pass"


def test_variables_of_the_allocator_are_named() -> None:
    s = machine("h100", environment=(EnvVar("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:32"),))
    finding = run(ID, proven("h100", s, training=(replace(STEP, bytes_per_parameter=30.0),)))[2][0]
    assert "PYTORCH_CUDA_ALLOC_CONF" in finding.detail and finding.fixes[0].steps[0].command.startswith("unset")


def test_missing_measurements() -> None:
    for step in (
        replace(STEP, bytes_per_parameter=Missing("error")),
        replace(STEP, device="cpu", bytes_per_parameter=90.0),
    ):
        assert run(ID, proven("h100", training=(step,)))[0] == "skipped"
    assert run(ID, proven("h100", training=NOT_ASKED))[0] == "skipped"
    assert run(ID, proven("h100", training=Missing("error", "out of memory")))[0] == "unknown"


@for_each(
    ("parts", "words"),
    [
        ({"optimizer_mib": 290.0}, "optimizer's state takes 16.0"),
        ({"weights_mib": 145.0}, "The weights take 8.0"),
        ({}, "temporary copies"),
    ],
)
def test_the_part_that_is_off_is_named(parts: dict[str, float], words: str) -> None:
    (finding,) = run(ID, proven("h100", training=(replace(STEP, bytes_per_parameter=26.0, **parts),)))[2]
    assert words in finding.detail
