"""User names, host names and home folders.

Names are masked where names stand (a prompt, a home folder, `ssh`), as whole path parts, and as whole words in
sentences; a name that is also a word of the field, a common word or a well-known folder (root, nvidia, will ...) only
where names stand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache

from .find_names import find_names
from .home_folders import SHARED_FOLDERS
from .spans import NameSpan, Scan, Span, any_of, compiled, offsets

_FIELD_WORDS = frozenset(
    (  # noqa: SIM905
        "a0 all amd an and any api app apps apt arch arm as at auto aws base bash bin bios boot build bus by cache "
        "cap caps card clock code colab common compat compute conda config container containers core count cpu cuda "
        "cudnn cxx data date debian debug default dev device devices dgx disk display dist docker driver drivers "
        "dropped environment error etc execution expect extension fabric fail file files flash for free full gcc gcp "
        "gcr gke glibc gpu gpus graphics group guest hip home host hw id image import in include index info init "
        "install is job json jupyter k8s kaggle kernel kvm lambda lib lib32 lib64 library libs limit linux list "
        "local log machine main man manager master max mem memory mig mlnx mnt mode model module modules musl name "
        "nccl network new nfs no node none not numpy nvcc nvidia nvlink nvml of off old on open opt or os package "
        "packages path pci pcie pip pod podman power proc process program project prompt ptx py pypi pyenv python "
        "python2 python3 pytorch rank ray read rhel rocm root run runner runpod sass sbin scratch scripts section "
        "server service shared shell shm site slurm sm snap src srv stable staff state stub stubs sudo sys system "
        "target tensor test the tmp tool toolkit tools torch torchaudio torchvision triton ubuntu ucx unknown user "
        "users usr utility uv uvm var vast venv version video vllm vm void volume was wheel whl windows work worker "
        "workspace world wsl x86 xformers xid xla "
    ).split()
)
_WELL_KNOWN_HOMES = frozenset(
    ("linuxbrew", "Public", "Shared", "Default", "All Users", "site-packages", "dist-packages", "stubs", "compat")
)
"""Nobody's name, or names that a check reads out of a path."""
_NO_OWNERS = ("kubernetes", "user", "users", *SHARED_FOLDERS)
_NOBODY = frozenset(
    (  # noqa: SIM905
        "root ubuntu admin administrator user users username nobody daemon video render docker jovyan runner "
        "azureuser debian centos fedora vagrant localhost guest default host none null true false name your-user "
        "youruser you me unknown kubernetes local build install linux version release slurm systemd kernel nvidia- "
        "persistenced ec2-user gdm sddm lightdm lp wheel staff adm sys sudo tty disk input kvm audio plugdev dialout "
        "lxd lpadmin nogroup messagebus buildd systemd-resolve systemd-network systemd-timesync www-data colab kaggle "
        "opc rocky almalinux postgres mysql mariadb redis mongodb munge polkitd polkit shadow ssl-cert sshd _apt man games "
        "news uucp proxy backup irc gnats utmp crontab uuidd tcpdump avahi colord pulse rtkit saned sssd tss usbmux "
        "whoopsie postfix dnsmasq chrony _chrony ntp apache nginx http git mail bin daemon lpd rpc rpcuser statd slurm "
        "kmem plocate mlocate render sgx ceph zabbix prometheus grafana nut libvirt libvirt-qemu qemu core gpu server node worker service system site of for is was the a an on in at by to "
        "not if with and or required installation level mode space names id ids account accounts group groups "
        "permission permissions string type n/a na not-asked "
    ).split()
)
"""Accounts that many machines have, and words that stand where names do."""
_STATES = frozenset(
    (  # noqa: SIM905
        "unreachable reachable up down running dead alive healthy unhealthy offline online rebooting wrong right "
        "correct fine ok broken missing different same identical unknown named called known likely probably always "
        "never still already just only also here there allowed denied able unable free busy empty full ready unset "
        "undefined"
    ).split()
)
"""After `the host is`: what is said of it, not its name."""
_FOLDERS = frozenset(
    (  # noqa: SIM905
        "env envs conda miniconda miniconda3 anaconda anaconda3 miniforge3 mambaforge models data datasets cache "
        "caches software apps projects spack shared public lab labs group groups jobs checkpoints envs venvs pytorch "
        "mnt outputs results logs runs archive common containers images singularity apptainer modules easybuild "
        "scripts repos bin lib lib64 include share etc opt local src unix_user users home manager service services "
        "sessions dev"
    ).split()
)
"""Beside users' folders on a cluster."""
_GPU_MODEL = r"(?:rtx|gtx|gt|gh|gb|tesla|quadro|titan|[abhlvtpkm])[-_]?\d{1,4}(?:ti|super|s|g|x|d|nvl|pcie|sxm\d?)?"
"""A machine that is called h100 is masked where its name stands, not wherever its GPU is named."""
_FOLDER_NAME = r"[a-z_][a-z0-9_.-]{1,30}\$?"
_NO_USER = r"(?:cuda|nv|torch|python|gcc|conda|v?\d).*|.*\.(?:py|sh|txt|so|log|sif|yaml|json|pt)"
_PRIVATE_HOST = (
    r"://(?:[^/\s@]{0,300}@)?([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}"
    r"\.(?:internal|intranet|intra|corp|local|lan|home|priv|private))(?=[:/\s'\"]|$)"
)
"""A host of somebody's own network: nobody else can look its name up."""
_BEFORE = frozenset("/\\@\"'=:([,~ \t\r\n|<>`{*$#;&")
_AFTER = frozenset("/\\@\"'=:;,)] \t\r\n|<>`}*$#&(")

