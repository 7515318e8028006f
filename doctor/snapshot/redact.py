"""The one door before anything is written (DESIGN rule 10): values are masked, keys, ids and versions never.

Masks are stable pseudonyms within a report: the same value always gets the same mask, a path's beginning stays its
beginning, a GPU UUID stays a UUID. A redacted Snapshot is therefore judged exactly like the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from .fact import Missing
from .mask_addresses import find_addresses, find_ipv4, ipv4_mask
from .mask_names import Names
from .mask_secrets import find_secrets, mask_secrets
from .mask_together import BETWEEN, masked_together
from .mask_uuids import Uuids
from .masks import holds_mask
from .redact_fields import (
    COMMANDS,
    DEVICE_LISTS,
    HOST_VARIABLES,
    IDENTITIES,
    IDENTITY,
    NEVER,
    NO_TEXT,
    ONLY_SECRETS,
    OURS,
    PRODUCTS,
    SECRETS,
    SERIALS,
    USER_VARIABLES,
    is_version,
    label_of,
    texts_of,
)
from .spans import GONE, Scan, Span, replaced
from .typed import Typed

T = TypeVar("T")

_HEAD, _LONG = 5000, 1000
NO_COMMAND = "The command is omitted because it contains a masked name"


class LocalNames(Struct, frozen=True):
    """Names of the machine that was looked at; empty if they are not known (they are then learned from paths)."""

    user: str = ""
    host: str = ""
    home: str = ""


class Redactor:
    """Masks of one report or recording. `learn` everything first, then `value` or `text`."""

    def __init__(self, names: LocalNames = LocalNames()) -> None:  # noqa: B008
        self.names = Names()
        self.uuids = Uuids()
        self._ipv4: dict[str, str] = {}
        self._versions: set[str] = set()
        self._numbers: dict[str, dict[str, int]] = {}
        self._plain: dict[str, str] = {}
        self._learned: list[str] = []
        self._last: tuple[str, Scan] | None = None
        self._cache: dict[str, str] = {}
        self.own_names = (names.user, names.host)
        if names.user and names.user != "root":
            self.names.user(names.user)
        if names.host:
            self.names.host(names.host)
        if names.home not in ("", "/", "/root"):
            self.names.home(names.home)
        self.typed = Typed(names.home)

    def type_for(self, snapshot: Any) -> None:
        """Write commands for who repairs this machine: the home folder of its environment is `~` to them."""
        if hasattr(snapshot, "python"):
            self.typed.know(snapshot)

    def learn(self, value: Any) -> None:
        """Take note of every name, UUID and address in a Struct, list, dict or text."""
        late: list[str] = []
        texts: dict[str, None] = {}
        others: dict[str, None] = {}
        for key, text in texts_of(value, ""):
            self.typed.learn(key, text)
            if is_version(key):
                self._versions.add(text)
                continue
            if "ersion" in text:
                self._versions.update(re.findall(r"[Vv]ersion\W{1,5}(\d[\d.]+)", text[:_HEAD]))
            if key in ONLY_SECRETS:
                self._versions.update(re.findall(r"[=<>~]\s*([\d.]+)", text))
            if key in NEVER or key in ONLY_SECRETS:
                others[text] = None
                continue
            if key in DEVICE_LISTS:
                late.append(text)
            elif key in USER_VARIABLES and text:
                self.names.user(text)
            elif key in HOST_VARIABLES and not re.fullmatch(r"[\d.:]*", text):
                self.names.host(text)
            elif key in SERIALS and len(text) >= 4:
                self.names.number(text, self._number)
            texts[text] = None
        self._cache.clear()
        self.uuids.learn(Scan(BETWEEN.join(others)))
        scan = self._scan(BETWEEN.join(texts))
        self._learned = list(texts)
        self.uuids.learn(scan)
        self.names.learn(scan, self._number)
        for text in late:
            self.uuids.learn_beginnings(text)
        for found in find_ipv4(scan):
            address = found.mask
            if address not in self._versions and address not in self._ipv4:
                self._ipv4[address] = ipv4_mask(len(self._ipv4) + 1)

    def prepare(self, value: Any) -> None:
        """Look at all texts of a value as one, before `value`: most of them hold nothing to mask."""
        plain: dict[str, None] = {}
        texts: dict[str, None] = {}
        for key, text in texts_of(value, ""):
            if key in ONLY_SECRETS:
                plain[text] = None
            elif key not in NEVER and not is_version(key):
                texts[text] = None
        self._plain.update(masked_together(list(plain), find_secrets(Scan(BETWEEN.join(plain)))))
        if self._learned and self._last:
            self._cache.update(masked_together(self._learned, self._spans(self._last[1])))
            self._learned = []
        rest = [text for text in texts if text not in self._cache]
        self._cache.update(masked_together(rest, self._spans(Scan(BETWEEN.join(rest)))))

    def _scan(self, text: str) -> Scan:
        """A long text is read once."""
        if self._last is None or self._last[0] != text:
            self._last = text, Scan(text)
        return self._last[1]

    def _spans(self, scan: Scan) -> Iterator[Span]:
        yield from find_secrets(scan)
        yield from self.uuids.find(scan)
        yield from find_addresses(scan, self._number)
        if self._ipv4:
            yield from (span._replace(mask=self._ipv4.get(span.mask, span.mask)) for span in find_ipv4(scan))
        yield from self.names.find(scan, self._number)

    def text(self, text: str, key: str = "") -> str:
        """One text; `key` is the field or variable that it is the value of."""
        if not text or key in NEVER or is_version(key):
            return text
        if key.isupper() and any(word in key for word in SECRETS):
            return GONE
        if key in IDENTITIES or (key.isupper() and key.endswith(IDENTITY)):
            return text if re.fullmatch(r"id-\d+", text) else f"id-{self._number('id', text)}"
        if key in ONLY_SECRETS:
            return self._plain[text] if text in self._plain else mask_secrets(text)
        if key in COMMANDS:
            text = self.as_typed(text, key)
        elif key == "chosen_because":  # --python, and a path
            text = self.typed.with_home(text)
        if key in HOST_VARIABLES or key in USER_VARIABLES or key == "target":
            text = self.names.exact(text)
        if text not in self._cache:
            self._cache[text] = self._mask(text)
        return self._cache[text]

    def as_typed(self, text: str, key: str = "command") -> str:
        """A command with what a shell finds out when it runs, where a mask would stand."""
        if key == "note":  # paragraphs, and commands in rows that begin with two blanks
            rows = [
                self.as_typed(row) if row.startswith("  ") else self.typed.with_home(row) for row in text.split("\n")
            ]
            return "\n".join(rows)
        text = self.typed.with_home(self.typed.with_uuids(text))
        return self.typed.with_variables(text) if self._mask(text) != text else text

    def pasted(self, text: str) -> str:
        """A text that somebody pasted, masked as it came; its lines stay lines."""
        self.learn(text)
        return self._mask(text)

    def value(self, value: T, key: str = "") -> T:
        """The same Struct, list, dict or text with its values masked; an untouched part is returned as it is."""
        result: Any = value
        if isinstance(value, str):
            result = self.text(value, key)
        elif isinstance(value, Struct):
            result = self._struct(value)
        elif isinstance(value, (list, tuple)):
            items = [self.value(item, key) for item in value]
            if any(a is not b for a, b in zip(items, value, strict=True)):
                result = type(value)(items)
        elif isinstance(value, dict):
            result = {self.key(k) if isinstance(k, str) else k: self._item(item, k, value) for k, item in value.items()}
        return result  # type: ignore[no-any-return]

    def key(self, text: str) -> str:
        """The key of a dict, which may be a GPU's."""
        return self.uuids.text(text)

    def _item(self, item: Any, key: Any, line: dict[Any, Any]) -> Any:
        """The value of a dict, which may be a raw line: {"field": "uuid", "value": ...}, {"path": ..., "names": []}."""
        label, path = line.get("field"), line.get("path")
        if key == "value" and isinstance(label, str):
            if label.endswith("uuid") and isinstance(item, str) and re.fullmatch(r"[0-9a-f]{32}", item):
                return self.uuids.hexadecimal(item)
            return self.value(item, label)
        if key == "names" and isinstance(path, str) and isinstance(item, (list, tuple)):
            return [self.text(f"{path}/{name}").rpartition("/")[2] for name in item]
        if key == "name" and "gathered_at" in line:  # of a manifest: the machine's
            key = "target"
        return self.value(item, key if isinstance(key, str) else "")

    def _struct(self, value: Struct) -> Struct:
        changes = {}
        product = type(value).__name__ in PRODUCTS
        label = label_of(value)
        for name in value.__struct_fields__:
            old = getattr(value, name)
            kind = type(old)
            if kind in NO_TEXT or (kind is Missing and not old.detail) or not old:
                continue
            if name == "policy" and (masked := self._policy(old)) is not old:
                changes[name] = masked
            if name in OURS or (product and name in ("name", "model")):
                continue
            if name == "witnesses":  # its keys are paths of facts, not fields
                new: Any = {path: self.value(lines) for path, lines in old.items()}
                new = old if new == old else new
            else:
                new = self.value(old, label or name)
            if new is not old:
                changes[name] = new
        if "command" in value.__struct_fields__ or "note" in value.__struct_fields__:
            changes.update(self._without_masks(value, changes))
        return replace(value, **changes) if changes else value

    def _policy(self, policy: Any) -> Any:
        """A run's policy: the paths of its configuration may name a user, all else is the user's expectations."""
        found = getattr(policy, "found", None)
        spec = getattr(policy, "spec", ())
        if not found and not spec and not getattr(policy, "config", ""):
            return policy
        changes: dict[str, Any] = {"config": self.text(policy.config)}
        if spec:
            changes["spec"] = tuple(replace(line, file=self.text(line.file)) for line in spec)
        if found:
            changes["found"] = replace(found, path=self.text(found.path), ignored=self.value(found.ignored))
        return replace(policy, **changes)

    def _without_masks(self, value: Any, changes: dict[str, Any]) -> dict[str, Any]:
        """What is omitted of a step, its alternatives and a fix's note, since it could not be run: it holds a mask."""
        found: dict[str, Any] = {}
        before = getattr(value, "command", "")
        if before and holds_mask(changes.get("command", before), self.own_names):
            found["command"] = ""
            if hasattr(value, "possible_here"):
                text = changes.get("text", value.text).rstrip()
                where = "." if holds_mask(before) else "; to see it, use a terminal or --no-redact."
                found["text"] = f"{text} {NO_COMMAND}{where}".lstrip()
        others = changes.get("alternatives", getattr(value, "alternatives", ()))
        if not all(other.command for other in others):
            found["alternatives"] = tuple(other for other in others if other.command)
        note = changes.get("note", getattr(value, "note", ""))
        if holds_mask(note, self.own_names):
            found["note"] = self._note_without_masks(note)
        return found

    def _note_without_masks(self, note: str) -> str:
        """A fix's note without the commands that hold a mask, and without the words that lead to them."""
        rows: list[str] = []
        for row in note.split("\n"):
            if not row.startswith("  ") or not holds_mask(row, self.own_names):
                rows.append(row)
            elif rows and rows[-1].endswith(":"):
                rows.pop()
        return "\n".join(rows)

    def _mask(self, text: str) -> str:
        scan = self._scan(text) if len(text) > _LONG else Scan(text)
        return replaced(text, self._spans(scan))

    def _number(self, kind: str, original: str) -> int:
        of_kind = self._numbers.setdefault(kind, {})
        return of_kind.setdefault(original, len(of_kind) + 1)


def redact(value: T, names: LocalNames = LocalNames(), masks: Redactor | None = None) -> T:  # noqa: B008
    """A Snapshot or report with its values masked. In a report the Snapshot teaches what there is to mask.

    `masks`: of the text that it was read from, so that what is left is masked alike.
    """
    redactor = masks or Redactor(names)
    redactor.type_for(getattr(value, "snapshot", value))
    redactor.learn(getattr(value, "snapshot", value))
    redactor.prepare(value)
    return redactor.value(value)
