"""What `healthcheck` does once its flags are known."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..findings import Policy
from ..guard import Refusal, traced
from ..judge.report import Report
from ..report.healthline import healthline
from ..snapshot import CallFault, Snapshot
from .config import base_policy, warn_of_config, with_spec
from .gather_options import gather_s, health_flags
from .options import make_policy
from .sources import gather, read
from .watchdog import PROVE_S, answered
from .write import echo, write


def run_healthcheck(flags: dict[str, Any]) -> int:
    """Gather, judge, print one line; returns 0 or 1."""
    policy_flags = {name: flags[name] for name in ("expect", "require", "skip")}
    if flags["prove"] and flags["from_"]:
        raise Refusal("--prove cannot be used with --from")
    if flags["from_"]:
        snapshot, saved = read(flags)
        policy = with_spec(make_policy(saved=base_policy(flags, saved), **policy_flags), flags["spec"])
    else:
        left_out = () if flags["prove"] else ("torch_run",)
        policy = make_policy(saved=base_policy(flags), left_out=left_out, **policy_flags)
        policy = with_spec(policy, flags["spec"])
        snapshot = _proven(flags) if flags["prove"] else gather(health_flags(flags), meanwhile=_rehearse)
    from .assess import assess, matrix_of

    report = assess(snapshot, matrix_of(flags), policy)
    warn_of_config(report.config_notes)
    failing = ("fail", "unknown") if flags["strict"] else ("fail",)
    code = 1 if report.verdict in failing else 0
    if flags["format_"] == "prometheus":  # in the operator's own system, where a GPU goes by its UUID
        from ..report.prometheus import render_prometheus
        from .assess import about

        text = render_prometheus(report, about(report)[0], code)
    else:
        text = healthline(_masked(report)) + "\n"
    if flags["format_"] == "node-problem-detector" and code == 0 and report.verdict == "unknown":
        code = 2
    answered()
    if flags["output"] in (None, "-"):
        echo(text, nl=False)
    else:
        write(text.encode("utf-8", "backslashreplace"), flags["output"])
    return code


def _rehearse() -> None:
    """Judge a driver that hangs and render the result: the first time takes several times as long as the second, and
    under load that would be too much for the time left after a deadline."""
    try:
        from compat_matrix import Matrix

        from ..judge import judge

        hung = Snapshot().replace({"driver.faults": (CallFault("nvml", "nvmlInit", "hang", "no answer"),)})
        healthline(_masked(judge(hung, Matrix.load(), Policy())))
    except Exception:  # what is wrong shows again, and is reported, when the real answers are judged
        if traced():
            raise


def _masked(report: Report) -> Report:
    """The report with the one line's findings masked: only the text of a failure may contain a name."""
    if all(finding.status not in ("fail", "unknown") for finding in report.findings):
        return report
    from ..snapshot.redact import Redactor
    from .local_names import local_names

    masks = Redactor(local_names())
    masks.learn(report.snapshot)
    return replace(report, findings=masks.value(report.findings))


def _proven(flags: dict[str, Any]) -> Snapshot:
    """The facts with every device's proof; torch's first import gets at most half of the time."""
    from .proving import measured_facts

    total = flags["timeout"] or PROVE_S
    gather_flags = {**flags, "timeout": total / 6, "no_import": False, "root": None, "replay": None}
    gather_flags["patience"] = 1.8  # 0.9 of the time if torch's import is slow: the rest is for the answer
    return measured_facts(gather_flags, "proof", total_s=gather_s(total), facts_too=True)
