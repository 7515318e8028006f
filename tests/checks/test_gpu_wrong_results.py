"""gpu-wrong-results: through libcuda alone, through torch, on the CPU."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import NOT_ASKED, CopyProof, Missing, PairProof, ProductProof, StepEnd

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
    ("how", "words"), [("driver", "3 of 65536 elements"), ("torch", "matmul off by 0.7"), ("both", "libcuda alone")]
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
    status, why, _ = run(ID, nothing)
    assert status == "unknown" and "no result from cuda:0 was compared" in why
    unlisted = proven(B, **WRONG["torch"]).replace({"gpus": Missing("denied")})
    finding = run(ID, unlisted)[2][0]
    assert finding.subject == "cuda:0"
    assert_every_fix_is_looked_at_again(unlisted, finding)


def test_a_gpu_that_was_not_compared_is_no_pass() -> None:
    """Of two, one. That --device left the other out is no gap: the report says so."""
    gap = Missing("timeout", "convolution was not over")
    late = StepEnd(agent="torch_proof", step="device", fault="skipped", detail="the 60 s allowed for the test ran out")
    both = ("cuda:0", "cuda:1")
    second = torch_proof(B, device="cuda:1", tensor_device="cuda:1", key="GPU-1", right=gap, fault="slow")
    for more, words in (
        ({"torch": (torch_proof(B), second)}, "no result from cuda:1 was compared: convolution was not over"),
        ({"ended": (late,)}, "no result from cuda:1 was compared: the 60 s allowed for the test ran out"),
        ({"torch_devices": (*both, "cuda:2", "cuda:3")}, "no result from cuda:1-3 was compared"),
    ):
        s = proven(B, **{"torch_devices": both, **more})
        status, why, findings = run(ID, s)
        assert (status, findings) == ("unknown", []) and why.endswith(words), why
        wrong = proven(B, **{"torch_devices": both, **more}, driver=(driver_proof(B, right=False, wrong_elements=3),))
        assert run(ID, wrong)[0] == "fail"
    assert run(ID, proven(B, torch_devices=both, device="cuda:0"))[0] == "pass"
    assert run(ID, proven(B, torch_devices=both, device="cuda:0,cuda:1"))[0] == "unknown"
    alone = driver_proof(B, device=1, key="GPU-1")
    assert run(ID, proven(B, torch_devices=both, driver=(driver_proof(B), alone)))[0] == "pass"


@for_each(
    ("fault", "products", "status"),
    [
        ("failed", (), "unknown"),
        ("crash", (), "unknown"),
        ("failed", ("fp32",), "pass"),  # one was, and the report names those that were not
        ("skipped", (), "unknown"),
        ("slow", (), "unknown"),
        ("starved", (), "unknown"),
        ("skipped", ("fp32",), "pass"),
    ],
)
def test_rates_of_products_that_nothing_could_verify_are_no_pass(
    fault: str, products: tuple[str, ...], status: str
) -> None:
    """As torch 1.13.1 raised for names that its settings lack: all rates were there, and no product was checked."""
    ends = tuple(
        StepEnd(
            agent="torch_speed", step=f"{check}matmul {what}", device="cuda:0", fault=fault, detail="AssertionError"
        )  # type: ignore[arg-type]
        for check, what in (("", "bf16"), ("check of ", "fp32"))
        if what not in products
    )
    s = proven(B, ended=ends, products=tuple(product(what=what) for what in products))
    found, _, findings = run(ID, s)
    assert found == status
    assert report(s).exit_code == (3 if status == "unknown" else 0)
    for finding in findings:
        assert finding.status == "unknown" and finding.subject == KEY and "AssertionError" in finding.detail
        assert_every_fix_is_looked_at_again(s, finding)


@for_each(
    ("fault", "detail", "used", "command"),
    [
        ("skipped", "no time left", 120.0, "gpudoctor prove --quick --timeout 600"),
        ("skipped", "no time left", 400.0, "gpudoctor prove --quick --timeout 800"),
        ("starved", "no processor core was free", 45.0, "gpudoctor prove --quick --timeout 600"),
        ("skipped", "CUDA out of memory", 120.0, "gpudoctor prove"),
        ("failed", "AssertionError", 120.0, "gpudoctor prove"),
    ],
)
def test_an_unverified_proof_gets_what_its_checks_lacked(fault: str, detail: str, used: float, command: str) -> None:
    end = StepEnd(agent="torch_speed", step="check of matmul bf16", device="cuda:0", fault=fault, detail=detail)  # type: ignore[arg-type]
    (finding,) = run(ID, proven(B, level="quick", timeout_s=used, ended=(end,), products=()))[2]
    assert finding.status == "unknown" and detail in finding.detail
    assert finding.fixes[0].steps[0].command == command


def test_of_a_gpu_that_nobody_asked_nothing_is_said() -> None:
    cpu = torch_proof(B, device="cpu", key="", tensor_device="cpu")
    assert run(ID, proven(B, device="cpu", driver=NOT_ASKED, torch=(cpu,)))[0] == "skipped"
    assert (
        run(ID, proven(B, device="cpu", driver=NOT_ASKED, torch=(torch_proof(B, device="cpu", right=False),)))[0]
        == "fail"
    )


def product(**more: Any) -> ProductProof:
    facts: dict[str, Any] = {"right": True, "m": 8192, "n": 8192, "k": 8192, "blocks": 1 << 23, "repeats": 20}
    return ProductProof(**{"device": "cuda:0", "what": "bf16", **facts, **more})


def copy(**more: Any) -> CopyProof:
    return CopyProof(**{"device": "cuda:0", "what": "d2d", "right": True, "mib": 1024.0, "copies": 3, **more})


@for_each(
    ("measured", "words"),
    [
        (
            {"products": (product(right=False, wrong_blocks=1 << 23, over_bound=1510.0),)},
            "bf16 matmuls (8192 x 8192 x 8192) are wrong: 8,388,608 of 8,388,608 sums over the result differ from",
        ),
        (
            {"products": (product(right=False, what="fp8", differing_repeats=3, wrong_elements=3),)},
            (
                "fp8 matmuls (8192 x 8192 x 8192) are sometimes wrong: 3 of 20 repeats differ, "
                "and 3 of the differing elements"
            ),
        ),
        (
            {"copies": (copy(right=False, wrong_numbers=12), copy(what="h2d-pinned"))},
            "copies within the GPU's memory return wrong bytes: 12 4-byte numbers in 3 copies of 1024 MiB",
        ),
        ({"copies": (copy(right=False, what="h2d-pinned", wrong_numbers=1),)}, "copies from pinned host memory return"),
    ],
    ids=["all", "now-and-then", "d2d", "h2d"],
)
def test_what_was_timed_and_is_wrong(measured: dict[str, Any], words: str) -> None:
    """Though torch's own proof in float32 was right."""
    s = proven(B, **measured)
    done = report(s)
    assert ids(s) == [ID] and done.exit_code == 1
    finding = done.findings[0]
    assert (finding.severity, finding.subject) == ("critical", KEY) and words in finding.detail
    assert done.measured is not None and done.measured.gpu_path == "gpu-wrong-results"
    assert_every_fix_is_looked_at_again(s, finding)


