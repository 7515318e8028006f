"""Agents' raw lines to measurements: what can be read is kept, whatever else the line's neighbours are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode

from doctor.probes.measured import KINDS, parse_measured
from doctor.snapshot import NOT_ASKED, Missing
from doctor.snapshot.measured import Measured
from doctor.snapshot.redact import LocalNames, redact
from doctor.targets.agent import AgentResult
from doctor.targets.recording import Recording, read_recording, write_recording

from ..drawn import drawn
from ..rows import for_each

UUID = "GPU-5f3a9c1e-1111-2222-3333-444455556666"
RATE = {"kind": "matmul", "device": "cuda:0", "what": "bf16", "value": 700.5, "unit": "TFLOP/s", "detail": {"m": 8192}}
PROOF = {"device": "cuda:0", "key": UUID, "name": "NVIDIA H100 80GB HBM3", "right": True, "matmul_error": 1e-6}
ASKED = {"level": "quick", "device": "cuda"}


def measured(*lines: dict[str, Any], agent: str = "torch_speed", **end: Any) -> Measured:
    return parse_measured({agent: [AgentResult(list(lines), **end)]}, ASKED)


def test_results_become_facts() -> None:
    found = parse_measured(
        {
            "driver_proof": [
                AgentResult([{"driver_proof": {"device": 0, "key": UUID, "right": True, "elements": 4096}}])
            ],
            "torch_proof": [AgentResult([{"field": "torch_devices", "value": ["cuda:0"]}, {"torch_proof": PROOF}])],
            "torch_speed": [AgentResult([{"rate": RATE}, {"rate": {**RATE, "what": "fp16"}}])],
        },
        ASKED,
    )
    assert (found.level, found.device, found.torch_devices) == ("quick", "cuda", ("cuda:0",))
    assert [rate.what for rate in found.rates] == ["bf16", "fp16"]  # type: ignore[union-attr]
    assert found.driver[0].elements == 4096 and found.torch[0].right is True  # type: ignore[index]
    assert found.ended == () and found.batches == Missing("not-asked")


@for_each(
    "row",
    [
        {},
        [],
        None,
        "text",
        7,
        {**RATE, "value": "fast"},
        {**RATE, "value": float("nan")},
        {**RATE, "value": float("inf")},
        {**RATE, "value": 10**30},
        {**RATE, "value": 10**400},
        {**RATE, "detail": {"m": float("-inf")}},
        {**RATE, "detail": {"m": []}},
        {**RATE, "runs": "3"},
    ],
    ids=lambda row: str(row)[:60],
)
def test_a_result_that_cannot_be_read_is_told_and_costs_no_other(row: Any) -> None:
    found = measured({"rate": row}, {"rate": RATE})
    assert [rate.value for rate in found.rates] == [700.5]  # type: ignore[union-attr]
    (step,) = found.ended
    assert (step.agent, step.step, step.fault) == ("torch_speed", "rate", "failed") and "cannot be read" in step.detail


@for_each(("idle", "percents", "busy"), [(20, [100] * 8, False), (0, [40] * 28, True), (28, [], False), (0, [], False)])
def test_others_at_work_before_the_proof(idle: int, percents: list[int], busy: bool) -> None:
    """Not a GPU that the driver woke for NVML a moment ago."""
    told = [*percents, *[0] * idle]
    samples = [{"sample": {"time": 7.1 + 0.1 * n, "key": UUID, "utilization": told[n]}} for n in range(len(told))]
    phase = {"phase": "proof", "device": "cuda:0", "key": UUID, "start": 10.0, "end": 11.0}
    after = {"sample": {"time": 10.5, "key": UUID, "utilization": 97}}
    found = parse_measured(
        {
            "torch_proof": [AgentResult([phase, {"torch_proof": PROOF}])],
            "nvml_sampler": [AgentResult([*samples, after])],
        },
        ASKED,
    )
    assert found.torch[0].busy is busy  # type: ignore[index]


def test_a_missing_fact_is_read_as_one() -> None:
    proof = {**PROOF, "peak_mib": {"missing": "error", "detail": "no such call"}}
    found = measured({"torch_proof": proof}, agent="torch_proof")
    assert found.torch[0].peak_mib == Missing("error", "no such call")  # type: ignore[index]


def test_a_child_that_hangs_leaves_what_it_had_said() -> None:
    found = measured(
        {"torch_proof": PROOF},
        {"begin": "matmul", "device": "cuda:1", "so_far": {"device": "cuda:1", "name": "NVIDIA L4"}},
        agent="torch_proof",
        returncode=-9,
        fault="hang",
        guilty="matmul",
        seconds=30.0,
    )
    whole, cut = found.torch  # type: ignore[misc]
    assert whole.right is True and whole.fault is None
    assert (cut.device, cut.name, cut.fault, cut.failed_step) == ("cuda:1", "NVIDIA L4", "hang", "matmul")
    assert isinstance(cut.right, Missing) and cut.right.reason == "timeout"
    (step,) = found.ended
    assert (step.step, step.device, step.fault) == ("matmul", "cuda:1", "hang")


def test_a_child_that_dies_in_the_driver_leaves_its_device() -> None:
    found = measured(
        {"begin": "cuCtxCreate_v2", "device": 2},
        agent="driver_proof",
        returncode=-11,
        fault="crash",
        guilty="cuCtxCreate_v2",
    )
    (proof,) = found.driver  # type: ignore[misc]
    assert (proof.device, proof.fault, proof.failed_call) == (2, "crash", "cuCtxCreate_v2")
    assert found.ended[0].detail == "signal 11"


def test_an_agent_that_says_nothing_is_told() -> None:
    assert [step.detail for step in measured().ended] == ["it exited without output"]
    found = measured(returncode=2, fault="failed", stderr_tail="can't open file 'torch_speed.py'\n")
    assert found.rates == Missing("error", "can't open file 'torch_speed.py'")


def test_why_an_agent_was_not_started_is_why_its_facts_are_missing() -> None:
    step = {"agent": "torch_speed", "step": "all", "fault": "skipped", "detail": "torch is not installed"}
    found = parse_measured({"proof": [AgentResult([{"ended": step, "reason": "absent"}])]}, ASKED)
    assert found.rates == Missing("absent", "torch is not installed")
    assert found.ended[0].fault == "skipped"


def test_a_device_that_torch_names_no_uuid_for_has_that_of_libcuda() -> None:
    found = parse_measured(
        {
            "driver_proof": [AgentResult([{"driver_proof": {"device": 0, "key": UUID}}])],
            "torch_proof": [AgentResult([{"torch_proof": {**PROOF, "key": ""}}])],
        },
        ASKED,
    )
    assert found.torch[0].key == UUID  # type: ignore[index]


def test_a_batch_of_the_sweep_has_the_utilisation_of_its_time() -> None:
    def at(time: float, percent: int) -> dict[str, Any]:
        return {"sample": {"time": time, "key": UUID, "utilization": percent}}

    phase = {"phase": "sweep", "device": "cuda:0", "key": "", "batch_size": 64, "start": 10.0, "end": 12.0}
    found = parse_measured(
        {
            "torch_proof": [AgentResult([{"torch_proof": PROOF}])],
            "training_speed": [
                AgentResult([{"batch": {"device": "cuda:0", "batch": n, "step_ms": 1}} for n in (64, 128)] + [phase])
            ],
            "nvml_sampler": [AgentResult([at(9.0, 90), at(11.0, 8), at(11.5, 10), at(13.0, 90)])],
        },
        ASKED,
    )
    small, large = found.batches  # type: ignore[misc]
    assert small.utilization_percent == 9.0 and isinstance(large.utilization_percent, Missing)
    assert [(load.phase, load.utilization_percent) for load in found.loads] == [("sweep", 9.0)]  # type: ignore[union-attr]


def test_masks_are_the_same_wherever_a_gpu_is_named(tmp_path: Path) -> None:
    """In the facts as in the raw lines, and the models' names stay."""
    runs = {
        "driver_proof": [AgentResult([{"driver_proof": {"device": 0, "key": UUID, "name": "NVIDIA H100 80GB HBM3"}}])],
        "torch_proof": [AgentResult([{"torch_proof": PROOF}, {"phase": "proof", "device": "cuda:0", "key": UUID}])],
    }
    facts = redact(parse_measured(runs, ASKED), LocalNames(user="h100", host="hbm3"))
    assert facts.driver[0].key == facts.torch[0].key != UUID  # type: ignore[index]
    assert facts.torch[0].name == "NVIDIA H100 80GB HBM3"  # type: ignore[index]
    write_recording(str(tmp_path), Recording(proof=runs, manifest={"prove": ASKED}), redact)
    assert all(UUID not in path.read_text() for path in tmp_path.iterdir())
    again = read_recording(str(tmp_path))
    assert parse_measured(again.proof, again.manifest["prove"]) == facts


