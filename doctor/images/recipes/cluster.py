"""What clusters do on their own: images that need no GPU, mounts by controllers, resources with other names.

Rows of cluster.json: their subject, a pattern, its meaning, the source.
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
    """Whether a row of this kind (image, replica, shm, resource, part, folder) matches it."""
    return any(pattern.search(text) for pattern in _rows(what))
