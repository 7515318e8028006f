"""Words of a collector or a file as they are stored and shown: without users, addresses and secrets, as in a report."""

from __future__ import annotations

import os
from functools import lru_cache

from ...findings import Policy
from ...snapshot.redact import Redactor

_KEPT = 8192
_MOST_READ = 4096
"""Characters of a sentence."""


class OutsideWords:
    """Masks that agree in a whole database; names of nodes stay."""

    def __init__(self) -> None:
        self._masks = Redactor()
        self.text = lru_cache(_KEPT)(self._text)
        """A sentence as it is stored, of a long one its beginning."""

    def _text(self, text: str) -> str:
        return self._masks.pasted(text[:_MOST_READ])

    def path(self, path: str) -> str:
        """A file's path: its folder is masked, its own name may be a node's."""
        folder, name = os.path.split(path)
        return os.path.join(self.text(folder), name) if folder else name  # noqa: PTH118


def is_masked(policy: Policy) -> bool:
    """Whether a policy's configuration paths are free of user names; older versions did not mask them."""
    found = policy.found
    return _names_nobody(policy.config, *((found.path, *found.ignored) if found else ()))


@lru_cache(maxsize=1024)
def _names_nobody(*texts: str) -> bool:
    masks = Redactor()
    return all(not text or masks.pasted(text) == text for text in texts)
