"""What `fix` does once its flags are known: plan, show, and (on request) apply, check again and compare."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

import click
from msgspec import Struct
from msgspec import json as msgspec_json
from msgspec.structs import replace

from ..findings import Policy
from ..judge.plan import Plan, plan
from ..judge.report import config_notes
from ..report.again import AS_BEFORE, again_flags
from ..report.progress import Progress
from ..report.steps import plan_text
from ..snapshot import Snapshot, known
from ..snapshot.masks import holds_mask
from .assess import assess, known_ids, matrix_of
from .config import base_policy, warn_of_config, with_spec
from .display import own_terminal
from .options import make_policy, of_its_day
from .sources import gather, read
from .suggest import did_you_mean
from .write import answer, echo

if TYPE_CHECKING:
    from compat_matrix import Matrix


class Command(Struct, frozen=True):
    """A command by itself, masked like a step's command."""

    command: str


def run_fix(flags: dict[str, Any]) -> int:
    """Plan and print; with --apply, run the steps. Returns the exit code."""
    _usable(flags)
    given = {name: flags[name] for name in ("expect", "require", "only", "skip", "building")}
    left_out = ("torch_run",) if flags["no_import"] else ()
    if flags["from_"]:
        snapshot, saved = read(flags)
        policy = with_spec(make_policy(saved=base_policy(flags, saved), left_out=left_out, **given), flags["spec"])
    else:
        policy = with_spec(make_policy(saved=base_policy(flags), left_out=left_out, **given), flags["spec"])
        with Progress() as progress:
            snapshot = gather({**flags, "root": None}, progress)
        if flags["replay"]:
            policy = of_its_day(policy, snapshot)
    matrix = matrix_of(flags)
    only = _check_id(flags["check_id"])
    steps = plan(snapshot, matrix, policy, only, assess)
    warn_of_config(config_notes(policy))
    if flags["apply_"]:
        return _apply(flags, snapshot, matrix, policy, steps, only)
    _show(steps, flags, snapshot, policy)
    return _code(steps, only)


def _code(steps: Plan, only: str) -> int:
    """1 where something failed (or the named check found something) that is to be repaired."""
    found = [*(planned.finding for planned in steps.fixes), *steps.unfixed]
    return 1 if any(only or f.status == "fail" for f in found) else 0


def _apply(flags: dict[str, Any], snapshot: Snapshot, matrix: Matrix, policy: Policy, steps: Plan, only: str) -> int:
    from .fix_apply import environment_steps
    from .fix_lock import locked

    steps = _without_strangers(steps, policy)
    _show(steps, flags, snapshot, policy, err=True)
    if not environment_steps(steps, only):
        by_name = (one for one in steps.fixes if environment_steps(replace(steps, fixes=(one,)), one.finding.id))
        name = next((one.finding.id for one in by_name if not only and one.finding.status != "fail"), "")
        more = f" To fix a warning, give its id: gpudoctor fix {name} --apply." if name else ""
        echo(f"None of this can be fixed in the Python environment; nothing was changed.{more}", err=True)
        return _code(steps, only)
    python = known(snapshot.python.patient.prefix)
    with locked(python or ""):
        return _carried_out(flags, snapshot, matrix, policy, steps, only)


def _carried_out(
    flags: dict[str, Any], snapshot: Snapshot, matrix: Matrix, policy: Policy, steps: Plan, only: str
) -> int:
    """Ask, run the steps, check again and compare."""
    from .fix_apply import apply_plan

    before = assess(snapshot, matrix, policy)
    if not flags["yes"] and not click.confirm("Run the steps in the Python environment now?", err=True):
        echo("Nothing was changed.", err=True)
        return 1
    door = _door(flags, snapshot, sys.stderr)
    restore = apply_plan(steps, snapshot, flags["restore_file"], only, lambda line: _shown(door, line))
    with Progress() as progress:
        after = assess(gather({**flags, "root": None}, progress), matrix, policy)
    failed_before = {(f.id, f.subject): f for f in before.findings if f.status == "fail" or f.id == only}
    failed_after = {(f.id, f.subject): f for f in after.findings if f.status == "fail" or f.id == only}
    gone = [f.id for key, f in failed_before.items() if key not in failed_after]
    new = [f.id for key, f in failed_after.items() if key not in failed_before]
    left = [f.id for key, f in failed_after.items() if key in failed_before]
    if flags["format_"] == "json":
        found = {"repaired": gone, "left": left, "new": new, "restore_file": restore, "verdict": after.verdict}
        answer(msgspec_json.format(msgspec_json.encode(found)).decode() + "\n", flags)
    else:
        lines = [f"repaired: {', '.join(gone) or 'nothing'}", f"still there: {', '.join(left) or 'nothing'}"]
        lines += [f"new: {', '.join(new)}"] if new else []
        lines.append(f"verdict before: {before.verdict}, now: {after.verdict}")
        lines.append(f"restore file: {restore}")
        answer("\n".join(lines) + "\n", flags)
    return 1 if failed_after else 0


