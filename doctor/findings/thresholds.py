"""The numbers that a policy may set (`[thresholds]` of gpudoctor.toml): name to what it bounds and its default."""

from __future__ import annotations

THRESHOLDS: dict[str, str] = {
    "temperature_margin_warn_c": "degrees left to the GPU's own limit, at or below which it is a warning: 5",
    "temperature_remark_c": "GPU temperature for a remark where the GPU names no limit: 75",
    "temperature_warn_c": "GPU temperature for a warning where the GPU names no limit (set: everywhere): 80",
    "temperature_fail_c": "GPU temperature for a failure, with a thermal throttle bit set: 84",
    "power_limit_percent": "power limit in percent of the default, below which it counts as lowered: 98",
    "remapped_rows": "remapped rows of GPU memory, from which on it is a failure: 512",
    "retired_pages": "retired pages of GPU memory, from which on it is a failure: 63",
    "nvlink_crc_per_s": "damaged NVLink packets (CRC) a second, from which it is a warning: 100",
    "pcie_replays_climbed": "new PCIe replays within about 100 ms, from which it is a warning: 3",
    "memory_in_use_percent": "GPU memory in use by others, above which it is told: 50",
    "stale_memory_mib": "GPU memory that no visible process holds, above which it is told: 500",
    "shm_warn_mib": "size of /dev/shm, up to which it is a warning: 64",
    "memlock_warn_kib": "locked memory limit, below which it is a warning with RDMA devices: 16777216",
    "memory_limit_warn_mib": "memory limit of the container, up to which it is a warning: 4096",
    "cores_per_gpu": "CPU cores for each GPU, below which the quota is told: 1",
    "slowed_samples_percent": "samples under load that heat or a power brake slowed, in percent, for a finding: 10",
    "power_cap_samples_percent": "samples under load at the power limit, in percent, from which it is told: 25",
    "single_core_mops": "million Python operations a second, below which a core is slow: 45 (Python 3.11)",
    "host_us_per_kernel": "host us for each kernel of a step, above which the host is slow: 30 (Python 3.11)",
    "clock_percent": "SM clock under load in percent of its maximum, below which it is held low: 90",
    "memory_model_percent": "bytes per parameter off the rule, in percent, above which it is told: 25",
    "loader_scaling_percent": "speed of loader workers together, in percent of that many times one: 40",
    "open_files": "limit of open files, below which it is told: 1024, with several GPUs 4096",
}
"""A check reads them with `limit(p, NAME, default)`; a test keeps this table and the checks together."""
