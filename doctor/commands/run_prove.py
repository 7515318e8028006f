"""What `prove` does once its flags are known."""

from __future__ import annotations

import os
from typing import Any

from msgspec.structs import replace

from ..findings.baseline import Baseline
from ..guard import Refusal
from ..proof.plan import Level, Links, device_of
from ..report.progress import Progress
from ..snapshot import Missing, Snapshot
from .assess import matrix_of
from .config import base_policy
from .expected import refuse_early
from .links import announce, links_of, quiet_end
from .options import make_policy, of_its_day
from .pictures import kind_of, writable
from .run_check import print_report

INTERRUPTED = 130


def run_prove(flags: dict[str, Any]) -> int:
    """Gather and measure, or read; judge, redact, print; returns the exit code, 130 after an interrupt."""
    device = _device(flags)
    if flags["soak"] and device == "cpu":
        raise Refusal("--soak is for GPUs: it cannot be used with --device cpu")
    _one_source(flags)
    links = links_of(flags, os.environ, device)
    if flags["plot"]:
        kind_of(flags["plot"])
    writable(flags)
    baseline = _baseline(flags)
    policy_flags = {name: flags[name] for name in ("expect", "require", "only", "skip", "fail_on")}
    if flags["from_"]:
        from .saved import read_report

        saved = read_report(flags["from_"])
        policy = make_policy(saved=base_policy(flags, saved.policy), **policy_flags)
        policy = replace(policy, baseline=baseline or policy.baseline)
        return print_report(measured_in(saved.snapshot, flags["from_"]), policy, flags, saved.redacted)
    if device == "cpu" and policy_flags["expect"] is None:
        policy_flags["expect"] = "any"
    policy = replace(make_policy(saved=base_policy(flags), **policy_flags), baseline=baseline)
    if not flags["replay"]:
        refuse_early(policy, matrix_of(flags))
    if links is not None:
        announce(links, flags)
    snapshot = _facts(flags, device, links)
    if links is not None and not links.reports:
        return quiet_end([end for end in snapshot.measured.ended if end.fault != "skipped"], links)
    code = INTERRUPTED if snapshot.measured.interrupted and not flags["replay"] else None
    return print_report(snapshot, of_its_day(policy, snapshot) if flags["replay"] else policy, flags, exit_code=code)


def _facts(flags: dict[str, Any], device: str, links: Links | None) -> Snapshot:
    if flags["replay"]:
        from .sources import replay

        return measured_in(replay(flags["replay"]), flags["replay"])
    from ..proof.plan import IMPORT_S
    from .proving import measured_facts

    gather_flags = {**flags, "timeout": None, "no_import": False, "root": None}
    if flags["timeout"]:  # a slow import may take that long; one without progress a minute
        gather_flags["patience"] = max(1.0, flags["timeout"] / IMPORT_S)
    with Progress() as progress:
        how: dict[str, Any] = {"device": device, "total_s": flags["timeout"], "say": progress, "interruptible": True}
        how.update(soak_s=flags["soak"] or 0.0, links=links)
        return measured_facts(gather_flags, level(flags), **how)


def level(flags: dict[str, Any]) -> Level:
    """The level these flags ask for."""
    return "links" if flags["links"] else "quick" if flags["quick"] else "full" if flags["full"] else "standard"


def measured_in(snapshot: Snapshot, name: str) -> Snapshot:
    """The Snapshot, if it has measurements; Refusal with one line if nothing was measured."""
    if isinstance(snapshot.measured.level, Missing):
        raise Refusal(
            f"{name} contains no measurements (use gpudoctor check for such a report; gpudoctor prove takes the "
            "measurements)"
        )
    return snapshot


def _baseline(flags: dict[str, Any]) -> Baseline | None:
    """The earlier report's rates. Raises Refusal if it has none, before anything is measured."""
    percent = flags["regression_percent"]
    if not flags["baseline"]:
        if percent is not None:
            raise Refusal("--regression-percent requires --baseline")
        return None
    from ..findings.measured_baseline import baseline_of
    from .saved import read_report

    if flags["baseline"] == flags["from_"] == "-":
        raise Refusal("--baseline and --from cannot both be standard input")
    snapshot = read_report(flags["baseline"]).snapshot
    found = baseline_of(snapshot, snapshot.target.gathered_at[:10], 10.0 if percent is None else percent)
    if not found.rates:
        raise Refusal(
            f"{flags['baseline']} contains no measured rates (create one with gpudoctor prove --quick --format json)"
        )
    return found


def _device(flags: dict[str, Any]) -> str:
    try:
        return device_of(flags["device"])
    except ValueError as error:
        raise Refusal(str(error)) from None


def _one_source(flags: dict[str, Any]) -> None:
    if flags["quick"] and flags["full"]:
        raise Refusal("--quick cannot be used with --full")
    if flags["from_"] and flags["replay"]:
        raise Refusal("--from cannot be used with --replay")
    saved = "from" if flags["from_"] else "replay" if flags["replay"] else ""
    given = [
        name
        for name in ("quick", "full", "links", "timeout", "soak", "python")
        if flags.get(name) or flags.get(f"{name}_")
    ]
    if flags["device"] != "cuda":
        given.append("device")
    if saved and given:
        raise Refusal(f"--{given[0]} cannot be used with --{saved}: nothing is measured again")
