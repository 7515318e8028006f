"""Host and container side by side, with a note if they do not belong together."""

from __future__ import annotations

from collections.abc import Iterable

from ..snapshot import Missing, Snapshot, known
from .amounts import several

_UNKNOWN = {"absent": "none", "denied": "no permission"}


def rows(s: Snapshot) -> list[tuple[str, str, str]]:
    """(what, on the host, in the container); empty if no host was looked at."""
    host, d = s.outside, s.driver
    if host is None:
        return []
    inner = () if isinstance(s.gpus, Missing) else tuple(known(gpu.name) or "GPU" for gpu in s.gpus)
    nodes = d.device_nodes if isinstance(d.device_nodes, Missing) else tuple(node.path for node in d.device_nodes)
    return [
        ("driver", _text(host.kernel_version), _text(d.kernel_version)),
        ("libcuda", _library(host.libcuda_path, host.libcuda_version), _library(d.libcuda_path, d.libcuda_version)),
        ("CUDA up to", _text(host.cuda_version), _text(d.cuda_version)),
        ("GPUs", _names(host.gpus), _names(s.gpus if isinstance(s.gpus, Missing) else inner)),
        ("device nodes", _paths(host.nodes), _paths(nodes)),
        ("mounted", "", _paths(host.mounted)),
    ]


def remarks(s: Snapshot) -> list[str]:
    """What does not belong together."""
    host, found = s.outside, []
    if host is None:
        return []
    driver, own = known(host.kernel_version), known(s.driver.libcuda_version)
    if driver and own and own != driver:
        found.append(
            f"The container's libcuda {own} does not match the host's driver {driver}; it comes from the image."
        )
    given, have = known(s.driver.device_nodes), known(host.nodes)
    if given is not None and have:
        count, all_of_them = _gpus(node.path for node in given), _gpus(have)
        if count < all_of_them:
            found.append(
                f"{all_of_them - count} of the host's {several(all_of_them, 'GPU')} were not passed to the container."
            )
    return found


def _gpus(paths: Iterable[str]) -> int:
    return sum(path.removeprefix("/dev/nvidia").isdecimal() for path in paths)


def _text(value: str | Missing) -> str:
    return _UNKNOWN.get(value.reason, "unknown") if isinstance(value, Missing) else value


def _library(path: str | Missing, version: str | Missing) -> str:
    if isinstance(path, Missing):
        return _text(path)
    return f"{path.rpartition('/')[2]} {known(version) or ''}".strip()


def _names(names: tuple[str, ...] | Missing) -> str:
    if isinstance(names, Missing):
        return _text(names)
    kinds = dict.fromkeys(names)
    return ", ".join(f"{names.count(kind)}x {kind.removeprefix('NVIDIA ')}" for kind in kinds) or "none"


def _paths(paths: tuple[str, ...] | Missing) -> str:
    if isinstance(paths, Missing):
        return _text(paths)
    short = [path.rpartition("/")[2] for path in paths]
    return ", ".join(short[:3]) + (f" and {len(short) - 3} more" if len(short) > 3 else "") or "none"