def test_results_that_are_right() -> None:
    assert ids(proven(B, products=(product(), product(what="fp16")), copies=(copy(),))) == []


def test_a_copy_between_gpus_that_brings_other_bytes() -> None:
    """On the GPU that has a part in most of them; the way between them is named, and how to go on without it."""
    bad = {"right": False, "peer_access": True, "error": "3 of 16777216 numbers came wrong"}
    pairs = (
        PairProof(source="cuda:1", target="cuda:0", **bad),
        PairProof(source="cuda:0", target="cuda:2", **bad),
        PairProof(source="cuda:1", target="cuda:2", right=True),
    )
    s = proven(B, pairs=pairs)
    assert ids(s) == [ID]
    finding = report(s).findings[0]
    assert finding.subject == KEY
    assert "copied from cuda:1 to cuda:0, cuda:0 to cuda:2 arrives with wrong bytes: 3 of" in finding.detail
    assert "IOMMU or ACS" in finding.detail
    assert [fix.id for fix in finding.fixes] == ["train-without-p2p", "repair-p2p"]
    assert_every_fix_is_looked_at_again(s, finding)
    through_host = proven(B, pairs=(PairProof(source="cuda:0", target="cuda:1", right=False, peer_access=False),))
    assert [fix.id for fix in report(through_host).findings[0].fixes] == ["prove-again"]
