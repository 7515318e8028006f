"""A fleet's report whose every text is hostile, in each format: no new tag, no escape, no formula; and how large it is."""

from __future__ import annotations

import csv
from typing import Any

import msgspec
import pytest

from doctor.findings import Fix, Step
from doctor.fleet import report as kinds
from doctor.fleet import report_links
from doctor.fleet.nodesets import folded, in_order
from doctor.fleet.report import FleetReport
from doctor.report.fleet_csv import defused, fleet_csv
from doctor.report.fleet_markdown import fleet_markdown
from doctor.report.fleet_page import fleet_page
from doctor.report.fleet_text import render_fleet
from doctor.report.terminal import Display

from ..report.parsers import PARSERS
from ..report.samples import HOSTILE
from ..rows import Faults

STEP = Step(text="Reboot.", command="sudo reboot", where="host", needs_root=True, ends="all jobs on this host")
TIMES = ("2026-11-26T10:02:00Z", "2026-11-26T10:04:00Z")


def links(names: tuple[str, ...]) -> report_links.LinksAbout:
    """In which each part has something."""
    rate: dict[str, Any] = {"value": 20.5, "median": 46.0, "change_percent": -55.4}
    return report_links.LinksAbout(
        figure="all_reduce", unit="GB/s", pairs=9, measured=8, median=46.0, unmeasured=names[:1],
        rounds=(report_links.LinkRound(round=1, turn=1, pairs=3, measured=2, median=46.0),),
        nodes=(report_links.SlowLink(node=names[0], partner=names[1], pairs=5, confirmed=False, **rate),),
        paths=(report_links.SlowPath(ends=names[:2], switches=True, nodes=names, confirmed=True, **rate),),
        switches=(report_links.SlowSwitch(switch="leaf1", nodes=names, confirmed=True, **rate),),
        not_measured=(report_links.NotMeasured(reason="no route", pairs=(names[:2],)),),
    )  # fmt: skip


def whole(nodes: int = 6) -> FleetReport:
    """A report in which each part has something."""
    names = tuple(f"gpu-{number:05}" for number in range(nodes))
    about: dict[str, Any] = {"cohort": "8x H200", "fact": "driver.kernel_version", "label": "driver"}
    odd = kinds.OddFact(**about, value="565", usual="570", usual_nodes=9, nodes=names, gpus={names[0]: (1, 2)})
    slow = kinds.SlowFigure(
        node=names[0], gpu=1, cohort="8x H200", kind="matmul", figure="matmul bf16", label="bf16 matmul", value=557.0,
        unit="TFLOP/s", median=742.0, spread_percent=1.1, change_percent=-25.0, measured=3, also=("matmul fp16",),
    )  # fmt: skip
    finding = kinds.FindingAbout(finding="power-limit-lowered", status="warn", title="The limit is low", nodes=names)
    fix = Fix(id="reboot", title="Reboot", steps=(STEP,))
    return FleetReport(
        tool=kinds.FleetTool("gpudoctor", "0.2.0", "2026.11.22"), source="files", started=TIMES[0], ended=TIMES[1],
        verdict="fail", exit_code=1, counts=kinds.FleetCounts(nodes=nodes, fail=nodes), answered=nodes, gpus=8 * nodes,
        cohorts=(kinds.CohortAbout(name="8x H200", model="H200", gpus_per_node=8, memory_gib=141, architecture="x86_64",
                                   nodes=nodes),),
        repairs=(kinds.RepairAbout(finding="row-remap-pending", title="A row waits", layer="hardware", fix=fix, cures=nodes,
                                   nodes=names, subjects={names[0]: ("GPU 3",)}),),
        findings=(finding,), python=(finding,), odd=(odd,), odd_on_failing=(odd,), odd_python=(odd,),
        clocks=(kinds.ClockOff(node=names[1], seconds=-7200.0),),
        splits=(kinds.Split(**about, values={"565": 3, "570": 3}),), unknown=(kinds.UnknownOn(**about, nodes=names),),
        slow=(slow,), once=(slow,), lagging=(slow,),
        spreads=(kinds.Spread(cohort="8x H200", figure="matmul bf16", values=48, median=742.0, unit="TFLOP/s",
                              spread_percent=1.1, hides_percent=10.0),),
        kinds=(kinds.TwoKinds(cohort="8x H200", figure="matmul bf16", label="bf16 matmul", medians=(700.0, 742.0),
                              unit="TFLOP/s", sizes=(3, 3), slower=names[:3]),),
        too_few=(kinds.TooFew(cohort="1x H200", figures=2, nodes=names[:1]),),
        not_examined=(kinds.NotExamined(node=names[2], reason="drained"),),
        duplicates=tuple(kinds.DuplicateAbout(kind=kind, nodes=names[:2], detail="x") for kind in ("answer", "name", "uuid")),
        refused=(kinds.RefusedAbout(file="a.json", line=3, reason="not JSON"),), links=links(names),
        since=kinds.SinceAbout(started=TIMES[0], failed={"x": names}, cured={"y": names}, slow_again=names, gone=names,
                               new=names, changed=(kinds.SinceChange(fact="host.kernel", label="kernel", before="1",
                                                                     after="2", nodes=names),)),
        nodes=tuple(kinds.NodeRow(node=name, state="fail", cohort="8x H200", why="row-remap-pending") for name in names),
        healthy=names,
    )  # fmt: skip


