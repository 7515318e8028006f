"""Names that a key tells: `user: x`, `"hostname": "x"`, `Serial Number : x`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ..formats.lazy import lazy
from .secret_keys import ZEROS, parts_of
from .spans import NameSpan, Scan, left_of

NAME_SIGNS = frozenset("_.-")
NO_HOST = lazy(
    r"(?i)(?:v\d[\w.+-]*|\d+\.[\w.+-]*|\d+|latest|main|master|nightly|stable|head|dev|sha256|sha512|lib\w*|glibc.*|now|next|beta|first_node|"
    r"alpha|property|.*\.(?:so|service|socket|slice|target|txt|py|whl|git|invalid)[\d.]*|[\d.]+|github\.com|gitlab\.com|bitbucket\.org)"
)
_NAME = lazy(r"[\w-]*")
_BEFORE_VALUE = frozenset("\"'`\\])\t :=|\r\n")
_SIGN = lazy(
    r"[\"'`\\\])]{0,3}[ \t]{0,40}(?::(?!:)|=(?!=)|\|)[ \t]{0,40}\\?[\"'`]?|[\"'],[ \t]{0,4}[\"']"
    r"|[\"'],?\s{1,60}[\"']?[Vv]alue[\"']?\s{0,4}[:=][ \t]{0,8}[\"']?"
    r"|[ \t]{0,4}\r?\n[ \t-]{0,40}[\"']?[Vv]alue[\"']?[ \t]{0,4}:[ \t]{1,8}[\"']?"
)
_SPOKEN = lazy(r"(\w{0,30})[ ](?:is|was|equals)[ ][\"'`]?")
_VALUE = lazy(r"([\w.:@-]{2,81})(?=[\"'`\\\s,;&)\]}/|<]|:\d|\[\d+[-,]|\\n|$)|([0-9a-f](?: [0-9a-f]{6,9}){2})\b")
HOST_LIKE = lazy(
    r"(?i)(?!.*(?:nvidia|cuda|x86|aarch|amd64|torch|linux|python|docker|ubuntu|version|debian|a100|h100|localhost))"
    r"(?=.*[a-z])(?=.*[\d.-])(?!v?\d+\.)[a-z0-9][a-z0-9.-]{3,80}"
)
_USERS = frozenset(("user", "username", "login", "logname", "owner", "submitter", "runas", "uid", "account"))
_HOSTS = frozenset(["hostname", "nodename", "computername", "machinename", "fqdn",
                    "submithost", "exechost", "hostid", "nodelist"])  # fmt: skip
_THINGS = frozenset(["host", "node", "server", "machine", "instance", "worker", "endpoint", "remote", "peer", "nodes",
                     "hosts", "addr"])  # fmt: skip
_NUMBERS = frozenset(["serial", "serialnumber", "guid", "nguid", "eui", "imei"])
_SHORTEST_ID = 6
_LONGEST = 30
"""Characters of a name of several words."""
_USERS_OF = frozenset(("username", "loginname", "sudouser", "remoteuser"))
_HOSTS_OF = ("masteraddr", "rdzvendpoint")
_NO_USERS = ("sys", "super", "per", "multi", "single")
"""Before `user`: how many, or which kind."""
_NUMBERS_OF = frozenset(("assettag", "servicetag"))
_IDS_OF = frozenset(("machine", "boot", "system", "instance", "invocation", "account", "tenant", "subscription",
                     "organization", "org", "chassis", "product", "client"))  # fmt: skip
_STEMS = ("user", "login", "logname", "owner", "submitter", "runas", "host", "node", "computer",
          "machine", "server", "fqdn", "addr", "instance", "worker", "endpoint", "remote", "peer", "serial",
          "wwn", "eui", "imei", "asset", "boot", "system", "invocation", "account", "tenant", "subscription",
          "uid", "org", "chassis", "product", "service tag", "client")  # fmt: skip


def _after(text: str, at: int) -> int:
    found = _NAME.match(text, at)
    return found.end() if found else at


def find_keyed_names(scan: Scan) -> Iterator[NameSpan]:
    """`user: x`, `"hostname": "x"`, `Serial Number : x`."""
    text = scan.text
    done = -1
    for at in sorted(at for stem in _STEMS if scan.may_hold(stem.split()[0]) for at in scan.offsets(stem)):
        if at < done:
            continue
        end = _after(text, at)
        while text[end : end + 1] == " " and end - at < _LONGEST and text[end + 1 : end + 2].isalpha():
            end = _after(text, end + 1)
        done = end
        if text[end : end + 1] not in _BEFORE_VALUE and " " not in text[at:end]:
            continue
        sign = _SIGN.match(text, end)
        value = _VALUE.match(text, sign.end()) if sign else None
        spoken = None if sign else _SPOKEN.match(text, at)
        if spoken:
            end, value = spoken.end(1), _VALUE.match(text, spoken.end())
        if not value:
            continue
        kind = kind_of_name(text[left_of(text, at, NAME_SIGNS, 40) : end].translate(ZEROS))
        word = (value[1] or value[2]).rstrip(".:")
        if spoken and kind in ("user", "host"):  # in a sentence: no common word
            kind = f"told {kind}"
        if kind == "thing":
            kind = "host" if HOST_LIKE.fullmatch(word) else ""
        elif kind == "header":  # `Host: name`, and nothing behind it
            ends = text[value.end() : value.end() + 1] in ("", "\r", "\n", '"', "'", "`", "<")
            kind = "host" if HOST_LIKE.fullmatch(word) else "told host" if ends and text[at] == "H" else ""
        if not kind or len(word) < 2:
            continue
        if kind == "id":
            kind = "number" if len(word) >= _SHORTEST_ID else ""
        if kind == "number" and not (any(c.isdigit() for c in word) or (word.isupper() and len(word) > 5)):
            continue
        if kind != "number" and (not word[0].isalpha() or ":" in word or ("host" in kind and NO_HOST.fullmatch(word))):
            continue
        yield NameSpan(value.start(), value.start() + len(word), kind)


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> str:
    """What the value of a name is: user, host, thing (a host if it looks like one), number, or nothing."""
    parts = parts_of(name)
    if not parts or len(parts) > 5:
        return ""
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    both = before + last
    if (last in _USERS and before not in _NO_USERS) or both in _USERS_OF:
        return "user"
    if last in _HOSTS or both in _HOSTS or both in _HOSTS_OF:
        return "host"
    if last in _NUMBERS or (last in ("number", "no", "num") and before == "serial") or both in _NUMBERS_OF:
        return "number"
    if "wwn" in parts:
        return "number"
    if last in ("id", "uuid") and before in _IDS_OF:
        return "id"
    if parts == ["host"]:
        return "header"
    return "thing" if last in _THINGS else ""
