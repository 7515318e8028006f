"""User names, host names and home folders.

Names are masked as whole path parts, and as whole words in sentences; a name that is also a word of the field or a
well-known folder (root, nvidia, python, lib ...) is masked only where it names a home folder.
"""

from __future__ import annotations

import re

_FIELD_WORDS = frozenset((  # noqa: SIM905
    "a0 all amd an and any api app apps apt arch arm as at auto aws base bash bin bios boot build bus by cache cap "
    "caps card clock code colab common compat compute conda config container containers core count cpu cuda cudnn "
    "cxx data date debian debug default dev device devices dgx disk display dist docker driver drivers dropped "
    "environment error etc execution expect extension fabric fail file files flash for free full gcc gcp gcr gke "
    "glibc gpu gpus graphics group guest hip home host hw id image import in include index info init install is job "
    "json jupyter k8s kaggle kernel kvm lambda lib lib32 lib64 library libs limit linux list local log machine main "
    "man manager master max mem memory mig mlnx mnt mode model module modules musl name nccl network new nfs no "
    "node none not numpy nvcc nvidia nvlink nvml of off old on open opt or os package packages path pci pcie pip "
    "pod podman power proc process program project prompt ptx py pypi pyenv python python2 python3 pytorch rank ray "
    "read rhel rocm root run runner runpod sass sbin scratch scripts section server service shared shell shm site "
    "slurm sm snap src srv stable staff state stub stubs sudo sys system target tensor test the tmp tool toolkit "
    "tools torch torchaudio torchvision triton ubuntu ucx unknown user users usr utility uv uvm var vast venv "
    "version video vllm vm void volume was wheel whl windows work worker workspace world wsl x86 xformers xid xla "
).split())
_WELL_KNOWN_HOMES = frozenset(
    ("linuxbrew", "Public", "Shared", "Default", "All Users", "site-packages", "dist-packages", "stubs", "compat")
)
"""Nobody's name, or names that a check reads out of a path."""
_HOME = re.compile(
    r"(?<=[/\\]home[/\\])[^/\\\s:;,'\"<>|*?)\]]+"
    r"|(?<=\\Users\\)[^/\\\s:;,'\"<>|*?]+(?: [^/\\\s:;,'\"<>|*?]+)*(?=\\)"
    r"|(?<=[/\\]Users[/\\])[^/\\\s:;,'\"<>|*?)\]]+"
)
_TILDE = r"(?<![\w.~/-])~([A-Za-z_][\w.-]*)(?=/)"
_PRIVATE_HOST = (
    r"://(?:[^/\s@]{0,300}@)?([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}"
    r"\.(?:internal|intranet|intra|corp|local|lan|home|priv|private))(?=[:/\s'\"]|$)"
)
"""A host of somebody's own network: nobody else can look its name up."""
_BEFORE = r"(?:(?<=[/\\@\s'\"=:(\[,~])|^)"
_AFTER = r"(?=[/\\@\s'\"=:;,)\]]|\.(?:\s|$)|$)"


class Names:
    """The names of one report and their pseudonyms."""

    def __init__(self) -> None:
        self._users: dict[str, str] = {}
        self._hosts: dict[str, str] = {}
        self._homes: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._known: set[str] = set()

    def user(self, name: str) -> str:
        """Know a user by name; returns the pseudonym."""
        return self._add(self._users, name, "user")

    def host(self, name: str) -> str:
        """Know a host by name; the short form of a full name is known too."""
        if name in ("localhost", "localhost.localdomain", "ip6-localhost", ""):
            return name
        short = name.partition(".")[0]
        mask = self._add(self._hosts, short, "host")
        if short != name and name not in self._hosts:
            self._hosts[name] = mask
            self._known.add(name)
            self._pattern = None
        return mask

    def exact(self, text: str) -> str:
        """The pseudonym of a text that is a user's or host's name as a whole; the text itself where it is none."""
        return self._hosts.get(text) or self._users.get(text) or text

    def home(self, path: str) -> None:
        """Know a home folder outside of /home: its last part names the user."""
        parent, _, name = path.rstrip("/").rpartition("/")
        if parent and name and name not in _FIELD_WORDS and name not in _WELL_KNOWN_HOMES and not _HOME.search(path):
            self._homes[f"{parent}/{name}"] = f"{parent}/{self.user(name)}"

    def learn(self, text: str) -> None:
        """Know the owners of the home folders that a text names."""
        if "home" in text or "Users" in text:
            for name in _HOME.findall(text):
                if name not in _WELL_KNOWN_HOMES:
                    self.user(name)
        if "~" in text:
            for name in re.findall(_TILDE, text):
                self.user(name)
        if "://" in text:
            for name in re.findall(_PRIVATE_HOST, text):
                self.host(name)

    def text(self, text: str) -> str:
        """Replace the known names: home folders first, then whole path parts and words."""
        if "home" in text or "Users" in text:
            text = _HOME.sub(lambda m: self._users.get(m[0], m[0]), text)
        for path, mask in self._homes.items():
            if path in text:
                text = re.sub(rf"(?<![\w.-]){re.escape(path)}(?=/|\b)", mask.replace("\\", r"\\"), text)
        if any(name in text for name in self._known):
            text = self._words().sub(self._word, text)
        return text

    def _word(self, found: re.Match[str]) -> str:
        text, name = found.string, found[0]
        if not any(c in text for c in "/\\@") and not any(c.isspace() for c in text):
            return name  # a single word: an identifier, unless its field says that it is a name (see `exact`)
        return self.exact(name)

    def _words(self) -> re.Pattern[str]:
        if self._pattern is None:
            names = "|".join(re.escape(name) for name in sorted(self._known, key=lambda n: (-len(n), n)))
            self._pattern = re.compile(f"{_BEFORE}(?:{names}){_AFTER}")
        return self._pattern

    def _add(self, table: dict[str, str], name: str, kind: str) -> str:
        if name in _WELL_KNOWN_HOMES:
            return name
        if name not in table:
            if re.fullmatch(rf"{kind}-\d+", name):
                table[name] = name  # already a pseudonym
                return name
            taken = set(table.values())
            number = len(table) + 1
            while f"{kind}-{number}" in taken:
                number += 1
            table[name] = f"{kind}-{number}"
            if len(name) >= 3 and not name.isdecimal() and name.lower() not in _FIELD_WORDS:
                self._known.add(name)
                self._pattern = None
        return table[name]
