"""The GPU is in a driver mode (TCC) that WSL cannot use.

What is wrong: WSL shares a GPU through Windows' driver model (WDDM, MCDM). A card in TCC mode is outside that model.

How it shows: nvidia-smi in Windows lists the card as TCC; inside WSL `No devices were found`, or `Unable to determine
the device handle`.

Why it happens: workstation and data-center cards are often set to TCC.

How to fix it: in Windows, as administrator, run `nvidia-smi -g N -dm 0` (WDDM), then `wsl --shutdown`.

Judged from the words of a pasted text: the mode cannot be seen inside WSL.

Source: CUDA on WSL user guide, known limitations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Policy, Skip, told
from ..snapshot import Snapshot

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="The GPU's driver mode does not fit WSL",
    sound="The GPU's driver mode fits WSL",
    severity="critical",
    layer="driver",
    tags=("wsl",),
    downstream_of=("wsl-version-without-gpu",),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Decided by the words of a text; skipped where no text says anything of it."""
    found = list(told(CHECK, s))
    if not found:
        raise Skip("only the words of a log or error show this")
    yield from found
