"""Where a text names no system, an install line of torch names the index: a plain one brings Windows the CPU build."""

from __future__ import annotations

import re

from doctor.text import read

from ..judging import report
from ..rows import for_each

TEXTS = [
    "torch 2.1.0+cpu, RTX 3090, driver 550.54",
    "torch 2.6.0+cu124\nGPU 0: NVIDIA GeForce RTX 5090\nRuntimeError: CUDA error: no kernel image is available",
    "torch 2.1.0+cpu, GTX 1080, driver 535.54",
    "RTX 4090, torch.version.cuda None, torch 2.7.0+cpu, driver 581.57",
    "torchvision 0.15.0\ntorch 2.6.0\nRuntimeError: operator torchvision::nms does not exist",
    "RuntimeError: operator torchvision::nms does not exist",
    "AssertionError: Torch not compiled with CUDA enabled\ntorch 2.8.0",
]
LINE = re.compile(r"pip install [^\n]*(?<![\w-])torch(?:==\S+)?(?=\s|$)[^\n]*")


def lines(text: str) -> list[str]:
    """The install lines of torch in all fixes."""
    commands = [x.command for f in report(read(text)).findings for fix in f.fixes for x in fix.steps]
    return [found for command in commands for found in LINE.findall(command) if "uninstall" not in found]


@for_each("text", TEXTS)
def test_the_index_is_named(text: str) -> None:
    for line in lines(text):
        assert re.search(r"index-url https://download\.pytorch\.org/whl/cu\d{3}\b", line), line


def test_the_texts_have_such_lines() -> None:
    assert sum(bool(lines(text)) for text in TEXTS) >= 5, [text for text in TEXTS if not lines(text)]


NO_CUDNN = "OSError: libcudnn.so.9: cannot open shared object file: No such file or directory"


@for_each("system", ["OS: Ubuntu 22.04.4 LTS", "OS: Fedora Linux 41", "container: docker", "a file named .so is Linux"])
def test_a_linux_keeps_the_plain_line(system: str) -> None:
    text = f"{system}\n{NO_CUDNN}"
    assert lines(text) and not any("index-url" in line for line in lines(text))
