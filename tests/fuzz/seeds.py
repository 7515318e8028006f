"""Valid inputs, from which the mutations start."""

from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

from doctor.report.json import render_json

from ..fixtures.fatbins import synthetic
from ..healthy import healthy
from ..judging import report
from ..redaction.planted import planted

HERE = Path(__file__).parent / "seeds"
FATBINS = Path(__file__).parent.parent / "fixtures" / "fatbins"
NOTE = b'{"format":1,"CUDA version":"12.9","driver":[535,550,560,565,570,575],"device":[1,2,7,8,9,10]}'


def libraries() -> list[bytes]:
    return [path.read_bytes() for path in sorted((HERE / "elf").glob("*.so"))]


def tars() -> list[bytes]:
    """One archive of each format, with long names, links and a folder."""
    found = []
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as archive:
            for kind, name, target in (
                (tarfile.REGTYPE, "a/b.txt", ""),
                (tarfile.DIRTYPE, "folder", ""),
                (tarfile.SYMTYPE, "link", "../a/b.txt"),
                (tarfile.LNKTYPE, "hard", "a/b.txt"),
                (tarfile.REGTYPE, "/".join(["long" * 10] * 4), ""),
            ):
                member = tarfile.TarInfo(name)
                member.type, member.linkname, member.size = kind, target, 5 if kind == tarfile.REGTYPE else 0
                archive.addfile(member, io.BytesIO(b"hello"))
        found.append(out.getvalue()[:9000])
    return found


def fatbins() -> list[bytes]:
    """Compiled ones are mutated in 5 to 10 KB, hand-written ones in a few hundred bytes."""
    small = [(FATBINS / f"{name}.so").read_bytes() for name in ("variants", "ptx_only", "old_packing", "uncompressed")]
    return [
        synthetic.fatbin_library([["sm_80", "compute_90"], ["sm_90a"]]),
        synthetic.fatbin_library([["sm_120f"]] * 3, "__nv_relfatbin"),
        synthetic.library({".nv_fatbin": synthetic.container([]) * 3, "__nv_relfatbin": bytes(32)}),
        *small,
    ]


def notes() -> list[bytes]:
    return [(HERE / "elf" / "note.so").read_bytes(), libraries()[0]]


def note_texts() -> list[bytes]:
    return [NOTE, b'{"format":1,"CUDA version":"13.2"}\0']


def arch_lists() -> list[bytes]:
    text = b"\0sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 compute_120\0gfx90a gfx942\0sm_80\0"
    return [synthetic.library({".rodata": text}), synthetic.library({".rodata": bytes(200), ".rodata.str1": text})]


def ldcaches() -> list[bytes]:
    names = (b"libcuda.so.1", b"libcudart.so.13", b"libnvidia-ml.so.1")
    text, spots = b"", []
    for name in names:
        spots.append((len(text), len(text) + len(name) + 1))
        text += name + b"\0/usr/lib/x86_64-linux-gnu/" + name + b"\0"
    start = 48 + 24 * len(names)
    rows = b"".join(struct.pack("<IIIIQ", 0x0303, start + a, start + b, 0, 0) for a, b in spots)
    new = b"glibc-ld.so.cache1.1" + struct.pack("<II", len(names), len(text)) + b"\2" + bytes(19) + rows + text
    old_rows = b"".join(struct.pack("<III", 0x0303, a, b) for a, b in spots)
    old = b"ld.so-1.7.0\0" + struct.pack("<I", len(names)) + old_rows
    return [new, old + text, old + bytes(-len(old) % 8) + new]


def reports() -> list[bytes]:
    return [render_json(report(snapshot)) for snapshot in (healthy(), healthy("l4", "h100"), planted())]


def recordings() -> list[bytes]:
    return [path.read_bytes() for path in sorted((HERE / "recording").glob("*.txt"))]


def agent_outputs() -> list[bytes]:
    return [
        part.partition(b"\n")[2]
        for data in recordings()
        for part in data.split(b"== ")[1:]
        if part[:4] in (b"nvml", b"cuda", b"torc")
    ]


def metadata() -> list[bytes]:
    head = "Metadata-Version: 2.4\nName: torch\nVersion: 2.8.0+cu128\nRequires-Python: >=3.9.0\n"
    needs = (
        'Requires-Dist: filelock\nRequires-Dist: nvidia-cublas-cu12==12.8.4.1; platform_system == "Linux"\n  and x\n'
    )
    return [
        (head + needs + "\nWords.\n").encode(),
        (head + needs).replace("\n", "\r\n").encode(),
        b"uv\n",
        b"~orch-2.0.dist-info\nx-1-py3.11.egg-info\n",
    ]


