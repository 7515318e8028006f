"""docs/verified.md: every command, target, product and part is in it, and no row says more than what ran."""

from __future__ import annotations

import json
import re
from pathlib import Path

from doctor.cli import COMMANDS
from doctor.commands.flags import PROVE
from doctor.patient.speed_freivalds import EXACT, U_OUT
from doctor.targets.far_target import KINDS

from .parts import NEEDS
from .rows import Faults

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "verified.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    assert found[2:], heading
    return found[2:]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def ran() -> set[str]:
    """The parts that have a row in benchmarks/parts.md."""
    return set(re.findall(r"^\| `(\w+)` \|", (ROOT / "benchmarks" / "parts.md").read_text("utf-8"), re.M))


def test_every_command_target_and_product_has_a_row() -> None:
    assert sorted(named(" ".join(row[0] for row in rows("Commands")))) == sorted(COMMANDS)
    targets = {name.partition(":")[0] for row in rows("Where it looks") for name in named(row[0]) if ":" in name}
    assert targets == set(KINDS)
    measured = {name for row in rows("Measurements") for name in named(row[0])}
    products = {*U_OUT, *EXACT, "fp32", "tf32"}
    flags = {name for flag in PROVE for name in flag.names}
    assert products <= measured and {name for name in measured - products if name[:2] != "--"} == set()
    assert {name for name in measured if name[:2] == "--"} <= flags
    assert {"--links", "--ddp", "--teach", "--soak", "--baseline"} <= measured


def test_no_row_says_more_than_what_ran() -> None:
    days = {row[0] for row in rows("Hardware")}
    with Faults() as faults:
        for heading in ("Commands", "Where it looks", "Measurements", "Systems"):
            for row in rows(heading):
                with faults.of(f"{heading}: {row[0]}"):
                    word, _, rest = row[1].partition(" ")
                    if word == "hardware":
                        assert rest in days
                    else:
                        assert re.fullmatch(r"imitations|real texts|real programs: .+", row[1])
                        assert set(named(row[1])) <= ran() and bool(named(row[1])) == row[1].startswith("real programs")


def test_parts_that_never_ran_are_named_as_such() -> None:
    last = PAGE.rpartition("Parts of the tests that never ran:")[2]
    assert {name for name in named(last) if name in NEEDS} == set(NEEDS) - ran()


def test_the_largest_fleet_is_the_one_that_was_measured() -> None:
    runs = json.loads((ROOT / "benchmarks" / "results" / "fleet.json").read_text("utf-8"))["runs"]
    most = max(int(re.search(r"--nodes (\d+)", run["command"])[1]) for run in runs)  # type: ignore[index]
    assert f"fleets of up to {most:,} nodes" in PAGE


def test_who_speaks_of_what_was_verified_leads_there() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    prove = (ROOT / "docs" / "prove.md").read_text("utf-8")
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert "(docs/verified.md)" in readme and "(verified.md)" in prove and "(verified.md)" in index
