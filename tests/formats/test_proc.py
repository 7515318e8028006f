"""Text of Linux about a process: samples as kernels write them, and this process itself."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from doctor.formats import proc

MOUNTS = """\
22 1 8:1 / / rw,relatime - ext4 /dev/root rw,discard
33 22 0:29 / /dev/shm rw,nosuid,nodev shared:15 - tmpfs tmpfs rw,size=65536k,inode64
40 22 8:1 /var/lib/nvidia/libcuda.so /usr/lib/x86_64-linux-gnu/libcuda.so.535.129.03 ro,nosuid,nodev master:1 - ext4 /dev/root rw
41 22 0:40 / /mnt/with\\040space ro,relatime - overlay overlay ro,lowerdir=/a:/b
no such line
42 22 0:41 / /data rw - nfs4
"""


def test_mounts() -> None:
    mounts = proc.parse_mountinfo(MOUNTS)
    assert [m.mount_point for m in mounts] == [
        "/",
        "/dev/shm",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.535.129.03",
        "/mnt/with space",
    ]
    assert mounts[1].super_options == ("rw", "size=65536k", "inode64")
    assert mounts[2].root == "/var/lib/nvidia/libcuda.so"
    assert [m.read_only for m in mounts] == [False, False, True, True]


def test_the_mount_a_path_lies_on() -> None:
    mounts = proc.parse_mountinfo(MOUNTS)
    points = {path: proc.mount_of(mounts, path) for path in ("/", "/dev/shm/x", "/dev/shmx", "/mnt/with space")}
    assert [m and m.mount_point for m in points.values()] == ["/", "/dev/shm", "/", "/mnt/with space"]
    assert proc.mount_of([], "/") is None


def test_a_later_mount_covers_an_earlier_one() -> None:
    over = proc.parse_mountinfo(MOUNTS + "50 33 0:50 / /dev/shm rw - tmpfs shm rw,size=1g\n")
    found = proc.mount_of(over, "/dev/shm")
    assert found is not None and found.source == "shm"


def test_this_process() -> None:
    mounts = proc.parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    assert len(mounts) == len(Path("/proc/self/mountinfo").read_text().splitlines())
    here = proc.mount_of(mounts, "/proc/self")
    assert here is not None and here.fstype == "proc"
    libraries = proc.mapped_libraries(Path("/proc/self/maps").read_text())
    assert any(os.path.basename(f.path).startswith(("libc.so", "libc.musl", "ld-")) for f in libraries)
    assert all(not f.deleted and os.path.exists(f.path) for f in libraries)


MAPS = """\
7f0000000000-7f0000001000 r--p 00000000 08:01 123                        /usr/lib/libcuda.so.550.54.15
7f0000001000-7f0000002000 r-xp 00001000 08:01 123                        /usr/lib/libcuda.so.550.54.15
7f0000003000-7f0000004000 r--p 00000000 08:01 124                        /usr/lib/lib with space.so (deleted)
7f0000005000-7f0000006000 rw-p 00000000 00:00 0                          [heap]
7f0000007000-7f0000008000 rw-s 00000000 00:05 9                          /dev/nvidiactl
7f0000009000-7f000000a000 rw-p 00000000 00:00 0
"""


def test_maps() -> None:
    assert proc.mapped_libraries(MAPS) == [
        proc.MappedFile("/usr/lib/libcuda.so.550.54.15", False),
        proc.MappedFile("/usr/lib/lib with space.so", True),
    ]
    assert proc.MappedFile("/dev/nvidiactl", False) in proc.parse_maps(MAPS)


def test_pyvenv_cfg() -> None:
    text = "home = /usr/bin\ninclude-system-site-packages = true\nVersion = 3.11.2\nuv = 0.4.1\nbroken\n = x\n"
    assert proc.parse_pyvenv_cfg(text) == {
        "home": "/usr/bin",
        "include-system-site-packages": "true",
        "version": "3.11.2",
        "uv": "0.4.1",
    }


@given(st.text(max_size=300))
def test_no_text_is_too_odd(text: str) -> None:
    assert all(m.mount_point is not None for m in proc.parse_mountinfo(text + " - a b"))
    proc.parse_maps(text)
    proc.parse_pyvenv_cfg(text)
