"""The licence of a virtual GPU, as the NVML agent asks for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from doctor.probes.nvml import parse_nvml
from doctor.snapshot import Missing, Snapshot
from tests.fakes import Machine

from .run import run_nvml


@pytest.mark.parametrize(
    ("mode", "licence", "told"), [("2", "1", True), ("2", "0", False), ("2", None, "absent"), ("1", "0", "not-asked")]
)
def test_the_agent_asks_virtual_gpus_only(
    on_machine: Callable[..., dict[str, str]], mode: str, licence: str | None, told: object
) -> None:
    scenario = {"gpu__0__virtualization": mode} | ({} if licence is None else {"gpu__0__vgpu_licensed": licence})
    machine = Machine.load("healthy-h100").with_(**scenario)
    snapshot = Snapshot().replace(parse_nvml(run_nvml(on_machine(machine)))[0])
    assert isinstance(snapshot.gpus, tuple)
    fact = snapshot.gpus[0].vgpu_licensed
    assert (fact.reason if isinstance(fact, Missing) else fact) == told
