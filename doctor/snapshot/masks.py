"""What a mask looks like: a text that holds one is no command any more, whoever masked it."""

from __future__ import annotations

from collections.abc import Collection

from ..formats.lazy import lazy

_MASK = lazy(
    r"\*\*\*"  # a secret
    r"|(?<![\w-])(?:user|host|id|serial)-\d+(?!\w)|(?<!\w)mail-\d+@host\.invalid"
    r"|(?i:6d61736b6564(?!\w))|\b(?:MIG-GPU|MIG|GPU)-d0c[0-9a-f-]{0,32}(?![0-9a-f-])"  # a UUID, a beginning of none
    r"|(?<![\d.])(?:192\.0\.2|198\.51\.100|203\.0\.113|240\.\d{1,3}\.\d{1,3})\.\d{1,3}(?![\d.])|\bip-192-0-2-\d"
    r"|(?i:\b2001:db8::[0-9a-f])|\b(?:02:00:00:00|02-00-00-00|0200\.0000|0200:0000:0000)\b|\b(?:enx|wlx)02000000"
    r"|\b6964(?:0000[0-9a-f]{4}|0{40}[0-9a-f]{20})(?!\w)"  # a container
)


def holds_mask(text: str, names: Collection[str] = ()) -> bool:
    """Whether a text holds a mask of `redact`. `names`: of this machine, which may look like one (`user-1`)."""
    return any(found[0] not in names for found in _MASK.finditer(text))
