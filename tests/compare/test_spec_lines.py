"""A spec's deviations are compared line by line: one that is gone is cured, another is new, one that is left stays."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from doctor.findings.spec import KEYS, SpecLine
from doctor.judge.compared import compared
from doctor.report.compare_words import blocks
from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import POLICY, report
from ..rows import Faults
from ..scenarios.spec_copies import copies, printed
from ..torches import with_torch
from .machines import answer

STAYS = SpecLine("package", "<2", "numpy")


def names(titles: Iterable[str]) -> list[str]:
    """The lines that these titles are about."""
    return [title.partition(" does not meet")[0] for title in titles]


def test_each_deviation_comes_and_goes_by_itself() -> None:
    """Over every key: OLD does not meet one line, NEW another one, and both do not meet a third."""
    every = dict(copies(healthy(), printed(healthy())))
    keys = [*KEYS, "triton"]
    policy = replace(POLICY, spec=(*(line for line in printed(healthy()) if line.name in keys), STAYS))
    with Faults() as faults:
        for gone, new in zip(keys, [*keys[1:], keys[0]], strict=True):
            with faults.of(f"{gone}, then {new}"):
                old, after = every[gone], every[new]
                found = answer(old, after, policy)
                assert [title for one in found.cured if one.id == "spec-not-met" for title in names(one.titles)] == [
                    gone
                ]
                (one,) = [one for one in found.appeared if one.id == "spec-not-met"]
                assert names(one.titles) == [new] and one.explained in ("facts", "readings"), one
                assert [one.subject for one in found.stays if one.id == "spec-not-met"] == ["numpy <2"]
                rows = compared((), report(old, policy).findings, report(after, policy).findings, frozenset(), True)
                parts = rows.gone, rows.new, rows.stays
                assert [names(one.title for one in part if one.id == "spec-not-met") for part in parts] == [
                    [gone], [new], ["numpy"],
                ]  # fmt: skip


def test_a_line_that_is_unknown_afterwards_is_not_cured() -> None:
    """Not to know is no cure, also where another line is known to be off."""
    lines = (SpecLine("driver", ">=590"), STAYS)
    policy = replace(POLICY, spec=lines)
    unread = {"driver.kernel_version": Missing("timeout"), "driver.nvml_driver_version": Missing("timeout")}
    found = answer(healthy(), healthy().replace(unread), policy)
    assert not [one for one in found.cured if one.id == "spec-not-met"]
    assert [one.subject for one in found.undecided if one.id == "spec-not-met"] == ["driver >=590"]
    back = answer(healthy().replace(unread), healthy(), policy)
    (one,) = [one for one in back.appeared if one.id == "spec-not-met"]
    assert one.undecided and one.subjects == ("driver >=590",)


def test_torchs_version_is_shown_once() -> None:
    """It is the version of the package too."""
    policy = replace(POLICY, spec=(SpecLine("torch", "==2.8.*"),))
    found = answer(healthy(), with_torch(healthy(), "2.9.1", "cu130"), policy)
    texts = [text for block in blocks(found) for text in block.texts]
    assert "Why: package torch: 2.8.0+cu128 -> 2.9.1+cu130" in texts
