"""CUDA does not start: cuInit answers an error.

What is wrong: cuInit is the first call of every CUDA program. The answer is an error, so no program can use the GPU.

How it shows: `torch.cuda.is_available()` False; `Unexpected error from cudaGetDeviceCount()` with the code.

Why it happens: most often one of the causes that gpudoctor names in its other findings; this one is then a
consequence. Alone it means that the code is known and its cause is not.

How to fix it: as for the code, below; then restart the container or the host, which clears most states of the driver.

Source: CUDA Driver API, CUresult.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Policy, Skip
from ..fixes.driver import reload_module
from ..fixes.place import container_kind
from ..snapshot import Snapshot, known, need
from ._seen import ALL_CAUSES, absent

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="CUDA does not start",
    severity="critical",
    layer="libraries",
    tags=("cuda",),
    downstream_of=tuple(i for i in ALL_CAUSES if i != "exclusive-compute-mode"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails where cuInit answers anything but 0."""
    if absent(s.driver.libcuda_path) and absent(s.driver.cu_init):
        raise Skip("no libcuda is found")
    code = need("driver.cu_init", s.driver.cu_init)
    if code == 0:
        return
    row = m.cuda_error(code)
    name = known(s.driver.cu_init_name) or (row.driver_name if row else "")
    title = f"CUDA does not start: cuInit answers {code}{f' ({name})' if name else ''}"
    detail = f"{row.message[:1].upper()}{row.message[1:]}." if row and row.message else ""
    if row and row.causes:
        detail += f" Usual causes: {row.causes}."
    if row and row.first_fix:
        detail += f" What to try: {row.first_fix}."
    if container_kind(s):
        detail += " Try the same image on another host: it tells whether the host or the image is at fault."
    yield CHECK.fail(title, detail.strip(), facts={"cu_init": code, "name": name}, fixes=reload_module(s))
