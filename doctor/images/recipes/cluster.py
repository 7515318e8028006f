"""What clusters do by themselves: images without a GPU of their own, mounts of controllers, resources by other names.

Rows of cluster.json: what they are about, a pattern, what it means, the source.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pkgutil import get_data


@cache
def _rows(what: str) -> tuple[re.Pattern[str], ...]:
    rows = json.loads(get_data(__package__, "cluster.json") or b"[]")
    return tuple(re.compile(row["pattern"]) for row in rows if row["what"] == what)


def is_known(what: str, text: str) -> bool:
    """Whether a row of this kind (image, replica, shm, resource, part, folder) is about it."""
    return any(pattern.search(text) for pattern in _rows(what))
