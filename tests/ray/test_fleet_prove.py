"""`fleet run --on ray --command ... --prove`, in a real Ray cluster: what looks slow is measured twice more."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ..cli.command import COMMAND
from ..fleet import fleets
from ..fleet.canned import asked, canned_gpudoctor
from ..fleet.test_run_command import examined
from ..reaction import HANG_S

pytestmark = [pytest.mark.ray, pytest.mark.slow]
NAMES = tuple(f"g{number}" for number in range(1, 7))


def test_a_node_that_looks_slow_is_measured_twice_more(tmp_path: Path) -> None:
    """Each with the GPUs of its node: the task's own variable, which Ray sets to no GPU, is not in the way."""
    from .cluster import ray_cluster

    own = canned_gpudoctor(tmp_path / "canned")
    wrapper, database = tmp_path / "gpudoctor", tmp_path / "now.db"
    wrapper.write_text(f'#!/bin/sh\necho "gpus=${{CUDA_VISIBLE_DEVICES-all}}" >> {tmp_path}/seen\nexec {own} "$@"\n')
    wrapper.chmod(0o755)
    for number, name in enumerate(NAMES, 1):
        (own.parent / f"{name}.json").write_bytes(examined(number, 0.7 if name == "g2" else 1.0))
    with ray_cluster() as cluster:
        for name in NAMES:
            cluster.add(name, 2, NODE=name)
        line = [COMMAND, "fleet", "run", "--on", "ray", "--address", cluster.address, "--command", wrapper, "--prove"]
        done = subprocess.run(
            [*line, "--expect", "any", "-o", database],
            env=cluster.env, capture_output=True, text=True, timeout=HANG_S, check=False,
        )  # fmt: skip
        assert not cluster.left()
    found, _ = fleets.report(database)
    assert done.returncode == 0 and not done.stderr and found["answered"] == 6, done
    assert {one["node"] for one in found["slow"]} == {"g2"} and not found["once"]
    assert sorted(line.split()[0] for line in asked(own)) == sorted([*NAMES, "g2", "g2"])
    assert set((tmp_path / "seen").read_text().splitlines()) == {"gpus=all"}
