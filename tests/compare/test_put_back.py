"""Masks and commands in the answer of `gpudoctor compare`."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from doctor.report.json import render_json
from doctor.snapshot import Distribution, EnvVar, Snapshot, known
from doctor.snapshot.redact import redact

from ..cli.command import gpudoctor, save
from ..healthy import healthy
from ..judging import report
from ..torches import not_asked, with_torch
from .machines import SITE
from .test_compare_command import asked


def named_machine(user: str) -> Snapshot:
    """A machine whose paths and variables name a user."""
    s = not_asked(healthy())
    home = f"/home/{user}"
    variables = (EnvVar("LD_LIBRARY_PATH", f"{home}/lib"), EnvVar("USER", user))
    return s.replace({"host.environment": variables, "python.patient.prefix": f"{home}/venv"})


@pytest.mark.slow
def test_masks_compare_as_masks(tmp_path: Path) -> None:
    plain, masked = tmp_path / "plain.json", tmp_path / "masked.json"
    found = report(named_machine("marie"))
    plain.write_bytes(render_json(found))
    masked.write_bytes(render_json(replace(redact(found), redacted=True)))
    for files in ((plain, masked), (masked, plain), (masked, masked)):
        for more in ((), ("--no-redact",)):
            _, answer = asked(*files, *more)
            assert not answer["facts"] and answer["redacted"], files
            assert b"marie" not in gpudoctor("compare", *files, *more).stdout
    other = tmp_path / "other.json"
    other.write_bytes(render_json(report(named_machine("marie").replace({"python.patient.prefix": "/home/marie/new"}))))
    assert b"marie" not in gpudoctor("compare", plain, other, "-v").stdout
    assert b"/home/marie/new" in gpudoctor("compare", plain, other, "-v", "--no-redact").stdout


def test_packages_in_a_sentence_with_the_command_that_puts_them_back(tmp_path: Path) -> None:
    old = not_asked(with_torch(healthy(), "2.6.0", "cu124"))
    new = not_asked(with_torch(healthy(), "2.9.1", "cu130"))
    _, found = asked(save(tmp_path, old, name="old.json"), save(tmp_path, new, name="new.json"))
    (torch,) = found["packages"]
    assert torch["words"].startswith("torch 2.9.1+cu130 replaced 2.6.0+cu124; 6 nvidia-* packages")
    (back,) = found["put_back"]
    for words in ("torch==2.6.0", "torchvision==", "--index-url https://download.pytorch.org/whl/cu124"):
        assert words in back["command"] or (words.startswith("--index") and "index" not in back["command"])
    assert "uninstall -y nvidia-cublas nvidia-cuda-runtime" in back["command"]


def test_what_is_put_back_is_named(tmp_path: Path) -> None:
    """A removed, a new and a changed package, alone, together and next to torch."""

    def machine(torch: tuple[str, str], **versions: str) -> Snapshot:
        s = not_asked(with_torch(healthy(), *torch))
        kept = [one for one in known(s.python.distributions) or () if one.name != "numpy"]
        more = [Distribution(name=name, version=version, location=SITE) for name, version in versions.items()]
        return s.replace({"python.distributions": (*kept, *more)})

    old, new = ("2.6.0", "cu124"), ("2.9.1", "cu130")
    rows = [
        (machine(old, numpy="1.26.4"), machine(old, numpy="2.2.6"), ["Install numpy 1.26.4 again"]),
        (machine(old), machine(old, einops="1"), ["Remove einops"]),
        (machine(old), machine(old, einops="1", rich="2"), ["Remove these 2 packages"]),
        (machine(old, numpy="1.26.4"), machine(old, einops="1"), ["Undo the changes to these 2 packages"]),
        (machine(old, numpy="1.26.4"), machine(new, einops="1"), ["Install torch 2.6.0+cu124 again",
                                                                  "Undo the changes to the other 2 packages"]),
    ]  # fmt: skip
    for before, after, texts in rows:
        _, found = asked(save(tmp_path, before, name="old.json"), save(tmp_path, after, name="new.json"))
        assert [back["text"] for back in found["put_back"]] == texts
    assert found["put_back"][-1]["command"] == (
        "/opt/venv/bin/python -m pip uninstall -y einops && /opt/venv/bin/python -m pip install numpy==1.26.4"
    )


def test_no_command_holds_a_mask(tmp_path: Path) -> None:
    s = named_machine("marie").replace({"python.patient.executable": "/srv/marie/venv/bin/python"})
    packages = known(s.python.distributions) or ()
    newer = tuple(replace(one, version="9.9") if one.name == "numpy" else one for one in packages)
    old = save(tmp_path, s, name="old.json")
    new = save(tmp_path, s.replace({"python.distributions": newer}), name="new.json")
    _, found = asked(old, new)
    assert found["packages"] and all(
        "marie" not in back["command"] and "user-" not in back["command"] for back in found["put_back"]
    )
    assert b"The command is omitted because it contains a masked name" in gpudoctor("compare", old, new).stdout
    masked = tmp_path / "masked.json"
    masked.write_bytes(render_json(replace(redact(report(s.replace({"python.distributions": newer}))), redacted=True)))
    _, found = asked(old, masked)
    assert found["packages"] and not any(back["command"] for back in found["put_back"])
    _, whole = asked(old, new, "--no-redact")
    assert "/srv/marie/venv/bin/python" in whole["put_back"][0]["command"]


def test_another_environment_is_not_put_back(tmp_path: Path) -> None:
    """What a second environment has of its own is not removed from it, and pip never is."""
    s = not_asked(healthy())
    packages = known(s.python.distributions) or ()
    without = s.replace({"python.distributions": tuple(one for one in packages if one.name not in ("pip", "numpy"))})
    old, new = save(tmp_path, without, name="old.json"), save(tmp_path, s, name="new.json")
    other = save(tmp_path, s.replace({"python.patient.prefix": "/opt/other"}), name="other.json")
    (back,) = asked(old, new)[1]["put_back"]
    assert back["command"].endswith("pip uninstall -y numpy") and back["text"] == "Remove numpy"
    for one in (other, *_other_machines(tmp_path, s)):
        assert asked(old, one)[1]["packages"] and not asked(old, one)[1]["put_back"]
    lost = save(tmp_path, s.replace({"gpus": ()}), name="lost.json")
    assert asked(old, lost)[1]["put_back"]


def _other_machines(folder: Path, s: Snapshot) -> list[Path]:
    """A node of a different processor or GPU with the same path: what was installed there need not run here."""
    gpus = known(healthy("rtx5090").gpus) or ()
    rows = {
        "aarch64": {"host.architecture": "aarch64"},
        "rtx5090": {"gpus": gpus},
        "windows": {"host.system": "windows"},
    }
    return [save(folder, s.replace(changes), name=f"{name}.json") for name, changes in rows.items()]
