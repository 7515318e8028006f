"""The page of everything that has one: a check, a message, an error of CUDA or NVML, a code of the kernel log."""

from __future__ import annotations

import re

import pytest

from doctor.commands.assess import known_ids
from doctor.commands.pages import condition, page
from doctor.text.messages import catalogue
from doctor.text.xids import table

from ..judging import matrix
from ..rows import for_each

ERRORS = [f"CUDA error {row.code}" for row in matrix().cuda_errors if row.code is not None]
ERRORS += [f"NVML error {row.code}" for row in matrix().nvml_errors if row.code is not None]
ERRORS += [name for row in matrix().cuda_errors for name in (row.runtime_name, row.driver_name) if name]


@pytest.mark.slow
@for_each(
    "names",
    [known_ids(), [m.id for m in catalogue()], ERRORS, [f"xid-{code}" for code in table()]],
    ids=["checks", "messages", "errors", "xids"],
)
def test_every_page_says_where_it_is_from_and_ends_with_what_to_do(names: list[str]) -> None:
    for name in names:
        text = page(name)
        assert text is not None, name
        assert "Source: " in text and re.search(r"^What to do", text, re.M), name
        end = text[text.rindex("\nWhat to do") :]
        assert "Source:" not in end and len(end.splitlines()) <= 14, name
        assert not re.search(r"\b(?:True|False|None)\b", text.partition("What is wrong")[0]), name
        assert not re.search(r"Source: (?:pypi|gh|docs)-", text), f"{name}: a key in place of its source"


@pytest.mark.slow
def test_pages_lead_to_pages() -> None:
    for name in (*known_ids(), *(m.id for m in catalogue()), *ERRORS, *(f"xid-{code}" for code in table())):
        for other in re.findall(r"gpudoctor explain ([a-z][a-z0-9-]+)", page(name) or ""):
            assert other in known_ids(), f"{name} leads to {other}"


@for_each(
    ("name", "check"),
    [
        ("804", "cuda-compat-on-unsupported-gpu"),
        ("NVML error 18", "driver-library-version-mismatch"),
        ("xid-79", "gpu-fell-off-bus"),
        ("xid-48", "gpu-hardware-ecc-fault"),
        ("cudaErrorNoKernelImageForDevice", "torch-lacks-new-gpu-sm"),
        ("802", "fabric-manager-not-running"),
    ],
)
def test_an_error_leads_to_the_checks_that_judge_it(name: str, check: str) -> None:
    assert f"gpudoctor explain {check}" in (page(name) or "")


@for_each(
    ("key", "value", "words"),
    [
        ("container", True, "in a container"),
        ("container", False, "not in a container"),
        ("jetson", True, "on a Jetson"),
        ("host.wsl", [1, 2], "host.wsl is 1 or 2"),
        ("driver.nvml_driver_version known", False, "driver.nvml_driver_version is not known"),
        ("torch.cuda <", "12.8", "torch.cuda is below 12.8"),
        ("set", "LD_LIBRARY_PATH", "LD_LIBRARY_PATH is set"),
        ("all", ["a", "b"], "together with a and b"),
        ("host.secure_boot", True, "host.secure_boot is yes"),
        ("torch.build not", ["cpu"], "torch.build is not cpu"),
    ],
)
def test_conditions_are_told_in_words(key: str, value: object, words: str) -> None:
    assert condition(key, value) == words


def test_every_condition_of_the_catalogue_has_words() -> None:
    for message in catalogue():
        for _, when in message.decides:
            for key, value in when.items():
                assert not re.search(r"[{}\[\]]|True|False|None", condition(key, value)), f"{message.id}: {key}"


def test_words_that_do_not_decide_ask_for_what_does() -> None:
    text = page("hang-told") or ""
    assert "this message alone does not show the cause" in text and "NCCL_DEBUG=INFO" in text
