"""What `fleet report` does once its flags are known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any

from ..guard import Refusal
from .display import display
from .write import echo, write, write_parts

if TYPE_CHECKING:
    from ..findings.spec import SpecLine
    from ..fleet.report import FleetReport
    from ..fleet.spec import FleetSpec
    from ..fleet.store.read import Store
    from ..judge.saved import Saved

ALONE = ("since", "mask_nodes", "fail_on")
"""Flags of the report on the whole fleet, which make no sense for one node or a query."""

_MOST_OF_A_PAGE = 100_000
"""Rows."""
KEPT = ("spec", "format_", "output", "quiet", "verbose", "no_color", "ascii_")
"""Flags that mean the same for `check`."""


def run_report(flags: dict[str, Any]) -> int:
    """Print the report, one node's, or the rows of a query; returns the exit code."""
    if flags["node"] is not None and flags["query"] is not None:
        raise Refusal("--node cannot be used with --query")
    one = "--node" if flags["node"] is not None else "--query" if flags["query"] is not None else ""
    for name in ALONE:
        if one and flags[name]:
            raise Refusal(f"{one} cannot be used with --{name.replace('_', '-')}")
    _keep_inputs(flags)
    if flags["query"] is not None:
        if flags["spec"]:
            raise Refusal("--query cannot be used with --spec")
        if flags["quiet"]:
            raise Refusal("--query prints rows: it cannot be used with --quiet")
        return _query(flags)
    return _node(flags) if flags["node"] is not None else _fleet(flags)


def _keep_inputs(flags: dict[str, Any]) -> None:
    """Raises Refusal if the report would replace what it is made of."""
    from os.path import realpath

    for path in (flags["database"], flags["since"], *flags["spec"]):
        if flags["output"] and path and realpath(path) == realpath(flags["output"]):
            raise Refusal(f"-o {flags['output']} would replace {path}, which the report is made from")


def _fleet(flags: dict[str, Any]) -> int:
    from compat_matrix import Matrix

    from .. import __version__
    from ..findings import Policy
    from ..fleet.report import FleetTool
    from ..fleet.summary import Wanted, summarize
    from .config import with_spec

    tool = FleetTool("gpudoctor", __version__, Matrix.load().version)
    spec = with_spec(Policy(), flags["spec"]).spec
    wanted = Wanted(tool, flags["fail_on"] or "fail", flags["mask_nodes"])
    with ExitStack() as files:
        before = None if flags["since"] is None else files.enter_context(_opened(flags["since"]))
        store = files.enter_context(_opened(flags["database"]))
        if before is not None:
            _refuse_later(before, store, flags)
        report = summarize(store, wanted, before, _judged(spec, flags["database"]))
    how = display({**flags, "no_color": flags["no_color"], "ascii_": flags["ascii_"]})
    write(_rendered(report, flags), flags["output"], styled=how.colour and flags["format_"] == "text")
    return report.exit_code


def _refuse_later(before: Store, store: Store, flags: dict[str, Any]) -> None:
    """Raises Refusal if what is compared with is no earlier look: what failed since would be said to be cured."""
    from os.path import samefile

    from ..fleet.kinds import CLOCK_OFF_S
    from ..fleet.times import moment

    old, new = flags["since"], flags["database"]
    if samefile(old, new):  # noqa: PTH121
        raise Refusal(f"--since {old} is the same database as {new}: give an earlier one")
    then, now = before.made(), store.made()
    if then and now and then - now > CLOCK_OFF_S:
        raise Refusal(
            f"--since {old} is newer than {new}: its reports are from {moment(then)}, the others from {moment(now)}; "
            "give the newer database first, and the older one to --since"
        )


def _judged(lines: tuple[SpecLine, ...], database: str) -> FleetSpec | None:
    """What all nodes say to the spec; None without one."""
    if not lines:
        return None
    from compat_matrix import Matrix

    from ..fleet.spec import judge_nodes
    from ..fleet.store.query import kinds_of

    return judge_nodes(kinds_of(database), lines, Matrix.load())


@contextmanager
def _opened(path: str) -> Iterator[Store]:
    """Raises Refusal with one line if it is not a fleet database, or is damaged."""
    import sqlite3

    from ..fleet.store.read import open_store
    from ..formats.given import Unopened

    try:
        with closing(open_store(path)) as store:
            yield store
    except Unopened as error:
        raise Refusal(str(error)) from None
    except sqlite3.Error as error:
        raise Refusal(f"{path} cannot be read as a fleet database: {error}") from None


def _rendered(report: FleetReport, flags: dict[str, Any]) -> bytes:
    format_ = flags["format_"]
    if format_ == "json":
        import msgspec

        return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
    if format_ == "html":
        from ..report.fleet_page import fleet_page as render
    elif format_ == "markdown":
        from ..report.fleet_markdown import fleet_markdown as render
    elif format_ == "csv":
        from ..report.fleet_csv import fleet_csv as render
    else:
        from ..report.fleet_text import render_fleet

        return render_fleet(report, flags["database"], display(flags)).encode("utf-8", "backslashreplace")
    return render(report).encode("utf-8", "backslashreplace")


def _query(flags: dict[str, Any]) -> int:
    from ..fleet.store.query import ask
    from ..report.fleet_rows import render_rows

    columns, rows = ask(flags["database"], flags["query"])
    parts = render_rows(columns, _few(rows) if flags["format_"] == "html" else rows, flags["format_"])
    write_parts((part.encode("utf-8", "backslashreplace") for part in parts), flags["output"])
    return 0


def _few(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The rows of a page, which holds all of them at once."""
    for number, row in enumerate(rows):
        if number >= _MOST_OF_A_PAGE:
            raise Refusal(
                f"--query returns over {_MOST_OF_A_PAGE:,} rows, too many for an HTML page: use --format csv or json"
            )
        yield row


def worst_of(database: str, node: str) -> Saved:
    """The report of a node; of several machines with its name one in the worst state, with a line that says so. Raises
    Refusal."""
    from ..fleet.store.query import saved_of

    several = saved_of(database, node)
    if len(several) > 1:
        echo(f"gpudoctor: {len(several)} machines are named {node}; this is one of those in the worst state", err=True)
    return several[-1]


def _node(flags: dict[str, Any]) -> int:
    """The node's own report, judged now, as `check --from` judges a file."""
    from .config import base_policy, with_spec
    from .flags import CHECK, read_flags
    from .options import make_policy
    from .run_check import policy_flags, print_report

    formats = ("text", "json", "markdown", "html")
    if flags["format_"] not in formats:
        raise Refusal(f"--node cannot be used with --format {flags['format_']}: use {', '.join(formats)}")
    saved = worst_of(flags["database"], flags["node"])
    flags = {**(read_flags(CHECK, []) or {}), **{name: flags[name] for name in KEPT}}
    policy = make_policy(saved=base_policy(flags, saved.policy), **policy_flags(flags))
    policy = with_spec(policy, flags["spec"])
    return print_report(saved.snapshot, policy, flags, saved.redacted)
