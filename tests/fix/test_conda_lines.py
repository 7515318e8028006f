"""A torch that conda installed: a line of conda's by a row of the matrix, or the word that none is known."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.fixes.conda import NO_LINE
from doctor.snapshot import ABSENT, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, report
from ..torches import with_other_build


def by_conda(s: Snapshot) -> Snapshot:
    """A CPU build of conda-forge in a conda environment."""
    sick = with_other_build(s)
    rows = [replace(d, installer="conda", requires=()) for d in known(sick.python.distributions) or ()]
    rows = [replace(d, version="2.8.0") if d.name == "torch" else d for d in rows if d.name != "triton"]
    return sick.replace(
        {
            "python.distributions": tuple(rows),
            "python.patient.kind": "conda",
            "python.patient.version": "3.12.11",
            "torch.installer": "conda",
            "torch.version": "2.8.0",
            "python.patient.torch_version": "2.8.0",
        }
    )


def test_one_transaction_of_conda() -> None:
    sick = by_conda(healthy())
    finding = next(f for f in report(sick).findings if f.id == "cpu-only-torch")
    assert_fix_works(sick, finding)
    (step,) = finding.fixes[0].steps
    wanted = "conda install --yes --prefix /opt/venv -c conda-forge 'pytorch=2.8.0=cuda129*' torchvision torchaudio"
    assert step.command == wanted and "conda-forge/pytorch-cpu-feedstock" in finding.fixes[0].source


def test_no_driver_is_seen() -> None:
    """conda asks libcuda for the version: without it no CUDA build would be installed."""
    sick = by_conda(healthy()).replace({"driver.cuda_version": ABSENT})
    finding = next(f for f in report(sick).findings if f.id == "cpu-only-torch")
    assert finding.fixes[0].steps[0].command.startswith("CONDA_OVERRIDE_CUDA=12.9 conda install ")


def test_no_row_is_said() -> None:
    sick = by_conda(healthy("v100", driver="535.129.03", cuda="12.2")).replace({"python.patient.version": "3.13.2"})
    finding = next(f for f in report(sick).findings if f.id == "cpu-only-torch")
    told = " ".join(step.command for step in finding.fixes[0].steps)
    assert ("conda install" in told) != (NO_LINE in finding.fixes[0].note)
