"""A text with two faults, one of which is nothing of ours, keeps the finding of ours; what nobody knows is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.report.terminal import Display, render_terminal
from doctor.text import judgeable, read

from ..judging import report
from ..rows import Faults, for_each

SAMPLES = [row for row in json.loads((Path(__file__).parent / "samples.json").read_text("utf-8")) if row["decides"]]
KERNEL = "6.8.0-40-generic"
FOREIGN = (
    (
        f"Building module virtualbox/7.0.16 ... Bad return status for module build on kernel: {KERNEL} (x86_64)\n"
        "Consult /var/lib/dkms/virtualbox/7.0.16/build/make.log for more information."
    ),
    "dkms: running auto installation service for kernel 6.8.0\nzfs (2.2.2): ERROR: failed to build",
    "modprobe: ERROR: could not insert 'vboxdrv': Key was rejected by service",
    "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0",
    "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)",
    "npm ERR! code ENOENT\nnpm ERR! syscall open",
    "KeyError: 'learning_rate'",
    "Out of memory: Killed process 1234 (chrome) total-vm:12345kB",
    "iwlwifi 0000:00:14.3: Direct firmware load for iwlwifi-ty-a0-gf-a0-86.ucode failed with error -2",
)
EVERY = 6


def found(text: str) -> set[str]:
    """Ids of what the text proves, or warns of."""
    return {f.id for f in report(read(text)).findings if f.status in ("fail", "warn")}


@pytest.mark.slow
def test_a_fault_of_something_else_hides_none_of_ours() -> None:
    with Faults() as faults:
        for number, sample in enumerate(SAMPLES):
            foreign = FOREIGN[number % len(FOREIGN)]
            dkms = "module" in sample["text"].lower() and "dkms" not in foreign
            if (number % EVERY and not dkms) or sample["decides"] not in found(sample["text"]):
                continue
            for other in {foreign, *(FOREIGN[:3] if dkms else ())}:
                for text in (f"{sample['text']}\n{other}", f"{other}\n{sample['text']}"):
                    with faults.of(text):
                        assert sample["decides"] in found(text)


def page(text: str) -> str:
    """The report as it is printed."""
    return " ".join(render_terminal(report(read(text)), {}, Display(width=100), {}).split())


MACHINE = "GPU 0: NVIDIA A100-SXM4-80GB\nNvidia driver version: 550.54.15\n"
SOUND = "No environment problem found in this text"


@for_each(
    "line",
    [
        "FrobnicationError: the flux is out of range",
        "[rank0]: mylib.errors.ShardError: 4 of 8",
        "2026-11-20 10:00:00 ERROR: the worker has gone",
        "main.cpp:12:3: fatal error: nosuch_header.hpp: No such file or directory",
        "Segmentation fault (core dumped)",
    ],
)
def test_an_error_that_nobody_knows_is_named_with_its_line(line: str) -> None:
    told = page(MACHINE + line)
    assert SOUND not in told
    assert "Unrecognized error on line 3" in told
    assert "line 3: " in page(f"GPU 0: NVIDIA A100-SXM4-80GB\nPyTorch version: 2.6.0+cu124\n{line}")


@for_each("line", ["step 100: loss=0.51, error rate 0.02", "0 errors, 3 warnings", "Uncorrectable errors : 0", ""])
def test_words_that_count_errors_are_none(line: str) -> None:
    told = page(MACHINE + line)
    assert "No known error in this text" in told and "Unrecognized error" not in told


def test_an_unknown_error_alone_is_nothing_that_can_be_judged() -> None:
    assert not judgeable(read("FrobnicationError: the flux is out of range"))
