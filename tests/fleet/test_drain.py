"""Which nodes `--drain` drains: those that fail by themselves, not by what somebody installed in a Python."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from doctor.findings import Expect, Policy
from doctor.fleet.drain import failed_nodes
from doctor.fleet.store.read import open_store

from .spool import TODAY, load, machine, report


def test_a_missing_package_fails_a_node_but_does_not_drain_it(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    gpus: Policy = replace(TODAY, expect=Expect(count=4))
    wanted: Policy = replace(TODAY, require=("vllm",))
    for name, policy in (("n1", wanted), ("n2", gpus), ("n3", gpus), ("n4", TODAY), ("uncounted", gpus)):
        (spool / f"{name}.json").write_bytes(
            report(machine(int(name[1:]) if name[1:].isdecimal() else 9), policy=policy)
        )
    load(spool, to=tmp_path / "now.db")
    with closing(open_store(str(tmp_path / "now.db"))) as store:
        assert {one.name for one in store.nodes() if one.verdict == "fail"} == {"n1", "n2", "n3", "uncounted"}
    counted = dict.fromkeys(("n1", "n2", "n3", "n4"), 2)
    ((nodes, reason),) = failed_nodes(str(tmp_path / "now.db"), counted)
    assert nodes == "n[2-3]" and reason.startswith("gpudoctor: gpu-expectation-unmet: ")
