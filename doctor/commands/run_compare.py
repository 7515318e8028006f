"""What `compare` does once its flags are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..compare.answer import Comparison, FactChange, Side
from ..compare.compare import Question, compare, earlier_rates
from ..findings import Policy
from ..guard import Refusal
from ..judge.compared import Named
from ..judge.report import Report
from .assess import assess, load_known, matrix_of
from .config import base_policy
from .display import display, own_terminal, styled
from .sides import Looked, both
from .write import write

if TYPE_CHECKING:
    from ..snapshot import Snapshot
    from ..snapshot.redact import Redactor


def run_compare(flags: dict[str, Any]) -> int:
    """Read or gather both, judge both, compare, print; returns the exit code."""
    ignored = _ignored(flags["ignored"])
    if flags["config"] or flags["matrix"]:
        base_policy(flags)  # refused before anything is gathered
    old, new = both(flags)
    m = matrix_of(flags)
    policy = _policy(flags, old, new)
    keeps_names = flags["no_redact"] and not (old.redacted or new.redacted)
    before, after = _masked(old, keeps_names), _masked(new, keeps_names)
    base = earlier_rates(before[0], after[0])
    policy = replace(policy, baseline=base)
    reports = assess(before[0], m, policy), assess(after[0], m, policy)
    answer = compare(
        Question(
            old=_side(old.name, reports[0]),
            new=_side(new.name, reports[1]),
            before=reports[0],
            after=reports[1],
            typed=new.snapshot,
            matrix=m,
            load=load_known,
            is_ignored=ignored,
            redacted=not keeps_names,
            notes=_notes(flags, old, new, reports[1]),
        )
    )
    if not keeps_names and (new.redacted or not own_terminal(flags)):
        answer = _without_names(answer, after[1])
    write(rendered(answer, flags), flags["output"], private=keeps_names, styled=styled(flags))
    return answer.exit_code


def _policy(flags: dict[str, Any], old: Looked, new: Looked) -> Policy:
    """What both are judged by: what OLD's report expected, else NEW's, else the configuration; flags override it."""
    from .options import make_policy, of_its_day

    left_out = [name for side in (old, new) if side.policy for name in side.policy.left_out]
    left_out += ["torch_run"] if flags["no_import"] else []
    own = {name: flags[name] for name in ("expect", "require", "only", "skip")}
    policy = make_policy(saved=base_policy(flags, old.policy or new.policy), left_out=left_out, **own)
    policy = replace(policy, baseline=None, fail_on="fail")
    return of_its_day(policy, new.snapshot) if new.recorded else policy


def _masked(side: Looked, keeps_names: bool) -> tuple[Snapshot, Redactor | None]:
    """The Snapshot as it may be shown, and its masks unless it came with some."""
    from ..snapshot.redact import Redactor, redact
    from ..snapshot.redact_secrets import without_secrets
    from .local_names import local_names

    if keeps_names:
        return without_secrets(side.snapshot, side.snapshot, local_names()), None
    if side.redacted:
        return side.snapshot, None
    masks = Redactor()  # numbered as where a masked report comes from, which does not know the names here
    return redact(redact(side.snapshot, masks=masks), local_names()), masks


def _without_names(answer: Comparison, masks: Redactor | None) -> Comparison:
    """The answer with its commands masked, and without those that hold a mask. `masks`: of NEW, unless it came with
    some."""
    from ..snapshot.redact import Redactor

    masks = masks or Redactor()
    appeared = tuple(replace(one, put_back=masks.value(one.put_back)) for one in answer.appeared)
    return replace(answer, appeared=appeared, put_back=masks.value(answer.put_back))


def _side(name: str, report: Report) -> Side:
    from ..report import facts

    s = report.snapshot
    words = (facts.system_name(s), facts.gpus(s), facts.driver(s), facts.torch(s), facts.python(s))
    unknown = [one for one in report.findings if one.status == "unknown"]
    return Side(
        name=name,
        gathered_at=s.target.gathered_at,
        machine=" · ".join(words),
        verdict=report.verdict,
        unknown=tuple(Named(one.id, one.status, one.title, one.subject, one.cause) for one in unknown),
    )


def _notes(flags: dict[str, Any], old: Looked, new: Looked, report: Report) -> tuple[str, ...]:
    notes = list(report.notes)
    if flags["no_redact"] and old.redacted != new.redacted:
        masked, plain = ("OLD", "NEW") if old.redacted else ("NEW", "OLD")
        notes.append(f"Names from {plain} are masked here, because those from {masked} are")
    return tuple(notes)


def _ignored(patterns: Sequence[str]) -> Callable[[FactChange], bool]:
    """Whether a fact is one that `--ignore` names. Raises Refusal for a name that no fact has."""
    from ..fleet.facts import field_of
    from ..snapshot import Snapshot
    from .suggest import did_you_mean

    known = _fields()
    for pattern in patterns:
        field = field_of(pattern.strip())
        if not any(fnmatchcase(name, field) or name.startswith(f"{field}.") for name in known):
            sections = [*Snapshot.__struct_fields__, *known]
            raise Refusal(f"--ignore {pattern!r}: no such fact{did_you_mean(field, sections)} (check -vv lists them)")
    plain = [pattern.strip() for pattern in patterns]

    def is_ignored(fact: FactChange) -> bool:
        return any(_matches(fact.path, pattern) for pattern in plain)

    return is_ignored


def _matches(path: str, pattern: str) -> bool:
    """Whether a pattern names this fact, its list, or the section that it is in."""
    escaped = pattern.replace("[", "[[]")  # the brackets of a key are no character class
    return path.startswith((f"{pattern}.", f"{pattern}[")) or fnmatchcase(path, escaped)


def _fields() -> list[str]:
    """Every path of the facts' table, without keys."""
    from ..fleet.facts import facts

    table = facts()
    return sorted({name.removesuffix(".value") for name in (*table.compared, *table.covered, *table.by_nature)})


def rendered(answer: Comparison, flags: dict[str, Any]) -> bytes:
    """The answer in the requested format."""
    if flags["format_"] == "json":
        import msgspec

        return msgspec.json.format(msgspec.json.encode(answer), indent=2) + b"\n"
    if flags["format_"] == "html":
        from ..report.compare_page import compare_page as render
    elif flags["format_"] == "markdown":
        from ..report.compare_markdown import compare_markdown as render
    else:
        from ..report.compare_text import compare_text

        return compare_text(answer, display(flags)).encode("utf-8", "backslashreplace")
    return render(answer).encode("utf-8", "backslashreplace")
