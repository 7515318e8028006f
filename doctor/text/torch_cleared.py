"""If torch has code for every GPU in the text, it did not report missing code: the library that it called did."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ..judge import Examined
from ..snapshot import Snapshot
from .boards import is_jetson

NO_CODE = ("no-kernel-image", "invalid-device-function")
"""Messages of the CUDA runtime, which do not say whose code it looked for."""
_TORCH = frozenset(("torch-lacks-new-gpu-sm", "torch-dropped-old-gpu-sm"))
OF_NO_CODE = frozenset((*_TORCH, "extension-lacks-gpu-arch", "cpu-only-torch", "jetson-generic-wheel"))
"""Causes whose fix makes these messages outdated."""
_MEANS = "torch has code for this GPU, but the extension that was called has none"


def with_cleared_torch(s: Snapshot, judged: Iterable[Examined]) -> Snapshot:
    """The Snapshot, in which such a message decides that an extension lacks the code.

    Only where both checks of torch's code passed by the facts, and no message of the text decides anything.
    """
    if any(x.decides for x in s.symptoms) or not any(x.id in NO_CODE for x in s.symptoms) or is_jetson(s):
        return s
    if not {one.check.id for one in judged if one.status == "pass"} >= _TORCH:
        return s
    found = (replace(x, decides="extension-lacks-gpu-arch", means=_MEANS) if x.id in NO_CODE else x for x in s.symptoms)
    return s.replace({"symptoms": tuple(found)})
