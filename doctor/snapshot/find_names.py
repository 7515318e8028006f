"""Where people, machines and single things are named: prompts, ssh, logs, listings, `uname`, `user = ...`.

A place is exact: what stands there is a name even if it is also a word. `mask_names` decides what is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .find_keyed_names import HOST_LIKE, NAME_SIGNS, NO_HOST, find_keyed_names
from .home_folders import find_homes
from .spans import NameSpan, Scan, compiled, left_of

_USER = r"[A-Za-z_][\w.-]{0,40}"
_HOST = r"[A-Za-z0-9][\w.-]{0,80}"
_PROMPT = (
    rf"(?<![\w.@/+:%-])({_USER})@({_HOST})"
    r"(?=:[~/]|:\s?[\w~/.][^\s:]{0,80}(?:\s[^\n$#%>\]@]{1,40})?[$#%>](?:\s|$)"
    r"|[ :][^\n$#%>\]@]{0,120}\]?[$#%>\u276f\u279c](?:\s|$)|[$#%>](?:\s|$))"
)
"""A prompt, or `user@host:/path` as scp writes it."""
_LOOSE = (
    rf"(?<![\w.@/+:%~<>=!-])({_USER})@([a-z0-9][a-z0-9-]{{1,62}}(?:\.[a-z0-9-]{{1,63}}){{0,6}})"
    r"(?![\w@/(+-]|\.\w|:[\w.])"
)
_SSH = (
    r"(?:ssh|mosh|sftp|ssh-copy-id|autossh|telnet|ping)"
    r"(?:\s+-(?:[46AaCfGgKkMNnqsTtVvXxYy]+(?=\s)|[BbcDEeFIiJLlmOopQRSWw]\s{0,2}\S+|-\S+)){0,8}\s+"
    rf"(?:({_USER})@)?({_HOST})(?=[\s:'\"`;,)]|$)"
)
_SCP = rf"(?:scp|rsync)\b[^\n|;&]{{0,300}}?\s(?:({_USER})@)?({_HOST}):(?=[~/.\w])"
_UNAME = rf"Linux ({_HOST}) (?=\d{{1,2}}\.\d{{1,2}}[.-])"
_ANSWER = rf"[ \t]*\r?\n(?:[ \t>]*\r?\n)?[ \t>]{{0,8}}({_HOST})[ \t]*(?:\r?\n|$)"
_AS = (
    r"(?:sudo\s(?:-\S+\s){0,3}?-u|su(?: -l| -)?|chown(?: -\w+)?|usermod(?: -\S+){1,3}(?: [\w,]+)?|adduser|deluser|"
    r"useradd(?: -\S+)*|crontab -u|loginctl enable-linger|logged in as|log in as|login as|squeue(?: --me)? -u|"
    rf"pkill -u|killall -u)[ =]+[\"'`]?({_USER})(?=[\"'`\s:;,)]|\.?(?:\s|$))"
)
_DASH_U = (
    r"(?:login|mysql\w*|psql|twine)\b[^\n|;&]{0,200}?\s(?:-[uU]\s?|--user(?:name)?[= ])"
    rf"({_USER})(?=[\s:'\"]|$)"
)
_SENTENCE = rf"user[ =]+[\"'`]?({_USER})(?=[\"'`\s:;,)]|\.?(?:\s|$))"
_IDS = r"[ugae]{0,2}(?:uid|gid|groups)=\d{1,10}\([\w.@ -]{1,60}\)(?:[ ,]\w*=?\d{1,10}\([\w.@ -]{1,60}\)){0,40}"
_ID_NAME = r"\d{4,10}\(([\w.@ -]{1,60})\)"
_LS = (
    r"[ \t>]{0,8}[bcdlps-](?:[r-][w-][xsStT-]){3}[.+@]?\s{1,4}\d{1,6}\s{1,8}"
    rf"({_USER})\s{{1,12}}({_USER})\s{{1,12}}\d"
)
_LOG = (
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?|\d{4}-\d\d-\d\dT[\d:.,]{8,20}(?:Z|[+-]\d\d:?\d\d))"
    rf" ({_HOST}) (?=[\w./@()-]{{1,60}}(?:\[\d{{1,9}}\])?: )"
)
_PS = rf"[ \t>]{{0,8}}({_USER}\+?)\s+\d{{1,9}}\s+\d{{1,4}}(?:\.\d)?\s+\d{{1,3}}(?:\.\d)?\s+\d+\s+\d+\s"
_QUEUE = rf"\s*\d{{1,12}}\S*\s+\S+\s+\S+\s+({_USER})\s+(?:R|PD|CG|CD|F|CA|TO|S|ST|RUNNING|PENDING)\s"
_SHORTEST = 20
"""Characters of a line of a log or listing."""
_MONTHS = frozenset(("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"))
_TABLES = ((" ?  ", _PS), (" pts/", _PS), (" R ", _QUEUE), (" PD ", _QUEUE), (" CG ", _QUEUE))
_NCCL = rf"[ \t>]{{0,8}}(?:\S{{1,30}} )?({_HOST}):\d{{1,9}}:\d{{1,9}} \[\w{{1,6}}\] NCCL "
_PGPASS = r"[\w.*-]{1,80}:(?:\d{4,5}|\*):[\w*-]{1,60}:([A-Za-z_*][\w.-]{0,40}:\S{1,200})$"
_PASSWD = rf"[ \t>]{{0,8}}({_USER}):[x*!]?:\d{{4,9}}:\d+:([^:\n]{{0,80}}):(?=/)"
_GPUSTAT = rf"(?<=[|\s])({_USER})(?=(?::[\w./-]{{1,60}})?(?:/\d{{1,9}})?\(\d{{1,7}}M\))"
_DISK = r"by-id/[\w.:-]*?[_-]([A-Za-z0-9]{6,40})(?=[\s\"'-]|$)"
_URL_HOST = r"://(?:[^\s/@]{1,200}@)?([a-z0-9-]{2,63}|[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,6}\.(?:internal|local|lan|corp|intranet|cluster))(?=[:/\s'\"]|$)"
_WORDS = (
    ("ssh", _SSH, ("user", "host")), ("mosh", _SSH, ("user", "host")), ("sftp", _SSH, ("user", "host")),
    ("telnet", _SSH, ("user", "host")), ("ping", _SSH, ("user", "host")), ("autossh", _SSH, ("user", "host")),
    ("scp", _SCP, ("user", "host")), ("rsync", _SCP, ("user", "host")), ("Linux ", _UNAME, ("host",)),
    ("whoami", rf"whoami{_ANSWER}", ("user",)), ("logname", rf"logname{_ANSWER}", ("user",)),
    ("id -un", rf"id -un{_ANSWER}", ("user",)), ("hostname", rf"hostname(?: -[fs])?{_ANSWER}", ("host",)),
    ("uname -n", rf"uname -n{_ANSWER}", ("host",)), ("by-id/", _DISK, ("number",)), ("user", _SENTENCE, ("told user",)),
    ("login", _DASH_U, ("user",)), ("mysql", _DASH_U, ("user",)), ("mysqldump", _DASH_U, ("user",)),
    ("psql", _DASH_U, ("user",)), ("twine", _DASH_U, ("user",)), ("sudo", _AS, ("user",)),
    ("su", _AS, ("user",)), ("chown", _AS, ("user",)), ("deluser", _AS, ("user",)),
    ("adduser", _AS, ("user",)), ("useradd", _AS, ("user",)), ("usermod", _AS, ("user",)), ("crontab", _AS, ("user",)),
    ("loginctl", _AS, ("user",)), ("logged in as", _AS, ("user",)), ("login as", _AS, ("user",)),
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
    yield from _lines(scan)
    yield from find_keyed_names(scan)
    yield from find_homes(scan)


def _groups(found: re.Match[str] | None, kinds: tuple[str, ...]) -> Iterator[NameSpan]:
    for number, kind in enumerate(kinds, 1):
        if found and found[number] and not (kind == "host" and NO_HOST.fullmatch(found[number])):
            yield NameSpan(*found.span(number), kind)


def _at(scan: Scan) -> Iterator[NameSpan]:
    text = scan.text
    for at in scan.offsets("@"):
        left = left_of(text, at, NAME_SIGNS, 42)
        if left == at or not (text[at + 1 : at + 2].isalnum() or text[at + 1 : at + 2] == "_"):
            continue
        for pattern in (_PROMPT, _LOOSE):
            found = compiled(pattern).match(text, left, min(at + 330, len(text)))
            nobody = found and (NO_HOST.fullmatch(found[2]) if pattern is _LOOSE else found[2] == "localhost")
            if found and found.end(1) == at and not nobody and found[1] != "git":
                yield NameSpan(*found.span(1), "user")
                yield NameSpan(*found.span(2), "host")
                break


def _lines(scan: Scan) -> Iterator[NameSpan]:
    """Lines of a log, of `ls -l`, `ps aux`, `squeue`, /etc/passwd and gpustat."""
    text = scan.text
    nccl, gpustat, at = "] NCCL " in text, "M)" in text and "MB |" in text, 0
    tables = [(mark, pattern) for mark, pattern in _TABLES if mark in text]
    for line in text.split("\n"):
        if len(line) > _SHORTEST:
            head = line[:12].lstrip(" \t>")
            found = None
            if head[0:1] in "bcdlps-" and head[1:2] in "r-" and (found := compiled(_LS).match(line)):
                yield NameSpan(at + found.start(1), at + found.end(1), "user")
                yield NameSpan(at + found.start(2), at + found.end(2), "user")
            elif nccl and "] NCCL " in line and (found := compiled(_NCCL).match(line)):
                yield NameSpan(at + found.start(1), at + found.end(1), "host")
            elif (head[3:4] == " " and head[:3] in _MONTHS) or (head[10:11] == "T" and head[4:5] == "-"):
                if found := compiled(_LOG).match(line, len(line) - len(line.lstrip(" \t>"))):
                    yield NameSpan(at + found.start(1), at + found.end(1), "host")
            elif (colons := line.count(":")) == 4 and (found := compiled(_PGPASS).match(line)):
                yield NameSpan(at + found.start(1), at + found.end(1), "number")
            elif colons >= 6 and (found := compiled(_PASSWD).match(line)):
                yield NameSpan(at + found.start(1), at + found.end(1), "user")
                if found[2].strip(" ,"):
                    yield NameSpan(at + found.start(2), at + found.end(2), "user")
            for mark, pattern in tables:
                if mark in line and (row := compiled(pattern).match(line)):
                    yield NameSpan(at + row.start(1), at + row.end(1), "user")
            if gpustat and "M)" in line and "MB |" in line:
                for row in compiled(_GPUSTAT).finditer(line):
                    yield NameSpan(at + row.start(1), at + row.end(1), "user")
        at += len(line) + 1
