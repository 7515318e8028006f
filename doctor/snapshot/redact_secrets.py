"""The narrow door: secrets alone are masked, for the user's own terminal (DESIGN rule 10)."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from .mask_secrets import find_secrets, mask_secrets
from .mask_together import BETWEEN, masked_together
from .masks import holds_mask
from .redact import LocalNames, Redactor
from .redact_fields import NEVER, SECRETS, is_version, texts_of
from .spans import GONE, Scan

T = TypeVar("T")


class _Secrets(Redactor):
    """Masks secrets alone: names and addresses stay."""

    def learn(self, value: Any) -> None:
        for key, text in texts_of(value, ""):
            self.typed.learn(key, text)

    def prepare(self, value: Any) -> None:
        texts = list(dict.fromkeys(text for _, text in texts_of(value, "")))
        self._plain.update(masked_together(texts, find_secrets(Scan(BETWEEN.join(texts)))))

    def key(self, text: str) -> str:
        return text

    def text(self, text: str, key: str = "") -> str:
        if key.isupper() and any(word in key for word in SECRETS):
            return GONE
        if key in NEVER or is_version(key):
            return text
        if key == "command" and holds_mask(self._without(text), self.own_names):  # a secret, or masked before
            text = self.typed.with_variables(self.typed.with_home(self.typed.with_uuids(text)))
        return self._without(text)

    def _without(self, text: str) -> str:
        return self._plain[text] if text in self._plain else mask_secrets(text)


def without_secrets(value: T, of: Any, names: LocalNames = LocalNames()) -> T:  # noqa: B008
    """A Struct, list, dict or text without its secrets, for the user's own terminal. `of`: the facts it speaks of."""
    masks = _secrets(of, names)
    masks.prepare(value)
    return masks.value(value)


def with_own_names(masked: T, report: T, names: LocalNames) -> T:
    """A masked report with the true names in what its reader types and in its titles, for the user's own terminal.

    `report`: the same before it was masked.
    """
    true: Any = report
    shown: Any = masked
    masks = _secrets(true.snapshot, names)
    masks.prepare([[(f.title, f.fixes) for f in (*true.findings, *true.remarks)], [c.words for c in true.checks]])
    because = masks.value(true.snapshot.python.chosen_because)
    return replace(  # type: ignore[no-any-return]
        shown,
        snapshot=shown.snapshot.replace({"python.chosen_because": because}),
        findings=_named(shown.findings, true.findings, masks),
        remarks=_named(shown.remarks, true.remarks, masks),
        checks=tuple(replace(a, words=masks.text(b.words)) for a, b in zip(shown.checks, true.checks, strict=True)),
    )


def _named(masked: Any, true: Any, masks: Redactor) -> tuple[Any, ...]:
    """Findings with their titles and fixes as they are, but for secrets."""
    pairs = zip(masked, true, strict=True)
    return tuple(replace(a, title=masks.text(b.title), fixes=masks.value(b.fixes)) for a, b in pairs)


def _secrets(of: Any, names: LocalNames) -> _Secrets:
    masks = _Secrets()
    masks.own_names = names.user, names.host
    masks.type_for(of)
    masks.learn(of)
    return masks
