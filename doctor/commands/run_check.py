"""What `check` does once its flags are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..findings import Policy
from ..guard import Refusal
from ..judge.report import Report
from ..report.progress import Progress
from ..snapshot import Snapshot
from .config import base_policy, warn_of_config, with_spec
from .display import styled
from .options import make_policy, of_its_day
from .sources import Say, gather
from .write import write

if TYPE_CHECKING:
    from ..snapshot.redact import Redactor


def run_check(flags: dict[str, Any]) -> int:
    """Gather or read, judge, redact, print; returns the exit code."""
    _one_source(flags)
    one_format(flags)
    if flags["from_"]:
        from .saved import read_report

        saved = read_report(flags["from_"])
        policy = make_policy(saved=base_policy(flags, saved.policy), **policy_flags(flags))
        policy = with_spec(policy, flags["spec"])
        snapshot, redacted = saved.snapshot, saved.redacted
    else:
        left_out = ("torch_run",) if flags["no_import"] else ()
        policy = make_policy(saved=base_policy(flags), left_out=left_out, **policy_flags(flags))
        policy = with_spec(policy, flags["spec"])
        if flags["prove"] and policy.expect.model:
            from .assess import matrix_of
            from .expected import refuse_early

            refuse_early(policy, matrix_of(flags))
        with Progress() as progress:
            snapshot, redacted = _gather(flags, progress), False
        if flags["replay"]:
            policy = of_its_day(policy, snapshot)
    return print_report(snapshot, policy, flags, redacted)


def _gather(flags: dict[str, Any], say: Say) -> Snapshot:
    if not flags["prove"]:
        return gather(flags, say)
    from .proving import measured_facts

    return measured_facts(flags, "quick", say=say)


def print_report(
    snapshot: Snapshot,
    policy: Policy,
    flags: dict[str, Any],
    redacted: bool = False,
    masks: Redactor | None = None,
    exit_code: int | None = None,
) -> int:
    """Judge, redact, print; returns the exit code.

    `masks`: the masks already applied to the text; `exit_code`: the command's, if not the report's own.
    """
    from .assess import assess, matrix_of

    report = assess(snapshot, matrix_of(flags), policy)
    report = report if exit_code is None else replace(report, exit_code=exit_code)
    report = replace(shown_to(flags, report, masks), redacted=redacted or not flags["no_redact"])
    if flags.get("plot"):
        from .pictures import plot

        plot(report, flags["plot"], bool(flags["from_"] or flags["replay"]))
    write(render(report, flags), flags["output"], private=flags["no_redact"], styled=styled(flags))
    return report.exit_code


def shown_to(flags: dict[str, Any], report: Report, masks: Redactor | None = None) -> Report:
    """The report as its reader may see it: never with a secret; with real names if the flags ask for them, and in
    commands and titles on the user's own terminal."""
    from ..snapshot.redact import redact
    from ..snapshot.redact_secrets import with_own_names, without_secrets
    from .display import own_terminal
    from .local_names import local_names

    if flags["no_redact"]:
        return without_secrets(report, report.snapshot, local_names())
    masked = redact(report, local_names(), masks)
    return with_own_names(masked, report, local_names()) if own_terminal(flags) else masked


def render(report: Report, flags: dict[str, Any], preface: Sequence[str] = ()) -> bytes:
    """The report in the requested format. `preface`: a heading and sentences, which --brief, html, sarif, junit and
    github put inside their document."""
    if flags.get("brief") or flags["format_"] not in ("text", "json", "markdown", "html"):
        warn_of_config(report.config_notes)
    if flags.get("brief"):
        from ..report.brief import render_brief
        from .assess import about

        return render_brief(report, about(report)[1], preface).encode("utf-8", "backslashreplace")
    if flags["format_"] == "json":
        from ..report.json import render_json

        return render_json(report)
    if flags["format_"] in ("html", "svg"):
        from .pictures import picture

        return picture(report, flags["format_"], preface)
    if flags["format_"] in ("sarif", "junit", "github"):
        from .outcomes import render_report

        return render_report(report, flags["format_"], preface)
    from .assess import about

    layers, titles = about(report)
    if flags["format_"] == "markdown":
        from ..report.markdown import render_markdown

        return render_markdown(report, layers, titles).encode("utf-8", "backslashreplace")
    from ..report.terminal import render_terminal
    from .display import display

    return render_terminal(report, layers, display(flags), titles).encode("utf-8", "backslashreplace")


def _one_source(flags: dict[str, Any]) -> None:
    given = [flag for flag in ("from", "replay", "root", "target") if flags.get(flag) or flags.get(f"{flag}_")]
    if len(given) > 1:
        raise Refusal(f"--{given[0]} cannot be used with --{given[1]}")
    if given in (["from"], ["replay"], ["target"]) and flags["python_"]:
        raise Refusal(f"--python cannot be used with --{given[0]}")
    if flags["deep"] and given not in ([], ["root"]):
        raise Refusal(f"--deep cannot be used with --{given[0]}: it has to read the files on this machine")
    if flags["prove"] and (given or flags["no_import"]):
        raise Refusal(f"--prove cannot be used with --{given[0] if given else 'no-import'}")


def one_format(flags: dict[str, Any]) -> None:
    """Refuse --brief with a format other than Markdown."""
    if flags["brief"] and flags["format_"] not in ("text", "markdown"):
        raise Refusal(f"--brief prints Markdown: it cannot be used with --format {flags['format_']}")


def policy_flags(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags that `make_policy` takes."""
    return {name: flags[name] for name in ("expect", "require", "only", "skip", "fail_on", "building")}
