"""What keeps checks from a verdict is said in words, never by the name of a fact."""

from __future__ import annotations

import re
from typing import get_args

from msgspec import Struct
from msgspec.structs import fields, replace

from doctor.findings.reasons import reason_words
from doctor.report.lines import plain
from doctor.report.waiting import waiting_lines
from doctor.snapshot import Missing, Snapshot

from ..checks.gpu_readings import monitored, one
from ..healthy import healthy
from ..judging import report

DENIED = Missing("denied", "EACCES")


def waits(s: Snapshot) -> str:
    return " ".join(plain(waiting_lines(report(s), 400), False).split())


def may_lack(section: Struct) -> list[str]:
    """Fields whose value may be Missing."""
    return [field.name for field in fields(section) if Missing in get_args(field.type)]


def test_the_sram_limit_says_who_may_ask_and_what_to_type() -> None:
    denied = one("h100", sram_threshold_exceeded=Missing("denied", "No permission"))
    by_user, by_root = (waits(denied.replace({"host.user_is_root": root})) for root in (False, True))
    assert "? SRAM error limit: only root can read this (sudo gpudoctor check)." in by_user, by_user
    assert "? SRAM error limit: only root can read this." in by_root, by_root


def test_every_fact_that_a_check_lacks_has_words() -> None:
    s = monitored(healthy("h100", container=True))
    assert isinstance(s.gpus, tuple)
    sick = [s.replace({"gpus": (replace(s.gpus[0], **{name: DENIED}),)}) for name in may_lack(s.gpus[0])]
    for section in ("host", "container", "driver", "cuda", "python", "torch", "torch_run"):
        sick += [s.replace({f"{section}.{name}": DENIED}) for name in may_lack(getattr(s, section))]
    raw = set()
    for denied in sick:
        reasons = [check.reason for check in report(denied).checks if check.status == "unknown"]
        raw |= {words for words in map(reason_words, reasons) if re.match(r"[a-z_]+\.[\w.]+ \(|[a-z]+_\w+ \(", words)}
    assert not raw, sorted(raw)
