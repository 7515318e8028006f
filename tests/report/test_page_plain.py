"""`--format html` of topo, fit, resolve, image and what-if: whole pages, no markup but our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..cli.command import gpudoctor, save
from ..healthy import healthy
from ..images.layouts import Layout
from ..images.modelled import IMAGES
from ..rows import Faults
from ..topo.test_topo_command import hung
from .test_page import TAGS, Page

HOSTILE_NAME = "<script>alert(1)<x>"


@pytest.mark.slow
def test_every_command_with_an_answer_has_a_page(tmp_path: Path) -> None:
    layout = Layout(tmp_path / HOSTILE_NAME)
    layout.tag("latest", IMAGES["pytorch:2.6.0"](layout))
    report = save(tmp_path, hung())
    sick = save(tmp_path, healthy(), name="other.json")
    commands = {
        ("topo", "--from", report): ("Links between devices", "ACS redirects", "Ways to split the model"),
        ("fit", "--params", "10e9", "--gpus", "8xA100-40GB"): (
            "It does not fit on one GPU",
            "Options, simplest first",
        ),
        ("resolve", "--gpu", "RTX 5090", "--driver", "575"): (
            "To copy and paste",
            "torch==2.13.0+cu129",
            "Why not the others",
        ),
        ("resolve", "--gpu", "RTX 5090", "--driver", "470"): ("No build runs on this machine.",),
        ("image", layout.folder, "--driver", "535.183.01", "--gpu", "RTX 5090"): ("Hosts", "driver-too-old-for-gpu"),
        ("compare", sick, report): ("Why:", "Other changes"),
        ("what-if", "--from", sick, "--torch", "none"): ("torch is not installed", "Root cause"),
    }
    with Faults() as faults:
        for command, wanted in commands.items():
            with faults.of(command[0]):
                done = gpudoctor(*command, "--format", "html")
                seen = Page(done.stdout.decode())
                assert done.returncode in (0, 1, 3) and not seen.open and set(seen.tags) <= TAGS
                assert seen.tags.count("script") == 1
                assert [words for words in wanted if words not in seen.text] == []
