"""torch for Jetson boards."""

from __future__ import annotations

from typing import Any

from ..findings import Fix, Step
from ..snapshot import Missing, Snapshot
from .where import RECHECK, recheck_run

_JETPACK_6 = "nvcr.io/nvidia/pytorch:25.06-py3-igpu"


def jetson_build(s: Snapshot) -> Fix:
    """NVIDIA's own image or wheel for the board's JetPack."""
    changes: dict[str, Any] = {f"torch.{name}": RECHECK for name in s.torch.__struct_fields__}
    distributions: Any = Missing("recheck", "another environment")
    changes.update(recheck_run(s), **{"python.distributions": distributions, "python.extensions": distributions})
    step = Step(
        text="Start NVIDIA's image with torch for the board's JetPack: this one is for JetPack 6 (R36 in "
        "/etc/nv_tegra_release). For JetPack 5 (R35) take nvcr.io/nvidia/l4t-pytorch, for JetPack 7 (R38) "
        "nvcr.io/nvidia/pytorch, in a tag of its time.",
        command=f"docker run -it --rm --runtime nvidia {_JETPACK_6}",
        where="container-start",
        changes=changes,
    )
    return Fix(
        id="jetson-build",
        title="Use NVIDIA's torch for Jetson",
        steps=(step,),
        note="Or install the wheel that NVIDIA publishes for the JetPack release, into a Python of the version that it "
        "is built for (docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform).",
    )
