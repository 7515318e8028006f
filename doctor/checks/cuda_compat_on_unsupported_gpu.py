"""A forward-compatibility libcuda (cuda-compat) is loaded, but this GPU does not support it (CUDA error 804).

What is wrong: images whose CUDA is newer than the host's driver contain cuda-compat, a newer libcuda. It works on
data-center GPUs and some workstation boards; on GeForce and Titan boards, every CUDA call that uses it fails.

Symptoms: `Error 804: forward compatibility was attempted on non supported HW`, `is_available()` is False.

Why it happens: /usr/local/cuda/compat is on LD_LIBRARY_PATH or in the loader's configuration, or the container toolkit
enabled it for this image.

How to fix it: remove the compat folder from the path (the host's own libcuda is then used), and use an image or a torch
build with a CUDA version that the host's driver supports; or upgrade the host's driver. The CUDA version that
nvidia-smi shows is the highest that the driver supports, not what is installed.

Error 804 without a compat library means that the driver was upgraded without a reboot; see
driver-library-version-mismatch.

Source: docs.nvidia.com/deploy/cuda-compatibility, forward compatibility.
"""

from __future__ import annotations

from msgspec.structs import replace

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip
from ..fixes.compatible import compatible_torch
from ..fixes.driver import install_compatible, install_offered, offer
from ..fixes.libcuda import remove_compat
from ..snapshot import Gpu, Missing, NeedsFact, Snapshot, known, need
from ._code import serves_any
from ._seen import DRIVERLESS, NOT_GIVEN, absent, compat_in_use, first_cuda_code, real_libcudas

CHECK = Check(
    __name__,
    title="Forward compatibility on a GPU that does not support it",
    sound="Forward compatibility is not used on a GPU that does not support it",
    severity="critical",
    layer="libraries",
    tags=("cuda", "compat"),
    downstream_of=(*DRIVERLESS, *NOT_GIVEN, "driver-library-version-mismatch"),
)

CUDA_COMPAT_NOT_SUPPORTED = 804
_DEFAULT = "/usr/local/cuda/compat/libcuda.so.1"


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """CUDA's code 804 with a compat library; or, if CUDA was not asked, one that loads and the GPU's brand."""
    code, path = first_cuda_code(s), compat_in_use(s)
    predicted = False
    if code != CUDA_COMPAT_NOT_SUPPORTED:
        if code is not None:
            return  # CUDA answered something else
        if not path:
            if absent(s.driver.libcuda_path):
                raise Skip("libcuda was not found", without="gpu")
            need("driver.libcuda_path", s.driver.libcuda_path)
            return
        predicted = any(refuses(s, m, path, gpu) for gpu in need("gpus", s.gpus))
        if not predicted:
            raise NeedsFact(
                "driver.cu_init",
                Missing("not-asked", "gpudoctor does not know whether this GPU supports the compat library"),
            )
    elif not path and not isinstance(s.driver.libcuda_path, Missing):
        raise Skip("error 804 without a compat library: see driver-library-version-mismatch")
    elif not path and known(s.container.kind) in (None, "none"):  # an updated driver under an old module says it too
        need("driver.libcuda_path", s.driver.libcuda_path)
    name = next((n for g in known(s.gpus) or () if (n := known(g.name))), "this GPU")
    real = next(iter(real_libcudas(s)), None)
    verb = "will return" if predicted else "returns"
    yield CHECK.fail(
        f"Forward compatibility (cuda-compat) is not supported on {name}",
        f"The loader picks {path or 'a forward-compatibility libcuda'}; with it, CUDA {verb} error 804 on this GPU. "
        "Without it, the host driver's own libcuda is used.",
        facts={"cuda_code": code, "compat_path": path, "driver": known(s.driver.version)},
        subject=path,
        direct=not predicted,
        fixes=(*(_with_torch(s, m, fix) for fix in remove_compat(s, path or _DEFAULT, real)), *_newer(s, m, p, path)),
    )


def _newer(s: Snapshot, m: Matrix, p: Policy, path: str) -> tuple[Fix, ...]:
    """A driver that reports the compat library's CUDA itself, if torch has code for a GPU here."""
    listed = next((c for c in known(s.container.compat) or () if c.path == path), None)
    cuda = (known(listed.cuda_version) if listed else None) or known(s.torch.cuda) or ""
    if not serves_any(s, m):
        return ()
    if not cuda and known(s.driver.version) is None:
        return install_compatible(s, m, p.judged_on, newer=True)
    have = (numbers(known(s.driver.version)) or (0,))[0]
    newer = [row for row in m.drivers if row.branch > have and numbers(row.cuda) >= numbers(cuda)]
    floor = min((row.branch for row in newer), default=9999)
    return install_offered(s, offer(s, m, floor, p.judged_on))


def _with_torch(s: Snapshot, m: Matrix, fix: Fix) -> Fix:
    """Without the compat library the host driver must suffice: if too old for this torch, add a suitable build."""
    driver, cuda = known(s.driver.version), known(s.torch.cuda)
    if not driver or not cuda or m.driver_for_cuda(driver, cuda).grade not in ("needs-forward-compat", "impossible"):
        return fix
    after = s
    for step in fix.steps:
        after = after.replace(step.changes)
    torch = compatible_torch(after, m)
    if torch is None:
        return fix
    title = f"{fix.title}, and {torch.title[0].lower()}{torch.title[1:]}, which this driver supports"
    note = "\n".join(filter(None, (fix.note, torch.note)))
    return replace(fix, title=title, steps=(*fix.steps, *torch.steps), note=note)


def refuses(s: Snapshot, m: Matrix, path: str, gpu: Gpu) -> bool:
    """Whether the matrix or the library's own list says that this GPU is not eligible."""
    listed = next((c for c in known(s.container.compat) or () if c.path == path), None)
    grade = m.forward_compat(
        (known(listed.cuda_version) if listed else None) or "",
        known(s.driver.version) or "",
        gpu_name=known(gpu.name),
        brand_id=known(gpu.brand_id),
        note_hosts=known(listed.host_branches) if listed else None,
        note_brands=known(listed.brand_ids) if listed else None,
    )
    return grade.grade == "not-on-this-gpu"
