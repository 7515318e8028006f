"""The same property with extensions, companions, frameworks, Triton, NCCL and build tools drawn at random."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from doctor.findings import Finding, Policy
from doctor.snapshot import Distribution, LibraryFile, Snapshot, Toolkit

from ..drawn import drawn
from ..extensions import TORCH, TORCH_CUDA, bitsandbytes, library, with_extension
from ..torches import with_version
from .machines import machines
from .sound import _revealed, apply_first_fix, failures

_ARCHS = ("5.0", "6.0", "7.0", "7.5", "8.0", "8.6", "9.0", "9.0a", "10.0", "12.0")
_PINNED = ("vllm", "xformers", "sglang", "torchao")
_TAGGED = ("flash-attn", "natten", "torch-scatter")
_PLAIN = {
    "triton": ("2.1.0", "3.2.0", "3.4.0", "3.6.0"), "jax": ("0.4.20", "0.7.2"), "jaxlib": ("0.7.1", "0.7.2"),
    "jax-cuda12-plugin": ("0.7.2",), "onnxruntime": ("1.23.2",), "onnxruntime-gpu": ("1.23.2", "1.29.0"),
    "tensorflow": ("2.16.1", "2.20.0"), "tensorflow-cpu": ("2.20.0",), "faiss-cpu": ("1.9.0",),
    "nvidia-cuda-nvrtc-cu12": ("12.1.105", "12.8.93"),
}  # fmt: skip
TOOLKIT = "nvcc-torch-cuda-mismatch"
"""With --building a toolkit is wanted that follows torch: once torch is another one, it is judged against that, and has
a fix of its own."""
_REQUIRED = ("jax", "onnxruntime-gpu", "tensorflow", "tensorflow-cpu")


@st.composite
def crowded(draw: DrawFn) -> Snapshot:
    """A machine of `machines` with other packages, each drawn independently."""
    s = draw(machines()).replace({"cuda.c_compiler": draw(st.sampled_from([None, "/usr/bin/gcc"]))})
    archs = st.lists(st.sampled_from(_ARCHS), max_size=4, unique=True).map(lambda a: tuple(sorted(a)))
    needed = st.sampled_from([TORCH, TORCH_CUDA, (*TORCH_CUDA, "libcudart.so.12"), (*TORCH_CUDA, "libcudart.so.13")])
    some = st.booleans()
    for name in _PINNED:
        if draw(some):
            lib = library(name, f"{name}/_C.so", draw(archs), draw(archs), needed=draw(needed))
            pin = draw(st.sampled_from([(), ("torch==2.4.0",), ("torch==2.8.0",), ("torch>=2.9",)]))
            s = with_extension(s, name, "1.0", lib, requires=pin)
    for name in _TAGGED:
        if draw(some):
            tag = draw(st.sampled_from(["", "cu12torch2.6cxx11abiTRUE", "cu11torch2.4cxx11abiFALSE", "pt28cu128"]))
            wheel = f"x-1.0+{tag}-py3-none-any.whl" if tag else ""
            s = with_extension(
                s, name, "1.0", library(name, f"{name}.so", draw(archs), needed=draw(needed)), wheel=wheel
            )
    if draw(some):
        held = draw(st.lists(st.sampled_from(["118", "121", "126", "128", "130"]), max_size=3, unique=True))
        version = draw(st.sampled_from(["0.43.3", "0.50.2"]))
        s = with_extension(s, "bitsandbytes", version, *bitsandbytes(*held, sass=draw(archs)))
    dists = s.python.distributions
    assert isinstance(dists, tuple)
    if any(d.name == "torchvision" for d in dists) and draw(some):
        lib = library("torchvision", "torchvision/_C.so", draw(archs), needed=draw(needed))
        s = s.replace({"python.extensions": (*s.python.extensions, lib)})  # type: ignore[misc]
    if draw(some):
        lib = library("nvidia-nccl", "nvidia/nccl/lib/libnccl.so.2", draw(archs), draw(archs), needed=())
        s = s.replace({"python.extensions": (*s.python.extensions, lib)})  # type: ignore[misc]
    plain = {name.replace("-", "_"): draw(st.sampled_from(v)) for name, v in _PLAIN.items() if draw(some)}
    return _tools(draw, with_version(s, **plain))


def _tools(draw: DrawFn, s: Snapshot) -> Snapshot:
    changes: dict[str, Any] = {"python.patient.headers": draw(st.booleans())}
    if draw(st.booleans()):
        version = draw(st.sampled_from(["11.8.89", "12.1.105", "12.8.93", "13.0.88"]))
        kit = Toolkit(path="/usr/local/cuda-x", version=version, nvcc=version)
        changes.update(
            {
                "cuda.toolkits": (kit,),
                "cuda.nvcc_version": version,
                "cuda.gcc_version": draw(st.sampled_from(["9", "11", "13", "15"])),
            }
        )
    found_by = draw(st.sampled_from(["ld.so.cache", "default", "LD_LIBRARY_PATH"]))
    path = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
    if s.driver.libcuda_candidates == ():
        file = LibraryFile(soname="libcuda.so.1", path=path, real_path=path, size=1 << 20, found_by=found_by)
        changes["driver.libcuda_candidates"] = (file,)
    return s.replace(changes)


@pytest.mark.slow
@drawn(150, suppress_health_check=list(HealthCheck))
@given(crowded(), st.booleans())
def test_first_fixes_are_sound_among_extensions(machine: Snapshot, building: bool) -> None:
    dists = machine.python.distributions
    assert isinstance(dists, tuple)
    required = tuple(d.name for d in dists if d.name in _REQUIRED)
    policy = Policy(judged_on="2026-11-20", building=building, require=required)
    sick = machine
    for _ in range(40):
        found = failures(sick, policy)
        if not found:
            return
        for key, finding in found.items():
            if finding.cause and not finding.fixes:
                continue  # its cause is repaired first; what is left then is judged again
            assert finding.fixes, f"{finding.id} offers no fix: {finding.title}"
            after = failures(apply_first_fix(sick, finding), policy)
            note(f"{key}: {finding.title} -> {finding.fixes[0].title}; before {sorted(found)}, after {sorted(after)}")
            assert key not in after, f"{finding.id} is still there after its first fix"
            new = {
                f"{k[0]}: {after[k].title}"
                for k in after.keys() - found.keys()
                if not _revealed(after[k], found)
                and not (k[0] == TOOLKIT and finding.id != TOOLKIT)
                and not (k[0] == "required-package-missing" and _new_environment(finding))
            }
            assert not new, f"the fix of {finding.id} brings new failures: {new}"
        sick = apply_first_fix(sick, next(iter(found.values())))
    raise AssertionError(f"forty fixes and still failing: {sorted(failures(sick, policy))}")


def _new_environment(finding: Finding) -> bool:
    """A new environment starts empty: what is required has to be installed into it too, by a fix of its own."""
    return any("python.patient.prefix" in step.changes for step in finding.fixes[0].steps)


def test_the_machines_are_crowded() -> None:
    """The property says nothing if nothing is drawn: one machine by hand, with three of its failures."""
    from ..healthy import healthy

    s = with_extension(healthy("t4"), "flash-attn", "1.0", library("flash-attn", "flash_attn_2_cuda.so", ("8.0",)))
    s = with_extension(s, "vllm", "1.0", library("vllm", "vllm/_C.so", ("7.5",)), requires=("torch==2.4.0",))
    s = with_extension(s, "bitsandbytes", "0.43.3", *bitsandbytes("118"))
    assert isinstance(s.python.distributions, tuple) and isinstance(s.python.distributions[0], Distribution)
    assert {"extension-lacks-gpu-arch", "extension-built-for-other-torch", "extension-no-binary-for-cuda"} <= {
        check_id for check_id, _ in failures(s, Policy(judged_on="2026-11-20"))
    }