def _shown(door: Callable[[Any], Any], command: str) -> str:
    """A command as stderr may show it: masked, or replaced by a few words if it would contain a mask."""
    return door(Command(command)).command or "a command with a masked name"


def _without_strangers(steps: Plan, policy: Policy) -> Plan:
    """The plan without what only a found configuration names, unless the user agrees; --yes does not."""
    found = policy.found
    if found is None or not (found.require or found.spec):
        return steps
    kept = []
    for one in steps.fixes:
        name = one.finding.subject if one.finding.id == "required-package-missing" else ""
        if name in found.require:
            question = f"{found.path} (not trusted) requires the package {name}. Install it?"
            if not (sys.stdin.isatty() and click.confirm(question, err=True)):
                echo(f"{name} was not installed: only {found.path} names it, and that file is not trusted.", err=True)
                continue
        if found.spec and one.finding.id == "spec-not-met":
            question = f"{found.path} (not trusted) states which versions to install. Install them?"
            if not (sys.stdin.isatty() and click.confirm(question, err=True)):
                echo(f"The spec was not applied: it is in {found.path}, and that file is not trusted.", err=True)
                continue
        kept.append(one)
    return replace(steps, fixes=tuple(kept))


def _show(steps: Plan, flags: dict[str, Any], snapshot: Snapshot, policy: Policy, err: bool = False) -> None:
    again = f"gpudoctor check{again_flags(policy, snapshot)}"
    steps, again = _door(flags, snapshot, sys.stderr if err else sys.stdout)((steps, again))
    again = f"gpudoctor check{AS_BEFORE}" if holds_mask(again) else again
    if flags["format_"] == "json" and not err:
        answer(msgspec_json.format(msgspec_json.encode(steps)).decode() + "\n", flags)
        return
    from .display import display

    how = display(flags)
    if err:  # the whole plan, even with -q: it is about to be run
        echo(plan_text(steps, how._replace(quiet=False), again), err=True, nl=False)
    else:
        answer(plan_text(steps, how, again), flags)


def _door(flags: dict[str, Any], snapshot: Snapshot, stream: TextIO) -> Callable[[Any], Any]:
    """The filter for a plan or command before it is shown: never with a secret; in files and pipes, without names."""
    from ..snapshot.redact import Redactor
    from ..snapshot.redact_secrets import without_secrets
    from .local_names import local_names

    if flags["no_redact"] or own_terminal(flags, stream):
        return lambda value: without_secrets(value, snapshot, local_names())
    masks = Redactor(local_names())
    masks.type_for(snapshot)
    masks.learn(snapshot)
    return masks.value


def _usable(flags: dict[str, Any]) -> None:
    if flags["apply_"] and flags["dry_run"]:
        raise click.UsageError("--apply cannot be used with --dry-run")
    if flags["apply_"] and (flags["from_"] or flags["replay"]):
        raise click.UsageError("--apply repairs this machine: it cannot be used with --from or --replay")
    if flags["from_"] and flags["replay"]:
        raise click.UsageError("--from cannot be used with --replay")
    if (flags["yes"] or flags["restore_file"]) and not flags["apply_"]:
        raise click.UsageError("--yes and --restore-file require --apply")


def _check_id(name: str | None) -> str:
    if not name:
        return ""
    word = name.strip().replace("_", "-")
    ids = known_ids()
    if word not in ids:
        raise click.UsageError(f"{name!r}: no such check{did_you_mean(word, ids)} (see gpudoctor list-checks)")
    return word
