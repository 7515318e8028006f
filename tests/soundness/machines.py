"""Machines made of the matrix's own rows: GPU x driver x torch build x Python x container x wheels, sound or not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from compat_matrix.versions import tag_cuda
from doctor.snapshot import ABSENT, NOT_ASKED, Distribution, EnvVar, Missing, Snapshot, Torch, TorchRun

from ..healthy import MODELS, healthy
from ..judging import matrix

_RELEASES = [r for r in matrix().releases if tuple(map(int, r.torch.split("."))) >= (1, 13, 0)]
_BUILDS = [
    b
    for b in matrix().builds
    if b.platform == "linux_x86_64" and b.published == "yes" and any(r.torch == b.torch for r in _RELEASES)
]
_BRANCHES = [b for b in matrix().drivers if b.branch >= 450 and b.latest_seen and b.cuda]


@st.composite
def machines(draw: DrawFn) -> Snapshot:
    """A machine whose parts were drawn independently: most are broken in one way or several."""
    models = draw(st.lists(st.sampled_from(sorted(MODELS)), min_size=1, max_size=3))
    branch = draw(st.sampled_from(_BRANCHES))
    s = healthy(*models, driver=branch.latest_seen, cuda=branch.cuda, container=draw(st.booleans()))
    s = _with_torch(draw, s)
    python = draw(st.sampled_from(["3.8.18", "3.9.19", "3.10.14", "3.11.9", "3.12.4", "3.13.1", "3.14.0"]))
    s = s.replace({"python.patient.version": python})
    flavour = draw(st.sampled_from(["open", "proprietary"]))
    s = s.replace({"driver.kernel_flavour": flavour, "host.user_is_root": draw(st.booleans())})
    s = s.replace({"host.provider": draw(st.sampled_from([ABSENT, "runpod", "vast", "lambda"]))})
    for breakage in draw(st.lists(st.sampled_from(BREAKAGES), max_size=2, unique=True)):
        s = s.replace(breakage(s))
    return s


def _with_torch(draw: DrawFn, s: Snapshot) -> Snapshot:
    kind = draw(st.sampled_from(["cuda"] * 6 + ["cpu", "none"]))
    rest = tuple(d for d in s.python.distributions if d.name in ("numpy", "pip"))  # type: ignore[union-attr]
    if kind == "none":
        return s.replace(
            {
                "torch": Torch(version=ABSENT),
                "torch_run": TorchRun(),
                "python.distributions": rest,
                "python.patient.torch_version": ABSENT,
            }
        )
    site = str(s.python.patient.site_packages[0])  # type: ignore[index]
    if kind == "cpu":
        version, build = draw(st.sampled_from(_RELEASES)).torch, None
    else:
        build = draw(st.sampled_from(_BUILDS))
        version = build.torch
    dists = [Distribution(name="torch", version=version, location=site, installer="pip", requires=())]
    for expected in matrix().companions(version):
        if expected.package in ("torchvision", "torchaudio") and draw(st.booleans()):
            dists.append(Distribution(name=expected.package, version=expected.version, location=site, installer="pip"))
    tag = build.tag if build else "cpu"
    changes: dict[str, Any] = {
        "python.distributions": (*dists, *rest),
        "python.patient.torch_version": f"{version}+{tag}",
        "torch.version": f"{version}+{tag}",
        "torch.requires": (),
        "torch.requires_python": NOT_ASKED,
        "torch.build": "cuda" if build else "cpu",
        "torch.cuda": tag_cuda(build.tag) if build else ABSENT,
        "torch.sass": build.sass if build else (),
        "torch.ptx": build.ptx if build and not build.ptx_unknown else (),
        "torch.arch_text": tuple("sm_" + cc.replace(".", "") for cc in build.sass) if build else (),
        "torch.cudnn_bundled": NOT_ASKED,
        "torch.nccl_bundled": NOT_ASKED,
        "torch_run": TorchRun(),
    }
    return s.replace(changes)


def _uvm_gone(s: Snapshot) -> dict[str, Any]:
    nodes = tuple(n for n in s.driver.device_nodes if n.kind != "uvm")  # type: ignore[union-attr]
    return {"driver.device_nodes": nodes, "driver.cu_init": 999, "driver.modules": ("nvidia",), **_cuda_dead()}


def _masked(s: Snapshot) -> dict[str, Any]:
    return {"host.environment": (EnvVar("CUDA_VISIBLE_DEVICES", ""),), "driver.cu_init": 100, **_cuda_dead()}


def _mismatch(s: Snapshot) -> dict[str, Any]:
    newer = "575.64.03" if s.driver.nvml_library_version != "575.64.03" else "570.211.01"
    return {
        "driver.nvml_library_version": newer,
        "driver.libcuda_version": newer,
        "driver.nvml_init": 18,
        "driver.libcuda_path": f"/usr/lib/x86_64-linux-gnu/libcuda.so.{newer}",
        "driver.nvml_library_path": f"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.{newer}",
        "driver.nvml_driver_version": Missing("error", "NVML 18"),
        "driver.nvml_cuda_version": Missing("error", "NVML 18"),
        "driver.nvml_gpu_count": Missing("error", "NVML 18"),
        "driver.cu_init": 803,
        "gpus": Missing("error", "NVML 18"),
        **_cuda_dead(),
    }


def _stub(s: Snapshot) -> dict[str, Any]:
    path = "/usr/local/cuda/lib64/stubs/libcuda.so"
    return {
        "driver.libcuda_stub": True,
        "driver.libcuda_path": path,
        "driver.libcuda_version": ABSENT,
        "driver.cu_init": 34,
        "driver.cuda_version": ABSENT,
        "cuda.stub_directories": ("/usr/local/cuda/lib64/stubs",),
        **_cuda_dead(),
    }


def _not_loaded(s: Snapshot) -> dict[str, Any]:
    error = Missing("error", "NVML 9")
    return {
        "driver.kernel_version": ABSENT,
        "driver.kernel_flavour": ABSENT,
        "driver.modules": (),
        "driver.device_nodes": (),
        "driver.proc_gpus": ABSENT,
        "driver.nvml_init": 9,
        "driver.nvml_driver_version": error,
        "driver.nvml_cuda_version": error,
        "driver.nvml_gpu_count": error,
        "driver.cu_init": 100,
        "gpus": error,
        **_cuda_dead(),
    }


def _denied(s: Snapshot) -> dict[str, Any]:
    from msgspec.structs import replace

    nodes = tuple(replace(n, readable=False, writable=False, mode=0o600) for n in s.driver.device_nodes)  # type: ignore[union-attr]
    error = Missing("error", "NVML 4")
    return {
        "driver.device_nodes": nodes,
        "driver.nvml_init": 4,
        "driver.cu_init": 100,
        "gpus": error,
        "driver.nvml_driver_version": error,
        "driver.nvml_cuda_version": error,
        "driver.nvml_gpu_count": error,
        **_cuda_dead(),
    }


def _full_disk(s: Snapshot) -> dict[str, Any]:
    from doctor.snapshot import Disk

    return {"host.disks": (Disk(role="environment", path="/opt/venv", free_mib=900),)}


def _two_torches(s: Snapshot) -> dict[str, Any]:
    dists = s.python.distributions
    assert isinstance(dists, tuple)
    location = "/opt/venv/lib/python3.11/site-packages"
    return {"python.distributions": (*dists, Distribution(name="torch", version="2.1.0", location=location))}


def _cuda_dead() -> dict[str, Any]:
    """torch was not asked; libcuda lists no device."""
    return {"driver.cuda_devices": Missing("error", "cuInit failed"), "torch_run": TorchRun()}


BREAKAGES = (_uvm_gone, _masked, _mismatch, _stub, _not_loaded, _denied, _full_disk, _two_torches)
