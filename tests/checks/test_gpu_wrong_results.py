"""gpu-wrong-results: through libcuda alone, through torch, on the CPU."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import NOT_ASKED, Missing

from ..judging import ids, report, run
from ..proof.stories import BOARDS, KEY, assert_every_fix_is_looked_at_again, driver_proof, proven, torch_proof
from ..rows import for_each

ID = "gpu-wrong-results"
B = BOARDS["a10"]
WRONG = {
    "driver": {"driver": (driver_proof(B, right=False, wrong_elements=3),)},
    "torch": {"torch": (torch_proof(B, right=False, matmul_error=0.7),)},
    "both": {
        "driver": (driver_proof(B, right=False, wrong_elements=3),),
        "torch": (torch_proof(B, right=False, conv_error=0.2),),
    },
}


@for_each(
    ("how", "words"), [("driver", "3 of 65536 elements"), ("torch", "product off by 0.7"), ("both", "libcuda alone")]
)
def test_wrong_values_are_the_first_and_only_finding(how: str, words: str) -> None:
    s = proven(B, **WRONG[how])
    done = report(s)
    assert ids(s) == [ID] and done.exit_code == 1
    assert (done.findings[0].severity, done.findings[0].subject) == ("critical", KEY)
    assert words in done.findings[0].detail
    assert done.measured is not None and done.measured.cuda_compatibility != "cleared"
    assert_every_fix_is_looked_at_again(s, done.findings[0])


def test_the_verdict_of_torch() -> None:
    done = report(proven(B, **WRONG["torch"])).measured
    assert done is not None and (done.gpu_path, done.cuda_compatibility) == ("gpu-wrong-results", "suspect")


@for_each(
    ("ecc", "words"),
    [
        ({"ecc_enabled": True}, "has counted no error"),
        ({}, "does not protect"),
        ({"ecc_uncorrected_volatile": 4}, "4 uncorrectable errors"),
    ],
)
def test_what_ecc_says_decides_the_likeliest_cause(ecc: dict[str, Any], words: str) -> None:
    s = proven(B, **WRONG["torch"])
    assert isinstance(s.gpus, tuple)
    s = s.replace({"gpus": (s.gpus[0].with_(**ecc),)})
    assert words in run(ID, s)[2][0].detail


def test_the_cpu_too() -> None:
    s = proven(
        B,
        device="cpu",
        driver=NOT_ASKED,
        torch=(torch_proof(B, device="cpu", tensor_device="cpu", key="", right=False),),
    )
    status, _, findings = run(ID, s)
    assert (status, [f.subject for f in findings]) == ("fail", ["cpu"])
    assert_every_fix_is_looked_at_again(s, findings[0])


def test_right_or_not_known() -> None:
    assert run(ID, proven(B)) == ("pass", "", [])
    nothing = proven(B, driver=NOT_ASKED, torch=(torch_proof(B, right=Missing("timeout")),))
    assert run(ID, nothing)[0] == "skipped"
    unlisted = proven(B, **WRONG["torch"]).replace({"gpus": Missing("denied")})
    finding = run(ID, unlisted)[2][0]
    assert finding.subject == "cuda:0"
    assert_every_fix_is_looked_at_again(unlisted, finding)


def test_of_a_gpu_that_nobody_asked_nothing_is_said() -> None:
    cpu = torch_proof(B, device="cpu", key="", tensor_device="cpu")
    assert run(ID, proven(B, device="cpu", driver=NOT_ASKED, torch=(cpu,)))[0] == "skipped"
    assert (
        run(ID, proven(B, device="cpu", driver=NOT_ASKED, torch=(torch_proof(B, device="cpu", right=False),)))[0]
        == "fail"
    )
