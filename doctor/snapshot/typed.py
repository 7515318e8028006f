"""Commands as they can still be typed where names are masked: `~` for the home folder, `"$VIRTUAL_ENV"` for its value.

No command holds a mask, for it could not be run: what the shell of its reader knows is left to that shell.
"""

from __future__ import annotations

import re

from ..formats.lazy import lazy

_WORD = r"^|[\s;&|(]|(?:^|[\s;])[A-Za-z_]\w*="
_HOME = lazy(r"(/(?:home|Users)/[^/\s]+)/")
_SHORTEST = 5
"""Characters of a value that is left to its variable."""
_PLAIN = lazy(r"[\w@%+=:,./-]+")
"""What stands in a command without quotes (shlex.quote)."""


class Typed:
    """What the shell of a report's reader knows. `home`: the user's home folder, or empty."""

    def __init__(self, home: str) -> None:
        self._homes: dict[str, tuple[re.Pattern[str], ...]] = {}
        self._variables: dict[str, str] = {}
        self.home(home)

    def home(self, home: str) -> None:
        """Know a folder as the home of who types."""
        if home in ("", "/", "/root") or home in self._homes:
            return
        here = re.escape(home)
        self._homes[home] = (
            lazy(rf"({_WORD}){here}(?=[/:]|\s|$)"),
            lazy(rf"({_WORD})'{here}/"),
            lazy(rf"((?:^|[\s;])[A-Za-z_]\w*=[^\s'\"]*:){here}(?=[/:]|\s|$)"),
        )

    def learn(self, name: str, value: str) -> None:
        """Know a variable of the user's environment; those that hold a path or an address are of use."""
        if name.isidentifier() and name.isupper() and len(value) >= _SHORTEST and "/" in value and value != "/root":
            self._variables.setdefault(value.rstrip("/"), name)

    def with_home(self, text: str) -> str:
        """The user's home folder as `~`: it says nothing, and can still be typed."""
        for home, (plain, quoted, later) in self._homes.items():
            if home not in text:
                continue
            text = quoted.sub(r"\1~/'", plain.sub(r"\1~", text))  # a shell knows `~` only outside of quotes
            done = ""
            while done != text:  # folder after folder of a list such as LD_LIBRARY_PATH
                done, text = text, later.sub(r"\1~", text)
        return text

    def with_variables(self, command: str) -> str:
        """The values of variables as their names; longest first."""
        for value, name in sorted(self._variables.items(), key=lambda item: -len(item[0])):
            if value in command and _PLAIN.fullmatch(value):
                command = re.sub(rf"({_WORD}){re.escape(value)}(?=[/\s]|$)", rf'\1"${name}"', command)
        return command


def home_of(prefix: str) -> str:
    """The home folder that an environment lies in, or empty: who repairs it types `~`."""
    found = _HOME.match(prefix)
    return found[1] if found else ""
