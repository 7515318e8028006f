"""Whether what stands where a name may stand is one: the words and accounts that are nobody's."""

from __future__ import annotations

import os
from functools import cache
from itertools import accumulate

from .home_folders import SHARED_FOLDERS
from .spans import compiled

FIELD_WORDS = frozenset(
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
WELL_KNOWN_HOMES = frozenset(
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
        "opc rocky almalinux postgres mysql mariadb redis mongodb munge polkitd polkit shadow ssl-cert sshd _apt "
        "man games news uucp proxy backup irc gnats utmp crontab uuidd tcpdump avahi colord pulse rtkit saned "
        "sssd tss usbmux whoopsie postfix dnsmasq chrony _chrony ntp apache nginx http git mail bin daemon lpd "
        "rpc rpcuser statd slurm kmem plocate mlocate render sgx ceph zabbix prometheus grafana nut libvirt "
        "libvirt-qemu qemu core gpu server node worker service system site of for is was the a an on in at by to "
        "not if with and or required installation level mode space names id ids account accounts group groups "
        "permission permissions string type n/a na not-asked"
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


_NONE_SHARED = ord("a")


@cache
def common_words() -> frozenset[str]:
    """The words, and ''. In the file each line has the count of letters shared with the word before it (a: 0, b: 1,
    ...) and the letters after these."""
    with open(os.path.join(os.path.dirname(__file__), "common_words.txt"), encoding="utf-8") as file:  # noqa: PTH118, PTH120
        lines = file.read().split()
    return frozenset(accumulate(lines, lambda last, line: last[: ord(line[0]) - _NONE_SHARED] + line[1:], initial=""))


def _is_word(low: str) -> bool:
    """Whether this is a common word, one of the field, with an ending too (`fails`), or too short for a name."""
    if len(low) < 3:
        return True
    forms = {low, *(low.removesuffix(end) for end in ("s", "es", "ed", "d", "ing")), low.removesuffix("ies") + "y"}
    return any(form in common_words() or form in FIELD_WORDS for form in forms)


def named_kind(kind: str, name: str) -> str:
    """Whether what stands where a name may stand is one: user, host, number, or nothing."""
    low = name.lower()
    if kind == "owner":  # of a home folder: whatever it is called, but for what checks read out of paths
        return "user" if name not in WELL_KNOWN_HOMES and low not in _NO_OWNERS else ""
    if kind == "number":
        return kind if not name.startswith(("serial-", "id-")) else ""
    ours = low == "host.invalid" or name.startswith("mail-")
    if ours or low in _NOBODY or (name.startswith(("user-", "host-")) and name[5:].isdecimal()):
        return ""
    if kind == "folder":
        known = low in _FOLDERS or low in FIELD_WORDS or name in common_words()
        is_name = compiled(_FOLDER_NAME).fullmatch(name) and not compiled(_NO_USER).fullmatch(name)
        return "user" if is_name and not known else ""
    if kind == "placed user":
        return kind if not _is_word(low) else ""
    if kind.startswith("told "):
        return kind[5:] if not _is_word(low) and low not in _STATES else ""
    return kind


def is_plain(name: str) -> bool:
    """Whether a name is also a word of the field, a common one, or a GPU's: it is masked only where names stand."""
    low = name.lower()
    return low in FIELD_WORDS or name in common_words() or bool(compiled(_GPU_MODEL).fullmatch(low))
