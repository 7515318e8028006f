"""The image's CUDA is newer than this driver supports.

What is wrong: the container image was built for a CUDA version (CUDA_VERSION) that this driver does not support, not
even through minor-version compatibility.

Symptoms: programs built in the image fail with `CUDA driver version is insufficient for CUDA runtime version` (35).
PyTorch installed from a wheel ships its own CUDA and may still work.

Why it happens: the image was updated, but the host's driver was not.

How to fix it: use a host with a newer driver, an image with an older CUDA, or, on data-center GPUs, a
forward-compatibility package (cuda-compat). If the driver supports the same CUDA major version, this is only a note,
because minor-version compatibility applies.

Source: CUDA Compatibility guide, docs.nvidia.com/deploy/cuda-compatibility.
"""

from __future__ import annotations

from compat_matrix.versions import minor

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.images import newer_driver_for, older_image
from ..fixes.machine import driver_platform
from ..fixes.where import container_kind
from ..snapshot import Missing, NeedsFact, Snapshot, known, need
from ._seen import DRIVERLESS, compat_in_use

CHECK = Check(
    __name__,
    title="The image's CUDA is newer than the driver",
    sound="The driver, or cuda-compat, supports the image's CUDA version",
    severity="warning",
    layer="container",
    tags=("container", "driver", "cuda"),
    downstream_of=("driver-too-old-for-cuda-build", "container-require-cuda-unsatisfied", *DRIVERLESS),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if the driver is older than the image's CUDA major version needs and nothing shows that CUDA works."""
    need("container.kind", s.container.kind)
    image = need("container.image_cuda", s.container.image_cuda)
    if not container_kind(s) or not image:
        raise Skip("not in a container image that states its CUDA version")
    driver = need("driver.kernel_version", s.driver.version)
    have, want = minor(known(s.driver.cuda_version)), minor(image)
    if want and have and have >= want:
        return  # judged by the loaded libcuda, which may be a forward-compatibility one
    grade = m.driver_for_cuda(driver, image, driver_platform(s))
    facts = {"image_cuda": image, "driver": driver, "grade": grade.grade, "needed_driver": grade.floor_minor}
    if grade.grade == "unknown":
        raise NeedsFact("matrix", Missing("absent", grade.reason))
    if grade.grade == "native":
        return
    if grade.grade == "minor-version":
        title = f"The image is built for CUDA {image}; driver {driver} runs it through minor-version compatibility"
        yield CHECK.remark(title, facts=facts)
        return
    works = s.torch_run.cuda_available is True or bool(compat_in_use(s))
    make = CHECK.remark if works else CHECK.warn
    yield make(
        f"The image is built for CUDA {image}, but driver {driver} is too old for it",
        f"{grade.reason[0].upper()}{grade.reason[1:]}.",
        facts=facts,
        direct=False,
        fixes=(*newer_driver_for(s, m, image), older_image(s, grade.cuda_reported)),
    )
