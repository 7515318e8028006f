"""Names in what programs print: logs, `ls -l`, `ps`, `squeue`, `scontrol`, sshd, sudo, /etc/passwd, gpustat.

A row is found wherever it begins: after a container's prefix, in a cell of a table, in a string of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import NameSpan, Scan, compiled, offsets

_USER = r"[A-Za-z_][\w.-]{0,40}"
_HOST = r"[A-Za-z0-9][\w.-]{0,80}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|PANIC|stdout|stderr)"
_LS = (
    r"(?<![\w-])[bcdlps-](?:[r-][w-][xsStT-]){3}[.+@]?\s{1,4}\d{1,6}\s{1,8}"
    rf"({_USER})\s{{1,12}}({_USER})\s{{1,12}}\d"
)
_LOG = (
    rf"(?:{_MONTH} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{{1,9}})?"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d))"
    rf" (?!{_LEVEL}\b)({_HOST}) (?=[\w./@()-]{{1,60}}(?:\[\d{{1,9}}\])?: )"
)
_SYSLOG = rf"<\d{{1,3}}>1 \S{{10,40}} ({_HOST}) "
"""RFC 5424."""
_PS = rf"(?<![\w.-])({_USER}\+?)\s+\d{{1,9}}\s+\d{{1,4}}(?:\.\d)?\s+\d{{1,3}}(?:\.\d)?\s+\d+\s+\d+\s+(?:\?|pts/|tty|-)"
_PS_F = (
    rf"(?<![\w.-])({_USER}\+?)\s+\d{{1,9}}\s+\d{{1,9}}\s+\d{{1,3}}\s+(?:\d\d:\d\d|[A-Z][a-z]{{2}}\d\d|\d{{4}})\s+"
    r"(?:\?|pts/\d+|tty\w+)\s+\d"
)
_QUEUE = rf"(?<!\S)\d{{1,12}}\S*\s+\S+\s+\S+\s+({_USER})\s+(?:R|PD|CG|CD|F|CA|TO|S|ST|RUNNING|PENDING)\s"
_NCCL = rf"(?<![\w.-])({_HOST}):\d{{1,9}}:\d{{1,9}} \[\w{{1,6}}\] NCCL "
_LOGIN = rf"\b[Ll]ogged in (?:as[ =:]{{1,4}}[\"'`]?({_USER})(?: \(({_USER})\))?|to \S{{1,60}} (?:account|as) ({_USER}))"
_SSHD = (
    r"\b(?:Accepted|Failed|Invalid|session opened|Connection closed by) (?:[\w-]+ )?(?:for )?(?:invalid )?(?:user )?"
    rf"({_USER})(?=[( ](?:from|by|port|uid))"
)
_SUDO = rf"\bsudo(?:\[\d+\])?:\s{{1,12}}({_USER}) : (?=TTY=|PWD=|USER=|\d+ incorrect|user NOT)"
_LAST = rf"\bLast login: [^\n]{{10,60}} from ({_HOST})"
_OWNED = rf"\b(?:UserId|GroupId|Owner|Account)=({_USER})(?=\(\d+\))"
_NODES = rf"\b(?:BatchHost|NodeList|ReqNodeList|NodeName|NodeHostName|AllocNode(?::Sid)?)=({_HOST})(?=[\[,:\s]|$)"
_CONNECT = (
    r"\b(?:connect to host |resolve (?:hostname|host:?) |ping: |lookup |Connection (?:to|closed by remote host: ))"
    rf"({_HOST})"
    r"(?= port \d|: (?:Name or|Temporary failure|No route|Connection|no such host)| (?:closed|on \d)|[ \t]*$)"
)
_NFS = rf"(?<![\w/.-])({_HOST}):/[\w./-]{{0,200}} on /[\w./-]{{1,200}} type (?:nfs|lustre|cifs|fuse|glusterfs|beegfs)"
_KNOWN_HOST = rf"(?<![\w.-])({_HOST})(?:,\S{{1,200}})? (?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\S{{4,20}}) AAAA"
_GIT = rf"\bgit@[\w.-]{{1,80}}(?::\d{{2,5}}(?=/))?[:/]({_USER})/(?=[\w.-])"
_PGPASS = r"[\w.*-]{1,80}:(?:\d{4,5}|\*):[\w*-]{1,60}:([A-Za-z_*][\w.-]{0,40}:\S{1,200})$"
_PASSWD = rf"[ \t>]{{0,8}}({_USER}):[x*!]?:\d{{4,9}}:\d+:([^:\n]{{0,80}}):(?=/)"
_GPUSTAT = rf"(?<=[|\s])({_USER})(?=(?::[\w./-]{{1,60}})?(?:/\d{{1,9}})?\(\d{{1,7}}M\))"
_LONGEST = 600
"""Characters of a row before and after what it is found by."""
_SHORTEST = 20
"""Characters of a row of /etc/passwd or gpustat."""
_TIMES = tuple(f"{month} " for month in _MONTH[3:-1].split("|"))
_DAY = r"-\d\dT\d\d:"
_ROWS: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("rw-", "r--", "r-x", "rwx", "---"), _LS, ("user", "user")),
    (_TIMES, _LOG, ("host",)),
    ((">1 ",), _SYSLOG, ("host",)),
    ((" ? ", " pts/", " tty"), _PS, ("user",)),
    ((" ? ", " pts/", " tty"), _PS_F, ("user",)),
    ((" R ", " PD ", " CG "), _QUEUE, ("user",)),
    (("] NCCL ",), _NCCL, ("host",)),
    (("ogged in ",), _LOGIN, ("user", "user", "user")),
    (("Accepted ", "Failed ", "Invalid user", "session opened", "closed by"), _SSHD, ("user",)),
    (("sudo: ", "sudo["), _SUDO, ("user",)),
    (("Last login",), _LAST, ("host",)),
    (("UserId=", "Owner=", "GroupId=", "Account="), _OWNED, ("user",)),
    (("BatchHost=", "NodeList=", "NodeName=", "NodeHostName=", "AllocNode"), _NODES, ("host",)),
    (("connect to host ", "resolve host", "ping: ", "lookup "), _CONNECT, ("told host",)),
    ((" type ",), _NFS, ("host",)),
    ((" AAAA",), _KNOWN_HOST, ("host",)),
    (("git@",), _GIT, ("placed user",)),
)  # fmt: skip
"""(texts of which one is there, row, what its groups name)"""


def find_lines(scan: Scan) -> Iterator[NameSpan]:
    """Every name in a row that a program printed."""
    text = scan.text
    for marks, pattern, kinds in _ROWS:
        late = {found.start() for found in compiled(_DAY).finditer(text)} if pattern is _LOG else set()
        done = -1
        for at in sorted({at for mark in marks if _may_be(scan, mark) for at in offsets(text, mark)} | late):
            if at >= done:
                first, done = scan.line(at, _LONGEST)
                for found in compiled(pattern).finditer(text, first, done):
                    yield from _groups(found, kinds)
    if text.count(":") >= 4 or "MB |" in text:
        at = 0
        for line in text.split("\n"):
            if len(line) > _SHORTEST:
                for found, kinds in _of_line(line):
                    for start, end, kind in _groups(found, kinds):
                        yield NameSpan(at + start, at + end, kind)
            at += len(line) + 1


def _may_be(scan: Scan, mark: str) -> bool:
    """Whether it is worth to search for a text: those that are one word are looked up."""
    return scan.may_hold(mark.strip()) if mark.strip().isalpha() else mark in scan.text


def _of_line(line: str) -> Iterator[tuple[re.Match[str], tuple[str, ...]]]:
    """Rows that are a whole line."""
    if (colons := line.count(":")) == 4 and (found := compiled(_PGPASS).match(line)):
        yield found, ("number",)
    elif colons >= 6 and (found := compiled(_PASSWD).match(line)):
        yield found, ("user", "user" if found[2].strip(" ,") else "")
    if "M)" in line and "MB |" in line:
        for found in compiled(_GPUSTAT).finditer(line):
            yield found, ("user",)


def _groups(found: re.Match[str], kinds: tuple[str, ...]) -> Iterator[NameSpan]:
    for number, kind in enumerate(kinds, 1):
        if kind and found[number]:
            start, end = found.span(number)
            yield NameSpan(start, end - (found[number][-1] == "."), kind)  # the end of a sentence
