"""Secrets of commands, where no name tells them: `docker login -p`, `mysql -p`, `wandb login`, `curl -u`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .secret_keys import is_nothing, is_secret_like
from .spans import Scan, Span, compiled

_MOST = 1500
"""Characters of one command."""
_WORD = r"(?:\\\"([^\"\\\n]{1,300})\\\"|\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|([^\s\"'|;&<>`()\\]{1,300}))"
_NEXT = rf"\s{{0,4}}(?:\\\r?\n\s{{0,20}})?=?{_WORD}"
_LOGIN_P = rf"\s-p(?:\s|=|(?=[\S])){_NEXT}"
_SECRET_FLAG = r"-[\w-]{0,30}(?i:pass|key|secret|token|cred|auth|private)[\w-]{0,30}[= ]{1,2}"
"""A flag that names the file of a secret."""
_ASKS = r"(?:\bsudo\b.{0,40}\s-S\b|passw|\blogin\b|\bkinit\b|stdin|\bcryptsetup\b|\bopenssl\b|\bgpg\b)"
"""Programs that read a secret from their input."""
_FLAGS = (
    ("login", r"(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|helm|oc|az)\b[^\n|;]{0,80}\blogin\b", _LOGIN_P),
    ("mysql|mariadb", r"\b(?:mysql\w{0,12}|mariadb[\w-]{0,12})\s", rf"\s-p(?:\s|(?=[^\s-])){_NEXT}"),
    ("sshpass", r"\bsshpass\s", _LOGIN_P),
    ("twine", r"\btwine\s", _LOGIN_P),
    ("plink|pscp|psftp|putty", r"\b(?:plink|pscp|psftp|putty)\b", rf"\s-pw\s{_NEXT}"),
    ("sqlcmd|bcp|osql", r"\b(?:sqlcmd|bcp|osql)\s", rf"\s-P{_NEXT}"),
    ("mosquitto", r"\bmosquitto_\w+\s", rf"\s-P{_NEXT}"),
    ("redis-cli", r"\bredis-cli\b", rf"\s(?:-a|--pass){_NEXT}"),
    ("mongo", r"\bmongo\w{0,8}\b", rf"\s-p(?:\s|=){_NEXT}"),
    ("ldap", r"\bldap\w+\s", rf"\s-w{_NEXT}"),
    ("ipmi", r"\bipmi\w+\s", rf"\s-P{_NEXT}"),
    ("snmp", r"\bsnmp\w+\s", rf"\s-[AXc]{_NEXT}"),
    ("cqlsh", r"\bcqlsh\s", rf"\s-p{_NEXT}"),
    ("ssh-keygen", r"\bssh-keygen\s", rf"\s-[NP]{_NEXT}"),
    ("etcdctl", r"\betcdctl\s", rf"\s--user{_NEXT}"),
    ("sqlplus", r"\bsqlplus\s", r"\s()()[\w.-]{1,60}/([^\s@/]+)@"),
    ("xfreerdp", r"\bxfreerdp\d?\s", r"\s/p:()()([^\s\"']+)"),
    ("<(", "", rf"{_SECRET_FLAG}<\(\s?(?:echo|printf)\s+(?:-\w+\s)?(?:[\"']?%s(?:\\+n)?[\"']?\s)?{_WORD}"),
    ("<<<", rf"(?i){_ASKS}", rf"<<<\s{{0,4}}{_WORD}"),
    ("unzip", r"\bunzip\s", rf"\s-P{_NEXT}"),
    ("zip", r"\bzip\s", rf"\s-P{_NEXT}"),
    ("7z", r"\b7z[ar]?\s", rf"\s-p(?=\S){_NEXT}"),
    ("smbclient", r"\bsmbclient\b", r"\s-U[ ']{0,2}()()[\w.\\-]{1,60}%([^\s']+)"),
    ("lftp", r"\blftp\b", r"\s-u\s()()[\w.-]{1,60},(\S+)"),
    ("curl", r"\bcurl\s", rf"\s(?:-u|--user|-U|--proxy-user){_NEXT}"),
    ("curl", r"\bcurl\s", rf"\s(?:-b|--cookie){_NEXT}"),
    ("http", r"\bhttps?\s", rf"\s(?:-a|--auth){_NEXT}"),
    ("openssl", r"\bopenssl\b", r"\bpass:()()([^\s\"']+)"),
    ("openssl", r"\bopenssl\b", rf"\s-k\s{_NEXT}"),
    ("htpasswd", r"\bhtpasswd\s+-\w*b\w*\s", r"\s()()\S+\s+[\w.-]+\s+([^\s]+)\s{0,4}(?:$|[|;&\n])"),
    ("chpasswd", r"\bchpasswd\b", r"echo\s+[\"']?()()[\w.-]+:([^\s\"'|]+)"),
    ("passwd --stdin", r"\bpasswd --stdin\b", rf"echo\s+(?:-n\s)?{_WORD}"),
    ("password-stdin", r"--password-stdin\b", rf"(?:echo|printf)\s+(?:-n\s)?(?:[\"']?%s[\"']?\s)?{_WORD}\s{{0,4}}\|"),
    ("sudo -s", r"\bsudo -S\b", rf"echo\s+(?:-n\s)?{_WORD}\s{{0,4}}\|"),
    ("doctl", r"\bdoctl\b", rf"\s-t{_NEXT}"),
    ("prefect", r"\bprefect\b", rf"\s(?:-k|--key){_NEXT}"),
    ("vault login", r"\bvault login\s", rf"login\s{_NEXT}"),
    ("nmcli", r"\bnmcli\b", rf"\bpassword\s{_NEXT}"),
    ("wpa", r"\bwpa_passphrase\s", rf"wpa_passphrase\s+\S+\s{_NEXT}"),
    ("net use", r"\bnet use\s", r"/user:()()\S+\s+(\S+)"),
    ("mc alias set", r"\bmc alias set\s", rf"mc alias set\s+\S+\s+\S+\s+\S+\s{_NEXT}"),
    ("mc alias set", r"\bmc alias set\s", rf"mc alias set\s+\S+\s+\S+\s{_NEXT}"),
    ("secret set", r"\bsecret set\b", rf"\s(?:--body|-b){_NEXT}"),
    ("identified by", r"\bidentified\b", rf"(?i)\bidentified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?{_WORD}"),
    ("requirepass", r"\brequirepass\b", rf"\brequirepass\s+{_WORD}"),
    ("password '", "", r"(?i)\bpassword\s+'([^'\n]+)'"),
    ("machine ", r"\bmachine\s", rf"\b(?:login|password|account)\s+{_WORD}"),
    ("from-literal", r"--from-literal\b", r"--from-literal[= ][\"']?[\w.-]+=()()([^\s\"']+)"),
    ("mount", r"\bmount\b", r"\bpass(?:word)?=()()([^\s,\"']+)"),
)  # fmt: skip
"""(texts one of which must be there, command, secret behind it); the secret is the last group that matched."""
_LOGINS = ("login", "api-key", "apikey", "set-key", "token ", "activate", "authkey", "join")
_TOOLS = (
    r"\b(?:"
    r"wandb|huggingface-cli|hf auth|comet|ngrok|cargo|vastai|runpodctl|modal|fly|flyctl|heroku|"
    r"vercel|netlify|railway|neptune|clearml|poetry|databricks|kaggle|ngc|gh auth|glab|stripe|"
    r"doppler|infisical|sky|lightning|pulumi|twilio|zrok|anaconda|conda|npm|roboflow|dvc|"
    r"mlflow|zenml|prefect|terraform|snyk|codecov|sentry-cli|cloudflared|tailscale|kubeadm|"
    r"swarm|replicate|together|openai|runpod"
    r")\b"
)
"""Programs that take a key as a word after the one for signing in."""


def find_in_commands(scan: Scan) -> Iterator[Span]:
    """The secrets of every command that takes one without a name."""
    text = scan.text
    for word, command, secret in ((word, *row) for words, *row in _FLAGS for word in words.split("|")):
        head = compiled(r"\w+").search(word)
        if not (scan.may_begin(head[0]) if head else word in text):
            continue
        for first, last in _commands(text, scan.offsets(word)):
            if not compiled(f"(?i){command}").search(text, first, last):
                continue
            for found in compiled(secret).finditer(text, first, last):
                number = found.lastindex or 0
                value = found[number] if number else ""
                if value and not is_nothing(value) and not value.startswith("-"):
                    yield Span(*found.span(number))
    for word in _LOGINS:
        if scan.may_hold(word):
            for at in scan.offsets(word):
                yield from _positional(text, at, at + len(word))


def _commands(text: str, at: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The commands that these places stand in, each once; in a line of more than one length, the lengths together."""
    first, last = 0, -1
    for offset in at:
        start, end = _command(text, offset) if offset + _MOST > last or last < 0 else (first, last)
        if start < last:
            last = max(last, end)
            continue
        if last >= 0:
            yield first, last
        first, last = start, end
    if last >= 0:
        yield first, last


def _command(text: str, at: int) -> tuple[int, int]:
    """The line that a word stands on, with the lines that a backslash joins to it."""
    least, most = max(at - _MOST, 0), min(at + _MOST, len(text))
    first = text.rfind("\n", least, at) + 1
    while first > least + 1 and text[first - 2] == "\\":
        first = text.rfind("\n", least, first - 1) + 1
    last = text.find("\n", at, most)
    while last > 0 and text[last - 1] == "\\":
        last = text.find("\n", last + 1, most)
    return max(first, least), most if last < 0 else last


def _positional(text: str, at: int, end: int) -> Iterator[Span]:
    """`wandb login KEY`, `ngrok config add-authtoken TOKEN`: words that look made up after the word for signing in."""
    first, last = _command(text, at)
    if not compiled(_TOOLS).search(text, max(first, at - 120), at):
        return
    for found in compiled(r"(?<=[\s\"'=])[\w.~+/=-]{12,}").finditer(text, end, last):
        word = found[0].lstrip("-")
        if is_secret_like(word) and not found[0].startswith("-"):
            yield Span(*found.span())
