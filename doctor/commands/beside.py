"""A container's host, examined from the host: what a report on the container shows along with it."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..formats.proc import parse_mountinfo
from ..probes.collect import Options, Started, gather_all, snapshot_of
from ..snapshot import Missing, Outside, known

_OURS = re.compile(r"nvidia|libcuda|libnv|/dev/dxg")
_MOST = 512


def outside_of(root: str, timeout_s: float, say: Callable[[str], None] | None = None) -> Outside:
    """`root`: the container's /proc/PID/root on this host."""
    host = snapshot_of(gather_all(Started(Options(import_torch=False, deadline_s=timeout_s)), say))
    driver, gpus, nodes = host.driver, host.gpus, host.driver.device_nodes
    return Outside(
        kernel_version=driver.kernel_version,
        libcuda_path=driver.libcuda_path,
        libcuda_version=driver.libcuda_version,
        cuda_version=driver.cuda_version,
        gpus=gpus if isinstance(gpus, Missing) else tuple(known(gpu.name) or "GPU" for gpu in gpus),
        nodes=nodes if isinstance(nodes, Missing) else tuple(node.path for node in nodes),
        mounted=_mounted(root),
    )


def _mounted(root: str) -> tuple[str, ...] | Missing:
    try:
        with open(f"{root.removesuffix('/root')}/mountinfo", encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 20)
    except OSError as error:
        return Missing("denied" if isinstance(error, PermissionError) else "error", error.strerror or "")
    return tuple(m.mount_point for m in parse_mountinfo(text) if _OURS.search(m.mount_point))[:_MOST]
