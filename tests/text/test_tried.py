"""What the text shows as tried is not offered first; LXC is a place."""

from __future__ import annotations

from doctor.findings import Fix
from doctor.fixes.tried import plain
from doctor.snapshot import known
from doctor.text import read

from ..judging import report
from ..rows import for_each

DKMS = "Error! Bad return status for module build on kernel: 6.8.0-45-generic (x86_64)\n"
NO_MODULE = "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic\n"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\n"
SHM = (
    "RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that dataloader's workers "
)
SHM += "are out of shared memory.\n"
NO_RUNTIME = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n'
NO_INTERFACE = "NCCL WARN Bootstrap : no socket interface found\n"


def fixes(text: str) -> tuple[Fix, ...]:
    return next(f for f in report(read(text)).findings if f.status == "fail").fixes


def commands(fix: Fix) -> str:
    return "\n".join(step.command for step in fix.steps)


@for_each(
    ("tried", "text", "not_first"),
    [
        ("$ sudo dkms autoinstall\n" + DKMS, NO_MODULE, "dkms autoinstall"),
        ("I already ran `sudo dkms autoinstall` and it ended with a bad status.\n", NO_MODULE, "dkms autoinstall"),
        ("root@box:~# rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia\n", MISMATCH, "rmmod nvidia_uvm"),
        ("user@host:~$ docker run --gpus all --shm-size=8g img\n", SHM, "--shm-size=8g"),
    ],
)
def test_a_fix_that_was_tried_does_not_come_first(tried: str, text: str, not_first: str) -> None:
    assert not_first in commands(fixes(text)[0]), "without the attempt it does"
    after = fixes(tried + text)
    assert not_first not in commands(after[0])
    assert any(not_first in commands(fix) and "was tried" in fix.note for fix in after[1:])


@for_each(
    ("tried", "text"),
    [
        ("I ran sudo nvidia-ctk runtime configure --runtime=docker and restarted docker.\n", NO_RUNTIME),
        ("NCCL_SOCKET_IFNAME=eth0\n", NO_INTERFACE),
        ("export NCCL_SOCKET_IFNAME=ib0\n", NO_INTERFACE),
    ],
)
def test_an_only_fix_that_was_tried_says_so(tried: str, text: str) -> None:
    assert "was tried" not in fixes(text)[0].note
    assert any("was tried" in fix.note for fix in fixes(tried + text))


@for_each(
    "words",
    [
        "Should I run sudo dkms autoinstall?\n",
        "I have not run dkms autoinstall yet.\n",
        "How do I use dkms autoinstall here?\n",
        "The manual names dkms autoinstall.\n",
    ],
)
def test_what_was_not_done_is_offered(words: str) -> None:
    assert "dkms autoinstall" in commands(fixes(words + NO_MODULE)[0])


@for_each("command", ["sudo dkms autoinstall", "dkms  autoinstall", "sudo -E 'dkms' autoinstall", "DKMS autoinstall"])
def test_a_command_is_known_however_it_is_typed(command: str) -> None:
    assert plain(command) == "dkms autoinstall"


@for_each(
    "place",
    [
        "OS: Debian 12, LXC container on Proxmox\n",
        "I run this inside an unprivileged LXC.\n",
        "lxc.cgroup2.devices.allow: c 195:* rwm\n",
        "root@pve:~# pct enter 104\n",
        "in an Incus container\n",
    ],
)
def test_lxc_is_a_place(place: str) -> None:
    s = read(place + "CUDA error 999: unknown error\nls: cannot access '/dev/nvidia-uvm': No such file or directory\n")
    assert known(s.container.kind) == "lxc"
    for finding in report(s).findings:
        assert not any("docker run" in commands(fix) for fix in finding.fixes), finding.id


@for_each("words", ["lxcbr0: state UP", "linux container", "the relaxed lxde desktop"])
def test_words_that_only_look_like_lxc(words: str) -> None:
    assert known(read(words + "\nRuntimeError: No CUDA GPUs are available\n").container.kind) != "lxc"


@for_each(
    "who",
    ["already", "I", "we", "I've", "I have", "after", "After", "tried to", "tried", "by", "have", "We've already"],
)
def test_every_way_to_tell_it_is_read(who: str) -> None:
    (tried,) = read(f"{who} run apt purge nvidia-open and it still fails").tried
    assert "run apt purge nvidia-open" in tried


@for_each("prompt", ["$", "#", "user@box:~$", "root@box:/#", "❯", "➜", "box%"])
def test_every_prompt_is_read(prompt: str) -> None:
    assert read(f"{prompt} apt purge nvidia-open\nRuntimeError: no GPU").tried == ("apt purge nvidia-open",)


@for_each("text", ["Rebooted the machine", "it fails after reboot", "I restarted the node", "re-booted, no change"])
def test_every_reboot_is_read(text: str) -> None:
    assert read(f"{text}, RuntimeError: no GPU").tried[-1:] == ("reboot",)
