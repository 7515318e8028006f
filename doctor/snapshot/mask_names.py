"""User names, host names and home folders.

Names are masked where names stand (a prompt, a home folder, `ssh`), as whole path parts, and as whole words in
sentences; a name that is also a word of the field, a common word or a well-known folder (root, nvidia, will ...) only
where names stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .find_names import find_names
from .name_kinds import FIELD_WORDS, WELL_KNOWN_HOMES, is_plain, named_kind
from .spans import NameSpan, Scan, Span, any_of, compiled, offsets

_PRIVATE_HOST = (
    r"://(?:[^/\s@]{0,300}@)?([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}"
    r"\.(?:internal|intranet|intra|corp|local|lan|home|priv|private))(?=[:/\s'\"]|$)"
)
"""A host of somebody's own network: nobody else can look its name up."""
_BEFORE = frozenset("/\\@\"'=:([,~ \t\r\n|<>`{*$#;&")
_AFTER = frozenset("/\\@\"'=:;,)] \t\r\n|<>`}*$#&(")

Number = Callable[[str, str], int]


class Names:
    """The names of one report and their pseudonyms."""

    def __init__(self) -> None:
        self._users: dict[str, str] = {}
        self._hosts: dict[str, str] = {}
        self._homes: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._known: set[str] = set()
        self._given: set[str] = set()
        self._placed: set[str] = set()

    def user(self, name: str) -> str:
        """Know a user by name; returns the pseudonym."""
        if name in self._placed:
            self._placed.remove(name)
            self._know_word(name)
        return self._add(self._users, name, "user")

    def placed(self, name: str) -> str:
        """The pseudonym of one who is named in this place alone: the owner of a repository is also a product's name."""
        if name not in self._users:
            self._placed.add(name)
        return self._add(self._users, name, "user", everywhere=False)

    def host(self, name: str) -> str:
        """Know a host by name; the short form of a full name is known too."""
        if name in ("localhost", "localhost.localdomain", "ip6-localhost", ""):
            return name
        short = name.partition(".")[0]
        if compiled(r"ip-\d{1,3}(?:-\d{1,3}){3}").fullmatch(short):
            return name  # an address, which has a mask of its own
        if compiled(r"[0-9a-f]{12}").fullmatch(name) and name not in self._hosts:  # a container's id stays one
            self._hosts[name] = name if name.startswith("69640000") else f"69640000{len(self._hosts) + 1:04x}"
            self._know(name)
        mask = self._hosts[name] if name in self._hosts else self._add(self._hosts, short, "host")
        if short != name and name not in self._hosts:
            self._hosts[name] = mask
            self._know(name)
        return mask

    def number(self, text: str, number: Number) -> str:
        """Know a serial or another number of one thing."""
        if text not in self._numbers:
            self._numbers[text] = f"serial-{number('serial', text)}"
        return self._numbers[text]

    def exact(self, text: str) -> str:
        """The pseudonym of a text that is a user's or host's name as a whole; the text itself where it is none."""
        return self._hosts.get(text) or self._users.get(text) or text

    def home(self, path: str) -> None:
        """Know a home folder outside of /home: its last part names the user."""
        parent, _, name = path.rstrip("/").rpartition("/")
        if parent and name and name not in FIELD_WORDS and name not in WELL_KNOWN_HOMES and parent != "/home":
            self._homes[f"{parent}/{name}"] = self.user(name)

    def learn(self, scan: Scan, number: Number) -> list[NameSpan]:
        """Know everybody and everything that a text names."""
        found: list[NameSpan] = []
        for named in scan.kept("names", find_names):
            name = scan.text[named.start : named.end]
            kind = named_kind(named.kind, name)
            if kind == "user":
                self.user(name)
            elif kind == "placed user":
                self.placed(name)
            elif kind == "host":
                self.host(name)
            elif kind == "number":
                self.number(name, number)
            else:
                continue
            found.append(NameSpan(named.start, named.end, kind))
        if "://" in scan.text:
            for url in compiled(_PRIVATE_HOST).finditer(scan.text):
                self.host(url[1])
        return found

    def find(self, scan: Scan, number: Number) -> Iterator[Span]:
        """The masks of the names in a text: where names stand, then as whole path parts and words."""
        text = scan.text
        for start, end, kind in self.learn(scan, number):
            name = text[start:end]
            if kind == "number":
                mask = self.number(name, number)
            else:
                mask = {"user": self.user, "placed user": self.placed}.get(kind, self.host)(name)
            if mask != name:
                yield Span(start, end, mask)
        for path, mask in self._homes.items():
            for at in offsets(text, path):
                after = text[at + len(path) : at + len(path) + 1]
                inside = bool(at) and (text[at - 1].isalnum() or text[at - 1] in "_.-")
                if not inside and not (after.isalnum() or after == "_"):
                    yield Span(at + len(path.rpartition("/")[0]) + 1, at + len(path), mask)
        for at, known in any_of(text, [known for known, mask in self._numbers.items() if mask != known]):
            around = text[at - 1 : at] + text[at + len(known) : at + len(known) + 1]
            if not any(c.isalnum() or c == "_" for c in around):
                yield Span(at, at + len(known), self._numbers[known])
        if any(c in text for c in "/\\@") or any(c.isspace() for c in text):  # a single word is an identifier
            yield from self._words(text)

    def _words(self, text: str) -> Iterator[Span]:
        for at, name in any_of(text, self._known):
            end = at + len(name)
            if (not at or text[at - 1] in _BEFORE) and (
                end == len(text) or text[end] in _AFTER or (text[end] == "." and not text[end + 1 : end + 2].strip())
            ):
                mask = self.exact(name)
                if mask != name:
                    yield Span(at, end, mask)

    def _know(self, name: str) -> None:
        self._known.add(name)

    def _know_word(self, name: str) -> None:
        """Know a name wherever it stands as a word, unless it is also a word of the field or a common one."""
        if len(name) >= 3 and not name.isdecimal() and not is_plain(name):
            self._know(name)

    def _add(self, table: dict[str, str], name: str, kind: str, everywhere: bool = True) -> str:
        if name in WELL_KNOWN_HOMES:
            return name
        if name not in table:
            if compiled(rf"{kind}-\d+").fullmatch(name):
                table[name] = name  # already a pseudonym
                self._given.add(name)
                return name
            number = len(table) + 1
            while f"{kind}-{number}" in self._given:
                number += 1
            table[name] = f"{kind}-{number}"
            self._given.add(table[name])
            if everywhere:
                self._know_word(name)
        return table[name]
