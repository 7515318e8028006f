"""A health check as text of Prometheus, for node_exporter's textfile collector.

Labels of a GPU are dcgm-exporter's (gpu, UUID, pci_bus_id, modelName), so that both can be joined; units are in the
names. The series of a machine stay the same from one run to the next, whatever is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ..findings import Layer
from ..judge.report import Report
from ..snapshot import Gpu, known
from .prometheus_text import ANSWERED, family

STATUSES = ("pass", "warn", "fail", "unknown", "skipped")
_VALUE = {"pass": 0, "warn": 1, "fail": 2, "unknown": 3}
_MIB = 1 << 20
_OF_GPU: tuple[tuple[str, str, str, float], ...] = (
    ("memory_total_bytes", "memory_total_mib", "Total GPU memory.", _MIB),
    ("memory_used_bytes", "memory_used_mib", "GPU memory in use.", _MIB),
    ("temperature_celsius", "temperature_c", "Temperature of the GPU.", 1),
    ("power_draw_watts", "power_draw_w", "Current power draw.", 1),
    ("power_limit_watts", "power_limit_w", "Power limit currently set.", 1),
    ("power_default_limit_watts", "power_default_w", "Default power limit of the board.", 1),
    ("pcie_link_generation", "pcie_gen", "PCIe generation in use; an idle GPU lowers it.", 1),
    ("pcie_link_width_lanes", "pcie_width", "PCIe lanes in use.", 1),
    ("nvlinks_up", "nvlink_active", "NVLinks that are up.", 1),
    ("ecc_uncorrected_errors", "ecc_uncorrected_volatile", "Uncorrected memory errors since the driver was loaded.", 1),
    ("retired_pages", "retired_pages", "Retired GPU memory pages.", 1),
)
"""Name, fact, help, and what the fact is multiplied with."""


def render_prometheus(report: Report, layers: Mapping[str, Layer], exit_code: int) -> str:
    """All series; `layers`: check id to layer."""
    made = datetime.fromisoformat(report.generated_at.replace("Z", "+00:00")).timestamp()
    rows = family("answered", ANSWERED, [({}, 1)])
    rows += family("info", "Versions.", [({"version": report.tool.version, "matrix": report.matrix.version}, 1)])
    rows += family("last_check_timestamp_seconds", "Time of the check.", [({}, made)])
    rows += family("exit_code", "Exit code of gpudoctor healthcheck.", [({}, exit_code)])
    verdicts = [({"verdict": word}, int(report.verdict == word)) for word in STATUSES[:4]]
    rows += family("verdict", "1 for the verdict of the last check, 0 for the others.", verdicts)
    counts = [({"status": s}, sum(one.status == s for one in report.checks)) for s in STATUSES]
    rows += family("checks", "Checks by outcome.", counts)
    each = [
        ({"check": one.id, "layer": layers.get(one.id, "")}, _VALUE[one.status])
        for one in report.checks
        if one.status in _VALUE
    ]
    rows += family("check_status", "0 pass, 1 warn, 2 fail, 3 unknown; a check that does not apply is absent.", each)
    gpus = known(report.snapshot.gpus) or ()
    rows += family(
        "gpus", "GPUs that NVML lists.", [({}, len(gpus))] if known(report.snapshot.gpus) is not None else []
    )
    sick = {finding.subject for finding in report.findings if finding.status == "fail"}
    rows += family("gpu_failed", "1 if a check failed for this GPU.", [(_labels(g), int(g.key in sick)) for g in gpus])
    for name, fact, words, unit in _OF_GPU:
        found = [(_labels(gpu), known(getattr(gpu, fact))) for gpu in gpus]
        rows += family(f"gpu_{name}", words, [(labels, v * unit) for labels, v in found if v is not None])
    return "\n".join(rows) + "\n"


def _labels(gpu: Gpu) -> dict[str, str]:
    index = known(gpu.index)
    return {
        "gpu": "" if index is None else f"{index}",
        "UUID": known(gpu.uuid) or gpu.key,
        "pci_bus_id": known(gpu.pci_address) or "",
        "modelName": known(gpu.name) or "",
    }
