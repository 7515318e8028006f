"""Home folders, and the folders of a user on a cluster: /home/NAME, /data/users/NAME, /scratch/NAME, /u/NAME."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .spans import NameSpan, Scan

_ROOTS = ("home", "users/", "users\\", "user/", "/u/", "scratch", "ptmp/", "nobackup", "workspaces/", "~")
_FOLDER = lazy(
    r"(?i)[/\\]+(?:home\d{0,2}|homes|users?|jusers|u|[a-z]{0,8}scratch\d{0,2}|ptmp|nobackup|workspaces)[/\\]+"
)
_GROUPING = lazy(r"(?:[a-z0-9]|\d{2,8}|work|proj\w{0,12}|groups?|shared?|lab|labs|tmp|[a-z]+_\d+)[/\\]")
"""Between such a folder and a name: the name's first letter, a group's number, a project."""
SHARED_FOLDERS = ("shared", "public", "common", "groups", "projects", "software")
"""Beside the users' own folders: nobody's name."""
_SHARED = lazy(r"(?i)(?:shared|public|common|groups|projects|software)[/\\]+")
_SYSTEM = lazy(
    r"(?<![\w./-])/(?:usr/(?:lib|share|include|src|local/(?:lib|share))|etc|lib\d*|sys|proc|boot)(?:/[\w.@+-]*)*\Z"
)
"""What a distribution's own folders begin with: `/usr/lib/systemd/user` holds units."""
_NAME = lazy(r"[^/\\\s:;,'\"<>|*?)\]}$%&{(`@]+(?=([/\\]?))")
_WINDOWS = lazy(r"[^/\\:;,'\"<>|*?\n]{1,60}(?=\\)")
_TILDE = lazy(r"~([A-Za-z_][\w.-]*)(?=/)")
_MEDIA = lazy(r"(?:/run)?/media/([A-Za-z_][\w.-]*)(?=/)")


def find_homes(scan: Scan) -> Iterator[NameSpan]:
    """The names of the owners of the folders that a text names; `folder` where it may be no person's."""
    text = scan.text
    for root in _ROOTS:
        if (root == "~" and "~" not in text) or (root != "~" and not scan.may_hold(root.strip("/\\"))):
            continue
        for at in scan.offsets(root):
            if root == "~":
                found = _TILDE.match(text, at)
                if found and not (at and (text[at - 1].isalnum() or text[at - 1] in "_.~/-")):
                    yield NameSpan(*found.span(1), "owner")
                continue
            start = at + 1 if root.startswith("/") else at
            while start and at - start < 12 and text[start - 1] not in "/\\":
                start -= 1
            folder = _FOLDER.match(text, max(start - 1, 0))
            if folder and folder.end() > at:
                yield from _owner(text, folder)
    if "/media/" in text:
        for found in _MEDIA.finditer(text):
            yield NameSpan(*found.span(1), "folder")


def _owner(text: str, folder: re.Match[str]) -> Iterator[NameSpan]:
    at = folder.end()
    if _SYSTEM.search(text, max(text.rfind("\n", 0, at) + 1, at - 200), folder.start()):
        return
    whole = folder[0].strip("/\\").lower()
    home = whole in ("home", "users", "homes")
    if whole in ("home", "homes", "users") and (letter := _LETTER.match(text, at)):
        at += 2 if letter[1] == letter[2] else 0  # /home/a/alice
    else:
        shared = _SHARED.match(text, at) if home else None
        if shared:  # /users/shared/alice
            at, home = shared.end(), False
        for _ in range(3 if shared or whole not in ("home", "users") else 0):
            group = _GROUPING.match(text, at)
            if not group or not _NAME.match(text, group.end()):
                break
            at = group.end()
    if folder[0].endswith("\\") and (long := _WINDOWS.match(text, at)):
        yield NameSpan(*long.span(), "owner")
    elif name := _NAME.match(text, at):
        end = name.end()
        while end > at + 1 and text[end - 1] in ".!":
            end -= 1
        yield NameSpan(at, end, "owner" if home else "folder")


_LETTER = lazy(r"(.)[/\\](.)")