@for_each(
    ("limit", "read"),
    [(300.0, 300.0), (600, 600.0), (None, NOT_ASKED), ("600", NOT_ASKED), (-1, NOT_ASKED), (1e300, NOT_ASKED)],
)
def test_the_time_limit_of_a_proof_is_recorded(tmp_path: Path, limit: Any, read: Any) -> None:
    write_recording(str(tmp_path), Recording(proof={}, manifest={"prove": {**ASKED, "timeout_s": limit}}), redact)
    again = read_recording(str(tmp_path))
    assert parse_measured(again.proof, again.manifest["prove"]).timeout_s == read


def test_runs_one_after_the_other_are_kept_apart_in_a_recording(tmp_path: Path) -> None:
    runs = {
        "driver_proof": [
            AgentResult([{"begin": "cuLaunchKernel", "device": 0}], -9, "hang", "cuLaunchKernel", seconds=15.0),
            AgentResult([{"driver_proof": {"device": 1, "right": True}}]),
        ]
    }
    write_recording(str(tmp_path), Recording(proof=runs, manifest={"prove": ASKED}))
    again = parse_measured(read_recording(str(tmp_path)).proof, ASKED)
    assert again == parse_measured(runs, ASKED)
    assert [(proof.device, proof.fault) for proof in again.driver] == [(0, "hang"), (1, None)]  # type: ignore[union-attr]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just({"missing": "error"}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted({name for struct in KINDS.values() for name in struct.__struct_fields__})
