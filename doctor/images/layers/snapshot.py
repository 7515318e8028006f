"""From the layers' contents to a Snapshot, with the same gatherer and parsers as for a root folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...patient.gather import gather
from ...probes.collect import snapshot_of
from ...snapshot import Missing, Snapshot
from ...targets.recording import Recording
from .scan import LayerFacts
from .tree import TreeFiles, TreeTools
from .wanted import prefix_of


def layers_snapshot(facts: LayerFacts, name: str, env: Mapping[str, str] | None = None) -> Snapshot:
    """The Snapshot of an image; `env`: the variables in its config, None if unknown."""
    snapshot = _gathered(facts, name, env, {})
    if isinstance(snapshot.torch.version, Missing) and facts.torch_site:
        # PATH leads to no Python that was found, or to one without torch: the image's torch is what matters.
        with_torch = _gathered(facts, name, env, {"python": prefix_of(facts.torch_site)})
        snapshot = snapshot if isinstance(with_torch.torch.version, Missing) else with_torch
        python = replace(
            snapshot.python, chosen_because="the newest torch in the image is installed in this environment"
        )
        snapshot = replace(snapshot, python=python)
    libc = facts.packages.get("libc6", "")
    if isinstance(snapshot.host.libc, Missing) and libc:
        version = libc.partition(":")[2] or libc
        snapshot = replace(snapshot, host=replace(snapshot.host, libc="glibc " + version.partition("-")[0]))
    return snapshot if facts.complete else _unsure(snapshot, facts)


def _gathered(facts: LayerFacts, name: str, env: Mapping[str, str] | None, options: dict[str, Any]) -> Snapshot:
    lines: list[dict[str, Any]] = []
    files = TreeFiles(lines.append, facts.nodes)
    limits = {"live": False, "devices": False, "whole": False, "objects": None}
    gather(lines.append, "/", env, TreeTools(files), {**limits, **options}, files)
    return snapshot_of(Recording(lines, {}, {"kind": "image", "name": name}))


_EMPTY = (
    "container.compat", "driver.libcuda_candidates", "cuda.toolkits", "cuda.libraries", "cuda.nvcc_on_path",
    "cuda.c_compiler", "python.others", "python.extensions", "python.uv",
)  # fmt: skip
_ABSENT = (
    "torch.version", "torch.missing_libraries", "torch.cudnn_path", "torch.cudnn_bundled", "torch.cudnn_shadow",
    "torch.nccl_path", "torch.nccl_bundled", "host.libc", "host.os_name", "host.os_id", "host.os_version",
    "python.distributions", "python.patient.prefix", "python.patient.executable", "driver.libcuda_path",
    "driver.libcuda_version", "driver.libcuda_stub", "driver.nvml_library_path", "driver.nvml_library_version",
    "cuda.gcc_version", "cuda.nvcc_version",
)  # fmt: skip


def _unsure(snapshot: Snapshot, facts: LayerFacts) -> Snapshot:
    """If part of the layers was not read, anything not found may still exist."""
    whole = sum(one.whole for one in facts.layers)
    gap = Missing("not-asked", f"only {whole} of {len(facts.layers) + facts.unread} layers were read to the end")
    changes: dict[str, Any] = {"python.distributions_partial": not isinstance(snapshot.python.distributions, Missing)}
    for path in _EMPTY:
        if snapshot.fact(path) in ((), None, False):
            changes[path] = gap
    if snapshot.torch.missing_libraries:
        changes["torch.missing_libraries"] = gap
    for path in _ABSENT:
        value = snapshot.fact(path)
        if isinstance(value, Missing) and value.reason == "absent":
            changes[path] = gap
    return snapshot.replace(changes)
