"""The PyTorch that came with this image has been replaced.

What is wrong: the image's own variables name one version of PyTorch, but a different one is installed. Images are
tested as a whole: their extensions (flash-attn, apex, Transformer Engine), NCCL and cuDNN match the image's PyTorch.

Symptoms: extensions fail with undefined symbols; the GPU is no longer used because a CPU build or a build for a
different CUDA version was installed; a requirements file that worked elsewhere breaks the image.

Why it happens: `pip install -r requirements.txt` with `torch` in it, or a package that depends on `torch` (torchvision,
xformers, vllm) and requires a different version.

How to fix it: start again from the image and install packages with a constraint that keeps its `torch`, or reinstall
the version that the image came with.

Source: the image's environment variables, compared with torch's version file.
"""

from __future__ import annotations

from typing import Any

from compat_matrix.versions import torch_version

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip, Step
from ..fixes.install import Install, pip_line, step
from ..fixes.where import RECHECK, container_kind, recheck_run
from ..snapshot import Snapshot, known, need
from ._torch import installed

CHECK = Check(
    __name__,
    title="The image's torch was replaced",
    sound="torch is the version that the image came with",
    severity="warning",
    layer="python",
    tags=("torch", "container"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns where the image states a torch version and another one is installed."""
    version = installed(s)
    stated = need("container.image_torch", s.container.image_torch)
    if stated is None:
        raise Skip("the image does not state a torch version")
    was, now = torch_version(stated), torch_version(version)
    if was is None or now is None or was.release[0] >= 20:  # 25.08 is an NVIDIA image's version, not torch's
        raise Skip(f"{stated!r} is not a torch version")
    same_tag = not was.local or not now.local or was.local == now.local or was.kind != "release"
    if was.release == now.release and was.kind == now.kind and same_tag:
        return
    source = known(s.container.image_torch_source)
    yield CHECK.warn(
        f"The image came with torch {stated}, but torch {version} is installed",
        f"The image's own version is from {source}." if source else "",
        facts={"image_torch": stated, "torch": version},
        fixes=_fixes(s, m, stated),
    )


def _fixes(s: Snapshot, m: Matrix, stated: str) -> tuple[Fix, ...]:
    parts = torch_version(stated)
    changes: dict[str, Any] = {
        **recheck_run(s), **{f"torch.{name}": RECHECK for name in s.torch.__struct_fields__},
        "torch.version": stated, "python.distributions": RECHECK, "python.patient.torch_version": stated,
    }  # fmt: skip
    found = []
    if parts and parts.kind == "release":
        index = m.index_url(parts.local) if parts.local else None
        request = Install(packages=(f"torch=={parts.base}",), index=index.url if index else "", all_again=True)
        put = step(s, request, "Reinstall the version that the image came with.", changes=changes)
        found.append(Fix(id="restore-image-torch", title=f"Install torch {stated} again", steps=(put,)))
    again = Install(packages=(), requirements="requirements.txt", constraint="/tmp/keep.txt")
    keep = "pip freeze | grep -E '^(torch|torchvision|torchaudio|triton|nvidia-)' > /tmp/keep.txt"
    kept = Step(
        text="In a fresh container from the image, save its versions as constraints and install your packages with "
        "them.",
        command=f"{keep} && {pip_line(again)}",
        where="container-start" if container_kind(s) else "shell",
        changes=changes,
    )
    found.append(Fix(id="fresh-image-with-constraint", title="Keep the image's torch with a constraint", steps=(kept,)))
    return tuple(found)