ROWS = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=12) | JSON
KEYS = st.sampled_from([*KINDS, "begin", "field", "value", "phase", "device", "so_far", "run", "reason", "error"])
AGENTS = st.sampled_from(["proof", "driver_proof", "torch_proof", "torch_speed", "training_speed", "nvml_sampler"])


@pytest.mark.slow
@drawn(200)
@given(st.dictionaries(AGENTS, st.lists(st.dictionaries(KEYS, ROWS, max_size=4), max_size=6), max_size=3), JSON)
def test_any_lines_give_facts_that_can_be_written(lines: dict[str, list[dict[str, Any]]], about: Any) -> None:
    runs = {agent: [AgentResult(rows, -9, "hang", "matmul")] for agent, rows in lines.items()}
    assert encode(parse_measured(runs, about))


def test_a_sampler_that_left_with_the_proof_did_not_fail() -> None:
    early = AgentResult(lines=[{"begin": "import pynvml"}], fault="failed", guilty="import pynvml", returncode=0)
    for result, step in ((early, "import pynvml"), (AgentResult(returncode=0), "start")):
        (end,) = parse_measured({"nvml_sampler": [result]}, {"level": "quick", "device": "cuda"}).ended
        assert (end.step, end.fault) == (step, "skipped") and "before NVML answered" in end.detail
