"""conda's environments: the lines that the matrix has a row for, carried out by py-rattler on a channel in a folder."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.judging import matrix

from .conda_channel import FULL, PYTHON, Channel
from .environments import Patient
from .judging import Doctor, found
from .shelf import Shelf

New = Callable[..., Patient]
On = Callable[..., Doctor]
RELEASES = ("2.6.0", "2.8.0", "2.13.0")
pytestmark = pytest.mark.skipif(
    all(PYTHON not in row.pythons for row in matrix().conda_rows), reason=f"no row of the matrix for Python {PYTHON}"
)


@pytest.fixture(scope="module")
def channel(tmp_path_factory: pytest.TempPathFactory, shelf: Shelf) -> Channel:
    return Channel(tmp_path_factory.mktemp("channel"), shelf, RELEASES)


@pytest.fixture
def conda(patient: New, channel: Channel) -> Callable[..., Patient]:
    """`conda(doctor, packages ...)`: a conda environment with these, on the doctor's machine."""

    def new(doctor: Doctor, *packages: str) -> Patient:
        here = patient("conda")
        command = here.room.folder / "bin" / "conda"
        command.write_text(
            f'#!/bin/sh\nexec {shlex.join([sys.executable, str(Path(__file__).parent / "conda_command.py")])} "$@"\n'
        )
        command.chmod(0o755)
        machine = {k: v for k, v in doctor.driver.items() if k in ("LD_LIBRARY_PATH", "GPUDOCTOR_FAKE_SCENARIO")}
        here.room.variables.update(CONDA_TEST_CHANNELS=json.dumps({"conda-forge": channel.url}), **machine)
        wanted = shlex.join([f"python={FULL}", *packages])
        here.room.run(f"conda install --yes --prefix {shlex.quote(str(here.prefix))} -c conda-forge {wanted}")
        return here

    return new


def builds(patient: Patient) -> dict[str, str]:
    """Name to build string of what conda has installed."""
    rows = (json.loads(path.read_text()) for path in patient.prefix.glob("conda-meta/*.json"))
    return {row["name"]: row["build"] for row in rows}


def test_cpu_build_to_cuda_build(conda: New, doctor: On) -> None:
    """One transaction; torchvision and torchaudio go with it, and nothing is removed first."""
    on = doctor()
    sick = conda(on, "pytorch=2.8.0=cpu*", "torchvision", "torchaudio")
    commands = on.treat(sick, "cpu-only-torch")
    assert len(commands) == 1 and "-c conda-forge 'pytorch=2.8.0=cuda129*'" in commands[0]
    have = builds(sick)
    assert have["pytorch"].startswith("cuda129_mkl_") and have["torchvision"].startswith("cuda129_")
    assert sick.installed["torch"] == "2.8.0"


@pytest.mark.slow
def test_a_release_with_code_for_the_gpu(conda: New, doctor: On) -> None:
    """An RTX 5090 on driver 570: builds of 2.6.0 have only PTX for it; 2.13.0 for CUDA 13 the driver would not take."""
    on = doctor("rtx5090")
    sick = conda(on, "pytorch=2.6.0=cuda126*")
    on.treat(sick, "torch-ptx-jit-only")
    assert builds(sick)["pytorch"].startswith("cuda129_") and sick.installed["torch"] == "2.13.0"


@pytest.mark.slow
def test_a_build_newer_than_the_driver_is_not_solved(conda: New, doctor: On, channel: Channel) -> None:
    """`__cuda` is what libcuda answers: the channel's constraint stops what the rows rule out, too."""
    on = doctor(driver__version="550.54.15", cuda__version="12040")
    sick = conda(on, "numpy")
    line = f"conda install --yes --prefix {shlex.quote(str(sick.prefix))} -c conda-forge"
    with pytest.raises(AssertionError, match="__cuda"):
        sick.room.run(f"{line} 'pytorch=2.13.0=cuda130*'")
    sick.room.run(f"{line} 'pytorch=2.13.0=cuda129*'")


@pytest.mark.slow
def test_an_image_without_a_driver(conda: New, doctor: On) -> None:
    """conda finds no driver and would install no CUDA build: the line names the CUDA version itself."""
    on = doctor(nvml__library="absent", cuda__library="absent")
    sick = conda(on, "pytorch=2.8.0=cpu*")
    finding = found(on.check(sick, "--only", "cpu-only-torch"), "cpu-only-torch")  # else its cause, no GPU, has the fix
    assert finding and "CONDA_OVERRIDE_CUDA=12.9 conda" in finding["fixes"][0]["steps"][0]["command"]
    line = f"conda install --yes --prefix {shlex.quote(str(sick.prefix))} -c conda-forge 'pytorch=2.8.0=cuda129*'"
    with pytest.raises(AssertionError, match="__cuda"):
        sick.room.run(line)
    sick.room.run(finding["fixes"][0]["steps"][0]["command"])
    assert builds(sick)["pytorch"].startswith("cuda129_")


