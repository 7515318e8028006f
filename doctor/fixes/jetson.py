"""torch for Jetson boards."""

from __future__ import annotations

from typing import Any

from ..findings import Fix, Step
from ..snapshot import Missing, Snapshot, known
from .where import RECHECK, batch_job, container_kind, notebook, recheck_run

_JETPACK_6 = "nvcr.io/nvidia/pytorch:25.06-py3-igpu"


def jetson_build(s: Snapshot) -> Fix:
    """NVIDIA's own image or wheel for the board's JetPack."""
    changes: dict[str, Any] = {f"torch.{name}": RECHECK for name in s.torch.__struct_fields__}
    distributions: Any = Missing("recheck", "a different environment")
    changes.update(recheck_run(s), **{"python.distributions": distributions, "python.extensions": distributions})
    # Where a provider, a batch system or another engine starts containers, the image is named there.
    docker = container_kind(s) in ("", "docker") and not (known(s.host.provider) or notebook(s) or batch_job(s))
    step = Step(
        text=f"Start NVIDIA's torch image for the board's JetPack version: {_JETPACK_6} for JetPack 6 (R36 in "
        "/etc/nv_tegra_release), nvcr.io/nvidia/l4t-pytorch for JetPack 5 (R35), nvcr.io/nvidia/pytorch for JetPack 7 "
        "(R38). For 5 and 7, choose a tag that was released at about the same time as that JetPack version.",
        command=f"docker run -it --rm --runtime nvidia {_JETPACK_6}" if docker else "",
        where="container-start",
        changes=changes,
    )
    return Fix(
        id="jetson-build",
        title="Use NVIDIA's torch for Jetson",
        steps=(step,),
        note="Alternatively, install the wheel that NVIDIA publishes for the JetPack release, with the Python version "
        "that it is built for (docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform).",
    )
