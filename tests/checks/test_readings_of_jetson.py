"""A Jetson board has no NVML: its health readings are skipped with words, not called unknown; elsewhere they are."""

from __future__ import annotations

from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import run
from ..rows import for_each

READ_BY_NVML = ("gpu-too-hot", "gpu-hardware-ecc-fault", "gpu-power-or-thermal-limited", "power-limit-lowered")
NO_NVML = {"gpus": Missing("absent", "libnvidia-ml.so.1: no such file"), "driver.nvml_init": Missing("absent")}


@for_each("check_id", READ_BY_NVML)
def test_only_a_jetson_needs_no_nvml(check_id: str) -> None:
    board = healthy().replace({**NO_NVML, "host.kernel": "5.15.148-tegra"})
    status, reason, found = run(check_id, board)
    assert (status, found) == ("skipped", []) and "Jetson" in reason
    assert run(check_id, healthy().replace({**NO_NVML, "host.kernel": "6.8.0-45-generic"}))[0] == "unknown"
    denied = board.replace({"gpus": Missing("denied")})
    assert run(check_id, denied)[0] == "unknown"
