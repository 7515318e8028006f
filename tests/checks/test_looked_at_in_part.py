"""looked-at-in-part: lists that gpudoctor did not read to their end; what counts them is unknown then."""

from __future__ import annotations

from doctor.findings import Expect, Policy
from doctor.findings.measured_path import overall, paths
from doctor.snapshot import Cap, CudaDevice, EnvVar, Measured, TorchProof

from ..healthy import healthy
from ..judging import POLICY, ids, report, run

ID = "looked-at-in-part"


def test_nothing_was_cut() -> None:
    assert run(ID, healthy())[0] == "pass" and run(ID, healthy())[2] == []


def test_a_cap_is_told_with_both_numbers() -> None:
    several = (Cap(what="torch-devices", looked=64, listed=80), Cap(what="path", looked=256, place="PATH"))
    (remark,) = run(ID, healthy().replace({"caps": several}))[2]
    assert remark.status == "pass" and "64 of 80 GPUs that torch lists; the first 256 folders in PATH" in remark.detail
    assert remark.facts["caps"][1] == {"what": "path", "looked": 256, "listed": None, "place": "PATH"}


def test_a_proof_of_a_part_is_no_proof_of_the_machine() -> None:
    """64 of 80 GPUs were measured: torch is not blamed for the rest, and the machine is not called proven."""
    names = tuple(f"cuda:{n}" for n in range(64))
    proofs = tuple(TorchProof(device=name, tensor_device=name, right=True) for name in names)
    measured = Measured(level="quick", device="cuda", torch_devices=names, torch=proofs)
    devices = tuple(CudaDevice(ordinal=n) for n in range(80))
    whole = healthy().replace({"measured": measured, "driver.cuda_devices": devices})
    cut = whole.replace({"caps": (Cap(what="measured-devices", looked=64, listed=80),)})
    assert "torch sees 64 of the 80 GPUs" in overall(paths(whole)).reason
    path = overall(paths(cut))
    assert path.word == "unknown" and path.reason == "the test ran on 64 of the 80 GPUs that torch lists"


def test_what_counts_a_cut_list_is_unknown() -> None:
    """300 GPUs, of which 256 were looked at: neither healthy nor a fault of the 44."""
    one = healthy().gpus[0]  # type: ignore[index]
    places = [f"{n // 32:04x}:{n % 32:02x}:00.0" for n in range(300)]
    gpus = tuple(one.with_(key=f"gpu-{n}", index=n, uuid=f"GPU-{n}", pci_address=places[n]) for n in range(256))
    devices = tuple(CudaDevice(ordinal=n, uuid=f"GPU-{n + 44}", pci_address=places[n + 44]) for n in range(256))
    caps = tuple(Cap(what=what, looked=256, listed=300) for what in ("gpus", "cuda-devices"))
    cut = healthy().replace({"gpus": gpus, "driver.cuda_devices": devices, "caps": caps})
    for name in ("cuda-lists-fewer-gpus", "cuda-device-order-mismatch"):
        assert run(name, cut)[0] in ("unknown", "skipped"), name
    for count in (256, 300):
        assert run("gpu-expectation-unmet", cut, Policy(expect=Expect.parse(f"{count}")))[0] == "unknown", count
    assert report(cut, POLICY).verdict == "unknown" and "required-fact-missing" in ids(cut)
    masked = cut.replace({"host.environment": (EnvVar(name="CUDA_VISIBLE_DEVICES", value="280,290"),)})
    masked = masked.replace({"driver.cuda_devices": devices[:1]})
    assert run("cuda-visible-devices-wrong", masked)[0] != "fail"
