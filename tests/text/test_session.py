"""Calls and their answers: at a prompt, in a notebook, under a script, in a one-liner, in a sentence."""

from __future__ import annotations

import json

import pytest

from doctor.snapshot import Missing, known
from doctor.text import read

from ..cli.command import gpudoctor
from ..judging import report
from ..rows import for_each

PROMPT = """>>> import torch
>>> torch.__version__
'2.6.0+cu124'
>>> torch.version.cuda
'12.4'
>>> torch.cuda.is_available()
False
>>> torch.backends.cudnn.version()
90100
>>> torch.cuda.nccl.version()
(2, 21, 5)
"""
NOTEBOOK = """In [2]: torch.cuda.get_arch_list()
Out[2]: ['sm_50', 'sm_60', 'sm_70', 'sm_75', 'sm_80', 'sm_86', 'sm_90']
In [3]: torch.cuda.get_device_capability()
Out[3]: (12, 0)
In [4]: torch.__version__
Out[4]: '2.5.1+cu121'
"""
SCRIPT = """```python
import torch
print(torch.__version__)
print("CUDA:", torch.cuda.is_available())
print(torch.cuda.get_device_name(0))
```
Output:

```
2.5.1+cu121
CUDA: True
NVIDIA GeForce RTX 5090
```
"""
ONE_LINER = """$ python -c "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"
2.6.0+cu124 12.4 False
"""


def facts(text: str) -> tuple[object, ...]:
    s = read(text)
    return known(s.torch.version), known(s.torch.cuda), known(s.torch_run.cuda_available)


def test_a_prompt() -> None:
    assert facts(PROMPT) == ("2.6.0+cu124", "12.4", False)
    s = read(PROMPT)
    assert known(s.torch.cudnn_bundled) == "9.1.0" and known(s.torch_run.nccl_version) == "2.21.5"


def test_a_prompt_prints_nothing_for_none() -> None:
    shown = ">>> torch.version.cuda\n>>> torch.cuda.is_available()\nFalse\n"
    cuda = read(shown).torch.cuda
    assert isinstance(cuda, Missing) and cuda.reason == "absent"
    assert isinstance(read(">>> torch.version.cuda\n").torch.cuda, Missing)
    assert read(">>> torch.version.cuda\n").torch.cuda != cuda, "a text that ends there tells nothing"


def test_a_notebook_without_the_gpus_name_is_judged_by_its_capability() -> None:
    assert report(read(NOTEBOOK)).findings[0].id == "torch-lacks-new-gpu-sm"


def test_a_script_and_its_output() -> None:
    assert facts(SCRIPT) == ("2.5.1+cu121", "12.1", True)
    assert report(read(SCRIPT)).findings[0].id == "torch-lacks-new-gpu-sm"


def test_a_one_liner() -> None:
    assert facts(ONE_LINER) == ("2.6.0+cu124", "12.4", False)


@for_each(
    "text",
    [
        "torch.cuda.is_available() returns False",
        "`torch.cuda.is_available()` always returns `False`",
        "torch.cuda.is_available() -> False",
        "print(torch.cuda.is_available())  # False",
        "but torch.cuda.is_available() is False. If you are running on a CPU-only machine",
        "torch.cuda.is_available(): False",
        "I ran torch.cuda.is_available() and it returned False.",
    ],
)
def test_a_sentence(text: str) -> None:
    assert known(read(text).torch_run.cuda_available) is False


@for_each(
    "text",
    [
        "if torch.cuda.is_available() is False:\n    x = 1",
        "make sure torch.cuda.is_available() returns True",
        "torch.cuda.is_available() should return True",
        "assert torch.cuda.is_available() == True",
        "torch.cuda.is_available() returns True on the host and False in the container",
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nFalse\n",
        "print(torch.cuda.is_available())\nx = 3\nFalse\n",
    ],
)
def test_a_condition_a_wish_or_code_is_no_answer(text: str) -> None:
    assert isinstance(read(text).torch_run.cuda_available, Missing)


def test_an_effect_without_a_cause_is_unknown_in_every_part_of_the_report() -> None:
    found = report(read("torch.cuda.is_available() returns False, torch 2.6.0+cu124, RTX 3090"))
    assert found.verdict == "unknown" and not [c.id for c in found.checks if c.status == "fail"]
    assert found.text is not None and found.text.open == "undecided"


@pytest.mark.slow
def test_the_host_of_a_prompt_is_no_gpu() -> None:
    """As it is pasted, with --no-redact: nothing masks the names of hosts."""
    prompts = (
        "user@A100:~$ pip list", "root@H100:/workspace# pip list", "(base) me@V100 ~ % pip list", "me@L4$ pip list",
        "┌──(me㉿T4)-[~]", "ssh me@A100", "A100:~$ pip list", "RTX4090% pip list", "[me@RTX5090 ~]$ pip list",
    )  # fmt: skip
    for prompt in prompts:
        text = f"{prompt}\ntorch==2.11.0+cu130\nRuntimeError: CUDA error: no kernel image is available for execution"
        done = gpudoctor("explain", "-", "--no-redact", "--format", "json", data=text.encode())
        assert json.loads(done.stdout)["snapshot"].get("gpus") is None, prompt
    for text in ("1x A100: no kernel image", "it runs @A100 with torch 2.1", "an A100, torch 2.1", "A100 > V100 here"):
        assert read(text).gpus, text