@pytest.mark.slow
def test_no_row_no_line(conda: New, doctor: On) -> None:
    """No known build of conda-forge has code for a Tesla K80: it is said, and no conda line is made up."""
    k80 = {"gpu__0__name": "Tesla K80", "gpu__0__cc": "3.7", "gpu__0__pci__device": "102d"}
    on = doctor("v100", driver__version="470.57.02", cuda__version="11040", **k80)
    sick = conda(on, "pytorch=2.8.0=cpu*")
    finding = found(on.check(sick), "cpu-only-torch")
    assert finding
    told = json.dumps(finding["fixes"])
    assert "conda install" not in told and "No conda command is given" in told


@pytest.mark.slow
def test_conda_removes_what_conda_installed(conda: New, doctor: On) -> None:
    """A pip torch beside conda's: of the two copies conda's goes by conda."""
    on = doctor()
    sick = conda(on, "pytorch=2.8.0=cuda129*", "torchvision")
    sick.room.run(f"conda remove --yes --prefix {shlex.quote(str(sick.prefix))} pytorch")
    assert "torch" not in sick.installed and "torchvision" not in sick.installed and "python" in builds(sick)


@pytest.mark.slow
def test_every_row_is_a_line_that_solves(conda: New, doctor: On, channel: Channel) -> None:
    """Each spec of a row names one build of the channel, by the pattern that conda users type."""
    on = doctor()
    here = conda(on)
    for row in matrix().conda_rows:
        if row.platform == "linux_x86_64" and row.torch in RELEASES and PYTHON in row.pythons:
            spec = f"pytorch={row.torch}={row.build}"
            told = here.room.run(
                f"conda install --yes --prefix {shlex.quote(str(here.prefix))} -c conda-forge '{spec}'"
            )
            assert re.search(rf"^pytorch {re.escape(row.torch)} {row.build.rstrip('*')}_mkl_", told, re.M), told


def by_conda_still(patient: Patient) -> None:
    """What `put` has written into the metadata of conda's own packages, as conda writes it."""
    for path in patient.prefix.glob("conda-meta/*.json"):
        for file in json.loads(path.read_text()).get("files", ()):
            installer = patient.prefix / file
            if file.endswith(".dist-info/INSTALLER") and installer.exists():
                installer.unlink()
                installer.write_text("conda\n")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["cpu", "wrong", "broken"])
@pytest.mark.parametrize("last", ["conda", "pip"])
def test_two_installers_wrote_one_torch(conda: New, doctor: On, shelf: Shelf, last: str, what: str) -> None:
    """conda's package over pip's, or pip's over conda's: what is left is one torch, imported and with CUDA."""
    on = doctor("rtx5090")
    by_conda = {"cpu": "pytorch=2.8.0=cpu*", "wrong": "pytorch=2.6.0=cuda126*", "broken": "pytorch=2.8.0=cuda129*"}[
        what
    ]
    by_pip = {"cpu": "torch==2.8.0+cpu", "wrong": "torch==2.6.0", "broken": "torch==2.8.0"}[what]
    index = shelf.index("cpu").url if what == "cpu" else ""
    if last == "conda":
        sick = conda(on)
        sick.put("torch==2.8.0", by="pip")
        sick.room.run(f"conda install --yes --prefix {shlex.quote(str(sick.prefix))} -c conda-forge '{by_conda}'")
    else:
        sick = conda(on, "pytorch=2.8.0=cuda129*")
        sick.put(by_pip, "--reinstall-package", "torch", index=index, by="pip")
        by_conda_still(sick)
    if what == "broken":
        init = next(sick.prefix.glob("lib/python*/site-packages/torch/__init__.py"))
        text = init.read_text("utf-8")
        init.unlink()
        init.write_text(f"raise ImportError('cannot import name _C')\n{text}", "utf-8")
    commands = on.cure(sick)
    if found(on.check(sick), "torch-installed-twice"):
        commands += [*on.treat(sick, "torch-installed-twice"), *on.cure(sick)]
    site = next(sick.prefix.glob("lib/python*/site-packages"))
    left = [path.name for path in site.glob("torch-*-info")]
    assert len(left) == 1, (left, commands)
    told = on.check(sick)
    assert not [f["id"] for f in told["findings"] if f["status"] == "fail"], commands
    assert told["snapshot"]["torch"]["build"] == "cuda", commands
