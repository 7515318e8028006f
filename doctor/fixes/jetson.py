"""torch for Jetson boards."""

from __future__ import annotations

from typing import Any

from ..findings import Fix, Step
from ..snapshot import Missing, Snapshot
from .where import RECHECK, recheck_run


def jetson_build(s: Snapshot) -> Fix:
    """NVIDIA's own image or wheel for the board's JetPack."""
    changes: dict[str, Any] = {f"torch.{name}": RECHECK for name in s.torch.__struct_fields__}
    distributions: Any = Missing("recheck", "another environment")
    changes.update(recheck_run(s), **{"python.distributions": distributions, "python.extensions": distributions})
    step = Step(
        text="Start NVIDIA's image for Jetson (nvcr.io/nvidia/pytorch, tags that end in -igpu; for JetPack 5 "
        "nvcr.io/nvidia/l4t-pytorch), or install the wheel that NVIDIA publishes for the JetPack release on the board.",
        command="cat /etc/nv_tegra_release",
        where="container-start",
        changes=changes,
    )
    return Fix(
        id="jetson-build",
        title="Use NVIDIA's torch for Jetson",
        steps=(step,),
        note="The command shows the release (R35 is JetPack 5, R36 JetPack 6, R38 JetPack 7).",
    )
