"""Which names have secrets for values: `DB_PASSWORD`, `x-api-key`, `clientSecret`; and which values can be secrets."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from ..formats.lazy import lazy

_PART = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
ZEROS = dict.fromkeys(range(ord("1"), ord("9") + 1), "0")
"""Which digits a name has makes no difference: `token_17` is looked at once with `token_23`."""
SURE, LIKELY, HEADER, NO = "sure", "likely", "header", ""
"""A value of a SURE name is a secret whatever it looks like, that of a LIKELY one if it looks like one."""
_WORDS = frozenset(
    (  # noqa: SIM905
        "passwort passwords secrets credential credentials psk otp "
        "totp jwt apikeys accesstoken refreshtoken identitytoken idtoken sessiontoken accesskey "
        "secretkey privatekey accountkey authkey licensekey apitoken mnemonic "
        "bearer dsn connectionstring connstr requirepass masterauth keypass storepass sshpass pgpass "
    ).split()
)
_KEYS = frozenset(
    (  # noqa: SIM905
        "api access private account auth encryption signing master license licence session storage deploy "
        "service client admin shared ssh server write read integration ingestion ingest subscription join "
        "registration activation wandb openai anthropic hf huggingface ngc comet neptune aws azure gcp stripe app "
        "application functions project user root preshared wireguard tailscale recovery product"
    ).split()
)
_LIKELY = frozenset(
    (  # noqa: SIM905
        "key keys tokens auth session sess sessid sessionid phpsessid jsessionid sid sig signature csrf xsrf "
        "nonce salt license licence pin webhook pass pat hash cred creds userpass login data pw"
    ).split()
)
_TEXT_TOKENS = frozenset(
    (  # noqa: SIM905
        "pad eos bos unk sep cls mask max min num n special next prev new first last image video audio per stop "
        "start end total prompt completion input output context generated vocab added batched batch count prefill "
        "decode cached number of ids id len length size type types indices index embedding embeddings embed list "
        "limit budget window dim idx classification level wise mixing merging drop sparse query position positions "
        "logits probs text word expert experts routed counts usage reasoning s sec second rate hidden decoded "
        "parallel kv block blocks padding"
    ).split()
)
"""Beside `token`: a piece of text, as language models count it."""
_BEFORE_PASS = frozenset(["forward", "backward", "by", "second", "first", "fast", "low", "high",
                          "band", "render", "one", "two", "multi", "single", "dry"])  # fmt: skip
_ENDINGS = ("password", "passwd", "passphrase", "passcode", "secret", "pwd", "apikey", "authtoken")
"""What a word ends with that is written as one: `pgpassword`, `dbpwd`."""
_OF_CORES = frozenset(("cpu", "core", "cores", "gpio", "memory", "mem", "thread", "gpu", "irq", "host"))
"""Before `pin`: where something runs or lies, not what unlocks it."""
_PHRASES = frozenset(("recovery", "seed", "pass", "backup"))
"""Before `phrase`."""
_ABOUT = frozenset(
    (  # noqa: SIM905
        "file path files dir name url uri length size type expired expires expiry version required policy store env "
        "class id"
    ).split()
)
"""What a name ends with whose value says something about a secret."""
_HEADERS = frozenset(("authorization", "cookie", "cookies"))


def parts_of(name: str) -> list[str]:
    """The words of a name in lower case: of `clientSecret`, `client-secret` and `CLIENT_SECRET` the same."""
    return [part.lower() for part in _PART.findall(name)]


def kind_of(name: str) -> str:
    """SURE, LIKELY, HEADER (its value goes to the end of the line) or NO."""
    return _kind_of(name.translate(ZEROS))


@lru_cache(maxsize=4096)
def _kind_of(name: str) -> str:
    parts = parts_of(name)
    if not parts:
        return NO
    last = parts[-1]
    if last in _HEADERS:
        return HEADER
    if "public" in parts or (
        last in _ABOUT and not {"access", "session"} & set(parts) and parts[-3:-1] != ["private", "key"]
    ):
        return NO
    pairs = list(pairwise(parts))
    if any(part in _WORDS or part.endswith(_ENDINGS) for part in parts) or ("connection", "string") in pairs:
        return SURE
    if last.endswith("pw") and len(last) in range(4, 9):  # `rootpw`, `bindpw`
        return SURE
    if "phrase" in parts and _PHRASES & set(parts):
        return SURE
    if len(parts) > 1 and ("pin" in parts and last in ("pin", "code", "number")) and not _OF_CORES & set(parts):
        return SURE
    if any(second in ("key", "keys") and first in _KEYS for first, second in pairs):
        return SURE
    if last == "pass" and len(parts) > 1 and parts[-2] not in _BEFORE_PASS:
        return SURE
    if "token" in parts:
        at = parts.index("token")
        beside = {*parts[max(at - 1, 0) : at], *parts[at + 1 : at + 2]}
        return NO if beside & _TEXT_TOKENS else SURE
    if last == "key" and len(parts) > 1 and name.isupper():
        return SURE
    return LIKELY if last in _LIKELY or last.endswith("token") else NO


_NOTHING = frozenset(
    (  # noqa: SIM905
        "none null nil true false yes no on off unset undefined empty required optional missing invalid "
        "incorrect wrong expired string str int bool bytes any default not is was the a an for and or "
        "from in with to n/a auto must should can cannot has will does be of environment variable variables "
        "set given provided found failed"
    ).split()
)
_STANDS_FOR_IT = lazy(
    r"\*+|[xX]{3,}|[•.]+|-+|_+"
    r"|\[?\(?<?(?i:redacted|masked|hidden|secret|removed|filtered|token|password|your)\b.*"
    r"|<[^<>]*>?|\[[\w.]*\]?|\{.*|\$.*|%\w+%|@.*|[oO][sS]\.\w.*|[sS][eE][lL][fF]\.\w+|[A-Za-z_][\w.]*[(\[].*"
    r"|(?i:serial|id|user|host)-\d+|(?i:mail)-\d+@.*"
)
_PLAIN = lazy(
    r"[\d.,:+-]*|[a-z]+(?:[-_ ][a-z]+)*|[A-Z][a-z]+|[A-Z]+(?:_[A-Z]+)*|v?\d+(?:\.\w+)+"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"
    r"|[A-Za-z_]+=[^=].*"
    r"|[a-z0-9-]{1,30}(?:\.[a-z0-9-]{1,30}){0,5}(?:\.[a-z]{2,12}(?::\d{2,5})?|:\d{2,5})"  # a host
    r"|(?:Apache|[AL]?GPL|BSD|MPL|CC|EPL|BSL|PSF|Python|Artistic|EUPL|OFL)-[A-Za-z0-9.+-]{1,40}"  # SPDX
)
_PATH = lazy(r"(?:~|\.{0,2})(?:/[a-z0-9_.-]+)+/?|[A-Za-z]:\\.*")
_BASE64 = lazy(r"[A-Za-z0-9+/]+={0,2}")
_FILE = lazy(
    r"(?:[~.]{0,2}/|[A-Za-z]:\\).*"
    r"|.*\.(?:py|so|json|ya?ml|txt|pt|pth|bin|h|cpp|cu|whl|log|safetensors|toml)\b.*"
)


def is_nothing(value: str) -> bool:
    """Whether a value says that there is none, stands for one that is elsewhere, or is masked."""
    return value.lower() in _NOTHING or bool(_STANDS_FOR_IT.fullmatch(value) or _PATH.fullmatch(value))


def _is_base64(value: str) -> bool:
    """Whether what begins like a path is 24 characters and more of base64, which has `/` among its digits."""
    if len(value) < 24 or not _BASE64.fullmatch(value):
        return False
    mixed = [p for p in value.split("/") if not (p.islower() or p.isupper() or p.isalpha() or p.isdigit())]
    return "+" in value or len(mixed) > 1


def is_secret_like(value: str) -> bool:
    """Whether a word looks like something that a machine made up, or a password: no word, number, version or file."""
    is_file = _FILE.fullmatch(value) and not _is_base64(value)
    if len(value) < 8 or is_nothing(value) or _PLAIN.fullmatch(value) or is_file:
        return len(value) >= 32 and value.isalpha() and value.islower()
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    if not letters:
        return False
    mixed = any(c.islower() for c in value) and any(c.isupper() for c in value[1:])
    signs = len(value) - digits - letters
    return (digits >= 1 and (digits >= 2 or mixed or signs > 0)) or (mixed and (len(value) >= 16 or signs > 0))
