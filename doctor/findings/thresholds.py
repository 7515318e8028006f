"""The numbers that a policy may set (`[thresholds]` of gpudoctor.toml): name to description and default."""

from __future__ import annotations

THRESHOLDS: dict[str, str] = {
    "temperature_margin_warn_c": "warn if the GPU is this many degrees C or fewer below its own limit: 5",
    "temperature_remark_c": "note at this GPU temperature and above if the GPU has no limit: 75",
    "temperature_warn_c": "warn at this GPU temperature and above if the GPU has no limit (if set, for every GPU): 80",
    "temperature_fail_c": "fail at this GPU temperature and above while a thermal throttle bit is set: 84",
    "power_limit_percent": "below this percentage of the default, the power limit counts as lowered: 98",
    "remapped_rows": "fail at this many or more remapped GPU memory rows: 512",
    "retired_pages": "fail at this many or more retired GPU memory pages: 63",
    "nvlink_crc_per_s": "warn at this many or more damaged NVLink packets (CRC) per second: 100",
    "pcie_replays_climbed": "warn at this many or more new PCIe replays within about 100 ms: 3",
    "memory_in_use_percent": "report more than this percentage of GPU memory in use by others: 50",
    "stale_memory_mib": "report more than this much GPU memory (MiB) that no visible process holds: 500",
    "shm_warn_mib": "warn if /dev/shm has this size (MiB) or less: 64",
    "memlock_warn_kib": "warn if the locked memory limit (KiB) is lower than this and there are RDMA devices: 16777216",
    "memory_limit_warn_mib": "warn if the container's memory limit (MiB) is this or less: 4096",
    "cores_per_gpu": "report a CPU quota below this many cores per GPU: 1",
    "slowed_samples_percent": "report if heat or a power brake slows this percentage or more of samples under load: 10",
    "power_cap_samples_percent": "report if at least this percentage of samples under load are at the power limit: 25",
    "single_core_mops": "a core is slow below this many million Python operations per second: 45 (Python 3.11)",
    "host_us_per_kernel": "the host is slow above this many us per kernel of a step: 30 (Python 3.11)",
    "clock_percent": "the SM clock under load counts as low below this percentage of its maximum: 90",
    "memory_model_percent": "report if bytes per parameter differ from the rule by more than this percentage: 25",
    "loader_scaling_percent": "warn if all loader workers together are below this percentage of linear scaling: 40",
    "open_files": "report an open file limit below this: 1024, with several GPUs 4096",
}
"""A check reads them with `limit(p, NAME, default)`; a test keeps this table and the checks together."""
