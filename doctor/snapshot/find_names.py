"""Where people, machines and single things are named: prompts, ssh, logs, listings, `uname`, `user = ...`.

A place is exact: what stands there is a name even if it is also a word. `mask_names` decides what is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .find_keyed_names import HOST_LIKE, NAME_SIGNS, NO_HOST, find_keyed_names
from .find_lines import find_lines
from .home_folders import find_homes
from .mask_addresses import UNITS
from .mask_columns import find_columns
from .spans import NameSpan, Scan, compiled, left_of
from .translated_keys import find_translated

_USER = r"[A-Za-z_][\w.-]{0,40}"
_HOST = r"[A-Za-z0-9][\w.-]{0,80}"
_PROMPT = (
    rf"(?<![\w.@/+:%-])({_USER})@({_HOST})"
    r"(?=:[~/]|:\s?[\w~/.][^\s:]{0,80}(?:\s[^\n$#%>\]@]{1,40})?[$#%>](?:\s|$)"
    r"|[ :][^\n$#%>\]@]{0,120}\]?(?<!-)[$#%>\u276f\u279c](?:\s|$)|[$#%>](?:\s|$))"
)
"""A prompt, or `user@host:/path` as scp writes it."""
_LOOSE = (
    rf"(?<![\w.@/+:%~<>=!-])(?!_)({_USER})@([a-z0-9][a-z0-9-]{{1,62}}(?:\.[a-z0-9-]{{1,63}}){{0,6}})"
    r"(?![\w@/(+-]|\.\w|:[\w.])"
)
_SSH = (
    r"(?:ssh|mosh|sftp|ssh-copy-id|autossh|telnet|ping)"
    r"(?:[ \t]+-(?:[46AaCfGgKkMNnqsTtVvXxYy]+(?=[ \t])|[BbcDEeFIiJLlmOopQRSWw][ ]{0,2}\S+|-\S+)){0,8}[ \t]+"
    rf"(?:({_USER})@)?({_HOST})(?=[\s:'\"`;,)]|$)"
)
_SSH_L = rf"(?:ssh|mosh|sftp)\s[^\n|;&]{{0,200}}?-l\s?({_USER})(?=\s)"
_RDP = rf"xfreerdp\d?(?=\s)[^\n|;&]{{0,200}}?\s/u:({_USER})(?=\s)"
_SCP = rf"(?:scp|rsync)\b[^\n|;&]{{0,300}}?\s(?:({_USER})@)?({_HOST}):(?=[~/.\w])"
_UNAME = rf"Linux ({_HOST}) (?=\d{{1,2}}\.\d{{1,2}}[.-])"
_ANSWER = rf"[ \t]*\r?\n(?:[ \t>]*\r?\n)?[ \t>]{{0,8}}({_HOST})[ \t]*(?:\r?\n|$)"
_AS = (
    r"(?:sudo\s(?:-\S+\s){0,3}?-u|su(?: -l| -)?|chown(?: -\w+)?|usermod(?: -\S+){1,3}(?: [\w,]+)?|adduser|deluser|"
    r"useradd(?: -\S+)*|crontab -u|loginctl enable-linger|log in as|login as|squeue(?: --me)? -u|"
    rf"pkill -u|killall -u)[ =]+[\"'`]?({_USER})(?=[\"'`\s:;,)]|\.?(?:\s|$))"
)
_DASH_U = (
    r"(?:login|mysql\w*|psql|twine)\b[^\n|;&]{0,200}?\s(?:-[uU]\s?|--user(?:name)?[= ])"
    rf"({_USER})(?=[\s:'\"]|$)"
)
_SENTENCE = rf"user[ =]+[\"'`]?({_USER})(?=[\"'`\s:;,)]|\.?(?:\s|$))"
_IDS = r"[ugae]{0,2}(?:uid|gid|groups)=\d{1,10}\([\w.@ -]{1,60}\)(?:[ ,]\w*=?\d{1,10}\([\w.@ -]{1,60}\)){0,40}"
_ID_NAME = r"\d{4,10}\(([\w.@ -]{1,60})\)"
_DISK = r"by-id/[\w.:-]*?[_-]([A-Za-z0-9]{6,40})(?=[\s\"'-]|$)"
_URL_HOST = r"://(?:[^\s/@]{1,200}@)?([a-z0-9-]{2,63}|[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,6}\.(?:internal|local|lan|corp|intranet|cluster))(?=[:/\s'\"]|$)"
_WORDS = (
    ("ssh", _SSH, ("user", "host")), ("ssh", _SSH_L, ("user",)), ("xfreerdp", _RDP, ("user",)),
    ("mosh", _SSH, ("user", "host")), ("sftp", _SSH, ("user", "host")),
    ("telnet", _SSH, ("user", "host")), ("ping", _SSH, ("user", "host")), ("autossh", _SSH, ("user", "host")),
    ("scp", _SCP, ("user", "host")), ("rsync", _SCP, ("user", "host")), ("Linux ", _UNAME, ("host",)),
    ("machine-id", r"machine-id[ \t]*\r?\n[ \t>]{0,8}([0-9a-f]{32})\b", ("number",)),
    ("whoami", rf"whoami{_ANSWER}", ("user",)), ("logname", rf"logname{_ANSWER}", ("user",)),
    ("id -un", rf"id -un{_ANSWER}", ("user",)), ("hostname", rf"hostname(?: -[fs])?{_ANSWER}", ("host",)),
    ("uname -n", rf"uname -n{_ANSWER}", ("host",)), ("by-id/", _DISK, ("number",)), ("user", _SENTENCE, ("told user",)),
    ("login", _DASH_U, ("user",)), ("mysql", _DASH_U, ("user",)), ("mysqldump", _DASH_U, ("user",)),
    ("psql", _DASH_U, ("user",)), ("twine", _DASH_U, ("user",)), ("sudo", _AS, ("user",)),
    ("su", _AS, ("user",)), ("chown", _AS, ("user",)), ("deluser", _AS, ("user",)),
    ("adduser", _AS, ("user",)), ("useradd", _AS, ("user",)), ("usermod", _AS, ("user",)), ("crontab", _AS, ("user",)),
    ("loginctl", _AS, ("user",)), ("login as", _AS, ("user",)),
    ("log in as", _AS, ("user",)), ("squeue", _AS, ("user",)), ("pkill", _AS, ("user",)), ("killall", _AS, ("user",)),
)  # fmt: skip
"""A text, the pattern that is matched there, and what its groups name."""


def find_names(scan: Scan) -> Iterator[NameSpan]:
    """Every place of a text that names somebody or something."""
    text = scan.text
    if "@" in text:
        yield from _at(scan)
    for word, pattern, kinds in _WORDS:
        if scan.may_begin(word.split()[0].strip("/-")):
            for at in scan.offsets(word):
                if word == "user" and text[at + 4 : at + 5] not in (" ", "="):
                    continue
                if not (at and (text[at - 1].isalnum() or text[at - 1] in "_.")):
                    yield from _groups(compiled(pattern).match(text, at), kinds)
    if "://" in text:
        for at in scan.offsets("://"):
            found = compiled(_URL_HOST).match(text, at)
            if found and HOST_LIKE.fullmatch(found[1]):
                yield NameSpan(*found.span(1), "host")
    for at in scan.offsets("id=") if "id=" in text else ():
        if found := compiled(_IDS).match(text, max(at - 1, 0)):
            for name in compiled(_ID_NAME).finditer(text, *found.span()):
                yield NameSpan(*name.span(1), "user")
    yield from find_lines(scan)
    yield from find_keyed_names(scan)
    yield from find_homes(scan)
    for spans in (find_translated(scan), find_columns(scan)):
        yield from (named for named in spans if named.kind != "secret")


def _groups(found: re.Match[str] | None, kinds: tuple[str, ...]) -> Iterator[NameSpan]:
    for number, kind in enumerate(kinds, 1):
        if found and found[number] and not (kind == "host" and NO_HOST.fullmatch(found[number])):
            start, end = found.span(number)
            yield NameSpan(start, end - (found[number][-1] == "."), kind)  # the end of a sentence


def _at(scan: Scan) -> Iterator[NameSpan]:
    text = scan.text
    for at in scan.offsets("@"):
        left = left_of(text, at, NAME_SIGNS, 42)
        if left == at or not (text[at + 1 : at + 2].isalnum() or text[at + 1 : at + 2] == "_"):
            continue
        for pattern in (_PROMPT, _LOOSE):
            found = compiled(pattern).match(text, left, min(at + 330, len(text)))
            nobody = found and (
                found[2].endswith(UNITS)
                or (NO_HOST.fullmatch(found[2]) if pattern is _LOOSE else found[2] == "localhost")
            )
            if found and found.end(1) == at and not nobody and found[1] != "git":
                yield NameSpan(*found.span(1), "user")
                yield NameSpan(*found.span(2), "host")
                break