KEPT = {"fail", "host", "change", "all jobs on this host", "warn"}
"""Values that are one of a few words."""


def hostile(value: Any, text: str) -> Any:
    """Each text of a value with another one before and behind it."""
    if isinstance(value, str):
        return value if value in KEPT or not value else f"{text}{value}{text}"
    if isinstance(value, dict):
        return {
            hostile(key, text) if key.startswith(("gpu-", "565", "570", "x", "y")) else key: hostile(one, text)
            for key, one in value.items()
        }
    return [hostile(one, text) for one in value] if isinstance(value, list) else value


def spoiled(text: str) -> FleetReport:
    return msgspec.convert(hostile(msgspec.to_builtins(whole()), text), FleetReport, strict=False)


TEXTS = (HOSTILE, "</td></script><img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "\x1b]0;x\x07", "=cmd|' /C calc'!A0", "\u202e",
         "'; drop table node; --", "gpu-[1-999999999]", "a,b", "../../etc/passwd", "x" * 10_000)  # fmt: skip


def test_no_text_becomes_markup_an_escape_or_a_formula() -> None:
    tags = sorted(set(PARSERS["html"](fleet_page(whole())).tags))
    with Faults() as faults:
        for text in TEXTS:
            made = spoiled(text)
            with faults.of(repr(text[:40])):
                page = fleet_page(made)
                assert sorted(set(PARSERS["html"](page).tags)) == tags and "49" not in page.partition("{{")[0][:0]
                PARSERS["markdown"](fleet_markdown(made))
                shown = render_fleet(made, "now.db", Display(80, 1))
                assert not [c for c in shown + page if not c.isprintable() and c != "\n"]
                rows = list(csv.reader(fleet_csv(made).splitlines()))
                assert {len(row) for row in rows} == {8}
                assert not [cell for row in rows for cell in row if cell.lstrip().startswith(("=", "+", "@", "|"))]


def test_numbers_stay_numbers_in_csv() -> None:
    assert [defused(cell) for cell in ("-7200", "1.5", "-1+1", "=1", "+49", "@x", " =1", "-", "gpu-1")] == [
        "-7200", "1.5", "'-1+1", "'=1", "'+49", "'@x", "' =1", "'-", "gpu-1"
    ]  # fmt: skip


@pytest.mark.slow
def test_the_page_of_10000_nodes_is_at_most_2_mb() -> None:
    assert len(fleet_page(whole(10_000)).encode()) < 2_000_000


def test_names_are_folded_and_strange_ones_left_as_they_are() -> None:
    assert folded([f"gpu-{n:03}" for n in (1, 2, 3, 7)]) == "gpu-[001-003,007]"
    assert folded(["a", "node10", "node9", "@all", "gpu[1-3]"]) == "node[9-10],@all,a,gpu[1-3]"
    assert folded([]) == "" and folded(["gpu-1"]) == "gpu-1"
    assert sorted(["n10", "n9", "n09"], key=in_order) == ["n09", "n9", "n10"]
