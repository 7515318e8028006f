"""Other torch builds, other GPUs' answers: every fact that one cause changes, for the tests of checks about torch."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from doctor.snapshot import ABSENT, Distribution, Missing, Snapshot, known

from .judging import matrix

SITE = "/opt/venv/lib/python3.11/site-packages"
NVIDIA_13 = {
    "nvidia-cublas": "13.1.0.3", "nvidia-cuda-runtime": "13.0.96", "nvidia-cudnn-cu13": "9.19.0.56",
    "nvidia-nccl-cu13": "2.28.9", "nvidia-nvjitlink": "13.0.88", "nvidia-cusparse": "12.6.3.3",
}  # fmt: skip
LINUX = 'platform_system == "Linux"'


def with_torch(s: Snapshot, version: str, tag: str, platform: str = "linux_x86_64", **facts: Any) -> Snapshot:
    """The machine with another published torch build, its architectures those of the matrix, torch asked and well."""
    row = matrix().torch_build(version, tag, platform)
    assert row is not None, f"no build {version}+{tag}"
    digits = tag[2:]
    cuda = f"{digits[:-1]}.{digits[-1]}"
    text = tuple("sm_" + cc.replace(".", "") for cc in row.sass) + tuple(
        "compute_" + cc.replace(".", "") for cc in row.ptx
    )
    release = matrix().torch_release(version).release
    cudnn = (release.cudnn_per_build.get(tag) or release.cudnn) if release else ""
    wheels = NVIDIA_13 if tag >= "cu130" else {}
    requires = tuple(f"{name}=={number}; {LINUX}" for name, number in wheels.items())
    fits = {e.package: e for e in matrix().companions(version)}
    put = [Distribution(name="torch", version=version, location=SITE, installer="pip", requires=requires)]
    for name in ("torchvision", "torchaudio"):
        if name in fits:
            put.append(Distribution(name=name, version=fits[name].version, location=SITE, requires=()))
    put += [Distribution(name=name, version=number, location=SITE) for name, number in wheels.items()]
    kept = [d for d in known(s.python.distributions) or () if not d.name.startswith(("nvidia-", "torch", "triton"))]
    short = ".".join((wheels.get("nvidia-cudnn-cu13") or cudnn).split(".")[:3]) or "9.1.0"
    changed = s.replace(
        {
            "torch.version": f"{version}+{tag}",
            "torch.cuda": cuda,
            "torch.build": "cuda",
            "torch.sass": row.sass,
            "torch.ptx": row.ptx,
            "torch.arch_text": text,
            "torch.requires": requires,
            "torch.cudnn_bundled": short,
            "torch_run.version": f"{version}+{tag}",
            "torch_run.cuda": cuda,
            "torch_run.arch_list": text,
            "torch_run.cudnn_version": short,
            "python.distributions": (*put, *kept),
            "python.patient.torch_version": f"{version}+{tag}",
        }
    )
    return changed.replace(facts)


def without_torch(s: Snapshot) -> Snapshot:
    """No torch and nothing that came with it."""
    left = tuple(
        d for d in known(s.python.distributions) or () if not d.name.startswith(("torch", "nvidia-", "triton"))
    )
    return not_asked(
        s.replace(
            {
                **{f"torch.{name}": Missing("not-asked") for name in s.torch.__struct_fields__},
                "torch.version": ABSENT,
                "python.distributions": left,
                "python.patient.torch_version": ABSENT,
            }
        )
    )


def with_other_build(s: Snapshot, kind: str = "cpu", local: str = "cpu") -> Snapshot:
    """The same torch release built for something other than CUDA: no CUDA code, no CUDA libraries, no answers."""
    left = tuple(
        replace(d, version=f"2.8.0+{local}", requires=()) if d.name == "torch" else d
        for d in known(s.python.distributions) or ()
        if not d.name.startswith("nvidia-")
    )
    return s.replace(
        {
            "torch.version": f"2.8.0+{local}",
            "torch.build": kind,
            "torch.cuda": ABSENT,
            "torch.hip": "6.4.43482" if kind == "rocm" else ABSENT,
            "torch.sass": (),
            "torch.ptx": (),
            "torch.arch_text": (),
            "torch.requires": (),
            "torch.linked_libraries": (),
            "torch.cudnn_bundled": ABSENT,
            "torch.cudnn_path": ABSENT,
            "torch.nccl_bundled": ABSENT,
            "torch.nccl_path": ABSENT,
            "python.distributions": left,
            "python.patient.torch_version": f"2.8.0+{local}",
            "torch_run.version": f"2.8.0+{local}",
            "torch_run.cuda": ABSENT,
            "torch_run.cuda_available": False,
            "torch_run.device_count": 0,
            "torch_run.arch_list": (),
            "torch_run.cudnn_version": ABSENT,
            "torch_run.nccl_version": ABSENT,
            "torch_run.first_call_code": ABSENT,
            "torch_run.first_call_error": "Torch not compiled with CUDA enabled",
            "torch_run.kernel_ran": ABSENT,
            "torch_run.device_names": (),
            "torch_run.device_capabilities": (),
        }
    )


def not_asked(s: Snapshot) -> Snapshot:
    """torch was not imported (`--no-import`)."""
    fields = {f"torch_run.{name}": Missing("not-asked") for name in s.torch_run.__struct_fields__ if name != "warnings"}
    return s.replace({**fields, "torch_run.warnings": ()})


def unusable(s: Snapshot, code: int, error: str) -> Snapshot:
    """torch imports, and its first CUDA call ends in this error."""
    return s.replace(
        {
            "torch_run.cuda_available": False,
            "torch_run.device_count": 0,
            "torch_run.first_call_code": code,
            "torch_run.first_call_error": error,
            "torch_run.kernel_ran": Missing("error", error),
            "torch_run.kernel_error": error,
            "torch_run.device_names": (),
            "torch_run.device_capabilities": (),
        }
    )


def no_kernel_image(s: Snapshot) -> Snapshot:
    """Devices are counted, and no kernel runs on them: what a GPU without code in the build gives."""
    error = "CUDA error: no kernel image is available for execution on the device"
    return s.replace({"torch_run.kernel_ran": False, "torch_run.kernel_error": error})


def import_fails(s: Snapshot, error: str, fault: str = "raised") -> Snapshot:
    """`import torch` ends in this error: nothing else could be asked."""
    return not_asked(s).replace(
        {"torch_run.imported": False, "torch_run.import_error": error, "torch_run.import_fault": fault}
    )


def with_version(s: Snapshot, **versions: str) -> Snapshot:
    """Installed wheels in other versions (underscores for dashes)."""
    wanted = {name.replace("_", "-"): version for name, version in versions.items()}
    changed = tuple(
        replace(d, version=wanted.pop(d.name)) if d.name in wanted else d for d in known(s.python.distributions) or ()
    )
    added = tuple(Distribution(name=name, version=version, location=SITE) for name, version in wanted.items())
    return s.replace({"python.distributions": (*changed, *added)})
