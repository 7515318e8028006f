"""The narrow door: secrets alone are masked, for the user's own terminal (DESIGN rule 10)."""

from __future__ import annotations

from typing import Any, TypeVar

from .mask_secrets import mask_secrets
from .redact import Redactor
from .redact_fields import NEVER, SECRETS, is_version
from .spans import GONE

T = TypeVar("T")


class _Secrets(Redactor):
    """Masks secrets alone: names and addresses stay."""

    def text(self, text: str, key: str = "") -> str:
        if key.isupper() and any(word in key for word in SECRETS):
            return GONE
        if key in NEVER or is_version(key):
            return text
        if key == "command" and mask_secrets(text) != text:
            text = self.typed.with_variables(text)
        return mask_secrets(text)


def without_secrets(value: T, of: Any) -> T:
    """A Struct, list, dict or text without its secrets, for the user's own terminal. `of`: the facts it speaks of."""
    masks = _Secrets()
    masks.learn(of)
    return masks.value(value)
