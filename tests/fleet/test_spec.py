"""A fleet against a spec: deviations are counted per node, what is unknown is named, and every format is whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.snapshot import Missing, Snapshot

from ..cli.command import gpudoctor, one_line
from ..report.parsers import PARSERS
from ..rows import Faults
from . import spool

OTHER_DRIVER = {
    f"driver.{name}": "570.86.15"
    for name in ("kernel_version", "nvml_driver_version", "nvml_library_version", "libcuda_version")
}
UNREAD = {"torch.nccl_bundled": Missing("denied"), "torch_run.nccl_version": Missing("denied")}
CHANGES: dict[int, dict[str, Any]] = {
    1: OTHER_DRIVER, 2: {**OTHER_DRIVER, "host.os_version": "20.04"}, 4: {"python.patient.version": "3.12.1"}, 5: UNREAD,
}  # fmt: skip
"""Node to what differs there; all others are as the spec says."""


def node(number: int) -> Snapshot:
    return spool.machine(number).replace(CHANGES.get(number, {}))


class Fleet:
    def __init__(self, folder: Path) -> None:
        (folder / "spool").mkdir()
        for number in range(8):
            (folder / "spool" / f"gpu-{number:03}.json").write_bytes(spool.report(node(number)))
        self.spec, self.database = folder / "team.toml", folder / "fleet.db"
        done = gpudoctor("print", "spec", "--from", folder / "spool" / "gpu-000.json", "-o", self.spec)
        assert done.returncode == 0, done
        assert gpudoctor("fleet", "load", folder / "spool", "-o", self.database).returncode == 0

    def report(self, *flags: str | Path) -> tuple[int, dict[str, Any]]:
        done = gpudoctor("fleet", "report", self.database, "--format", "json", *flags)
        return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return Fleet(tmp_path_factory.mktemp("fleet-spec"))


def test_deviations_are_counted_per_node(fleet: Fleet) -> None:
    code, report = fleet.report("--spec", fleet.spec)
    about = report["spec"]
    assert code == 1 and (about["judged"], about["met"]) == (8, 4)
    assert about["counts"] == {"gpu-002": 2, "gpu-001": 1, "gpu-004": 1}
    rows = {(row["name"], row["found"]): row["nodes"] for row in about["deviations"]}
    assert rows == {
        ("driver", "570.86.15"): ["gpu-001", "gpu-002"],
        ("os", "ubuntu 20.04"): ["gpu-002"],
        ("python", "3.12.1"): ["gpu-004"],
    }
    assert [(row["name"], row["found"], row["nodes"]) for row in about["unknown"]] == [
        ("nccl", "no permission", ["gpu-005"])
    ]
    assert (report["counts"]["fail"], report["counts"]["unknown"]) == (3, 1)
    states = {row["node"]: (row["state"], row["why"]) for row in report["nodes"]}
    assert states["gpu-004"] == ("fail", "spec-not-met") and states["gpu-005"] == ("unknown", "spec-not-met")


def test_without_the_flag_nothing_changes_and_a_met_spec_fails_nobody(fleet: Fleet, tmp_path: Path) -> None:
    assert fleet.report()[1]["spec"] is None
    mild = tmp_path / "mild.toml"
    mild.write_text('driver = ">=570"\npython = ">=3.10"\n')
    code, report = fleet.report("--spec", mild)
    assert code == 0 and report["spec"]["met"] == 8 and not report["spec"]["deviations"]


@pytest.mark.slow
def test_each_node_is_judged_as_check_judges_its_report(fleet: Fleet) -> None:
    """The store judges each kind of report once; its answer is that of every single node."""
    off = fleet.report("--spec", fleet.spec)[1]["spec"]["deviations"]
    with Faults() as faults:
        for number in range(8):
            name = f"gpu-{number:03}"
            with faults.of(name):
                done = gpudoctor(
                    "fleet", "report", fleet.database, "--spec", fleet.spec, "--node", name, "--format", "json"
                )
                found = [one for one in json.loads(done.stdout)["findings"] if one["id"] == "spec-not-met"]
                rows = [row["name"] for one in found for row in one["facts"].get("deviations", ())]
                assert sorted(rows) == sorted(row["name"] for row in off if name in row["nodes"])


@pytest.mark.slow
def test_every_format_names_the_deviations_and_is_whole(fleet: Fleet) -> None:
    with Faults() as faults:
        for name in ("text", "markdown", "html", "csv", "json"):
            with faults.of(name):
                done = gpudoctor("fleet", "report", fleet.database, "--spec", fleet.spec, "--format", name)
                PARSERS[name](done.stdout.decode())
                for what in ("570.86.15", "ubuntu 20.04", "3.12.1", "no permission"):
                    assert what in done.stdout.decode()


def test_masked_nodes_stay_masked(fleet: Fleet) -> None:
    done = gpudoctor("fleet", "report", fleet.database, "--spec", fleet.spec, "--mask-nodes", "--format", "json")
    assert b"gpu-00" not in done.stdout and b"570.86.15" in done.stdout
    assert json.loads(done.stdout)["spec"]["files"] == ["team.toml"]


def test_a_report_that_brings_a_spec_fails_its_node(tmp_path: Path) -> None:
    """Gathered with --spec: the node was judged there, and also what it says of its Python counts."""
    spec = tmp_path / "team.toml"
    spec.write_text('python = "==3.11.*"\n')
    folder = tmp_path / "spool"
    folder.mkdir()
    for number in (0, 4):
        plain = tmp_path / f"{number}.json"
        plain.write_bytes(spool.report(node(number)))
        gpudoctor("check", "--from", plain, "--spec", spec, "--format", "json", "-o", folder / f"gpu-{number:03}.json")
    database = tmp_path / "fleet.db"
    gpudoctor("fleet", "load", folder, "-o", database)
    done = gpudoctor("fleet", "report", database, "--format", "json")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and [(one["finding"], one["nodes"]) for one in report["repairs"]] == [
        ("spec-not-met", ["gpu-004"])
    ]


def test_what_cannot_be_combined(fleet: Fleet) -> None:
    line = one_line(gpudoctor("fleet", "report", fleet.database, "--spec", fleet.spec, "--query", "select 1"))
    assert "--query cannot be used with --spec" in line