def direct_urls() -> list[bytes]:
    return [
        b'{"url": "file:///x", "dir_info": {"editable": true}}',
        b'{"url": "https://h/x.git", "vcs_info": {"vcs": "git"}}',
    ]


def requires_dist() -> list[bytes]:
    return [
        b'nvidia-cublas-cu12==12.8.4.1; platform_system == "Linux" and platform_machine == "x86_64"\ntriton (==3.4.0)\nsympy>=1.13.3\nnetworkx\n',
        b"filelock>=3.0,<4; extra == 'x'\nextra @ https://user:pw@host.example/x.whl\nfsspec[http]!=2024.1,>=0.8.5\nsetuptools; python_version >= \"3.12\"\n",
    ]


def configs() -> list[bytes]:
    keys = (
        b'skip = ["driver-branch-ended"]\nexpect = "8xH100"\nrequire = ["torch"]\nfail-on = "warn"\nbuilding = true\n'
    )
    return [
        keys + b"[thresholds]\ntemperature_warn_c = 70\nshm_warn_mib = 0.5\n",
        b'[project]\nname = "x"\n[tool.gpudoctor]\n' + keys + b"[tool.gpudoctor.thresholds]\nopen_files = 1\n",
    ]


def driver_versions() -> list[bytes]:
    return [
        b"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build  (dvs-builder@U16)\nGCC version:  gcc version 11.4.0\n",
        b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Mon Jun  2 10:37:00 UTC 2025\n",
    ]


def cpuinfos() -> list[bytes]:
    return [
        b"processor\t: 0\nmodel name\t: AMD EPYC 9654\nphysical id\t: 0\ncore id\t\t: 3\nflags\t\t: fpu vme\n\nprocessor\t: 1\n",
        b"processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n",
    ]


def meminfos() -> list[bytes]:
    return [
        b"MemTotal:       24684096 kB\nMemAvailable:   23664856 kB\nHugePages_Total:       0\nDirectMap4k(x): 5 kB\n"
    ]


def mountinfos() -> list[bytes]:
    return [
        b"22 27 0:21 / /proc rw,relatime - proc proc rw\n24 27 0:5 /a\\040b /usr/lib/x86_64-linux-gnu/libcuda.so.1 ro shared:1 - ext4 /dev/sda1 rw,errors=x\n"
    ]


def limits() -> list[bytes]:
    return [
        b"Limit                     Soft Limit           Hard Limit           Units     \nMax cpu time              unlimited            unlimited            seconds   \nMax locked memory         8388608              8388608              bytes     \nMax nice priority         0                    0                    \n"
    ]


def cgroups() -> list[bytes]:
    return [
        b"0::/docker/1f2e\n",
        b"9:name=systemd:/\n4:memory:/kubepods/x\n3:cpu,cpuacct:/\n",
        b"150000 100000\n",
        b"max 100000\n",
        b"9223372036854771712\n",
    ]


def os_releases() -> list[bytes]:
    return [
        b'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=\'debian x\'\nA="q\\"\\$"\n',
        b"5.15.153.1-microsoft-standard-WSL2\n",
    ]


def pyvenv_cfgs() -> list[bytes]:
    return [
        b"home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\nuv = 0.9\nversion_info = 3.12.1.final.0\n"
    ]


def versions() -> list[bytes]:
    return [
        b"570.86.10\n12.8\n12080\n91002\n22703\n",
        b"2.6.0+cu124\n2.8.0a0+34c6371d24.nv25.08\n2.9.0.dev20250901+rocm6.4\n2.15.0\n1.13.1\n",
        b"535.129.03\n8902\n2.7.1+cpu\n2.4.0.post1\n",
    ]


def requirements() -> list[bytes]:
    return [
        b"NVIDIA_REQUIRE_CUDA=cuda>=12.8 brand=tesla,driver>=535,driver<536 brand=unknown,driver>=550,driver<551\nNVIDIA_REQUIRE_ARCH=arch!=7.0\n",
        b"CUDA_VERSION=12.4.1\nNVIDIA_DISABLE_REQUIRE=0\n",
    ]


def torch_versions() -> list[bytes]:
    return [
        b"from typing import Optional\n\n__all__ = ['__version__', 'debug']\n__version__ = '2.8.0+cu128'\ndebug = False\ncuda: Optional[str] = '12.8'\ngit_version = 'a1cb3cc05d46d198467bebbb6e8fba50a325d4e7'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n"
    ]