Number = Callable[[str, str], int]


@cache
def _common() -> frozenset[str]:
    with open(os.path.join(os.path.dirname(__file__), "common_words.txt"), encoding="utf-8") as file:  # noqa: PTH118, PTH120
        return frozenset(file.read().split())


def _is_word(low: str) -> bool:
    """Whether this is a common word or one of the field, also with an ending: `specifies`, `mapped`, `fails`."""
    forms = {low, *(low.removesuffix(end) for end in ("s", "es", "ed", "d", "ing")), low.removesuffix("ies") + "y"}
    return any(form in _common() or form in _FIELD_WORDS for form in forms)


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
        if parent and name and name not in _FIELD_WORDS and name not in _WELL_KNOWN_HOMES and parent != "/home":
            self._homes[f"{parent}/{name}"] = self.user(name)

    def learn(self, scan: Scan, number: Number) -> list[NameSpan]:
        """Know everybody and everything that a text names."""
        found: list[NameSpan] = []
        for named in scan.kept("names", find_names):
            name = scan.text[named.start : named.end]
            kind = _kind(named.kind, name)
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
        low = name.lower()
        plain = low in _FIELD_WORDS or name in _common() or compiled(_GPU_MODEL).fullmatch(low)
        if len(name) >= 3 and not name.isdecimal() and not plain:
            self._know(name)

    def _add(self, table: dict[str, str], name: str, kind: str, everywhere: bool = True) -> str:
        if name in _WELL_KNOWN_HOMES:
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


def _kind(kind: str, name: str) -> str:
    """Whether what stands where a name may stand is one: user, host, number, or nothing."""
    low = name.lower()
    if kind == "owner":  # of a home folder: whatever it is called, but for what checks read out of paths
        return "user" if name not in _WELL_KNOWN_HOMES and low not in _NO_OWNERS else ""
    if kind == "number":
        return kind if not name.startswith(("serial-", "id-")) else ""
    ours = low == "host.invalid" or name.startswith("mail-")
    if ours or low in _NOBODY or (name.startswith(("user-", "host-")) and name[5:].isdecimal()):
        return ""
    if kind == "folder":
        known = low in _FOLDERS or low in _FIELD_WORDS or name in _common()
        is_name = compiled(_FOLDER_NAME).fullmatch(name) and not compiled(_NO_USER).fullmatch(name)
        return "user" if is_name and not known else ""
    if kind == "placed user":
        return kind if not _is_word(low) else ""
    if kind.startswith("told "):
        return kind[5:] if not _is_word(low) and low not in _STATES else ""
    return kind
