"""What the layers of an image hold, by one forward pass, against the same layers unpacked to a folder."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from doctor.images.layers import layers_snapshot, scan
from doctor.snapshot import Missing

from ..rows import for_each
from . import layer_sources as made
from .layer_sources import ELF, PATH, SITE, Opened, folder, link, of_folder, of_layers
from .layouts import Blob, layer, tar_of

CHANGES: dict[str, list[dict[str, bytes | tarfile.TarInfo]]] = {
    "torch-above-the-base": [made.base(), made.torch()],
    "newer-torch-over-an-older-one": [
        made.base() | made.torch("12.1", "2.4.0"),
        {f"{SITE}/.wh.torch-2.4.0+cu121.dist-info": b"", **made.torch()},
    ],
    "torch-taken-out-again": [
        made.base() | made.torch(),
        {f"{SITE}/.wh.torch": b"", f"{SITE}/.wh.torch-2.6.0+cu124.dist-info": b""},
    ],
    "an-opaque-folder": [
        made.base() | made.torch(),
        {f"{SITE}/.wh..wh..opq": b"", f"{SITE}/numpy-2.1.0.dist-info/METADATA": b"Name: numpy\nVersion: 2.1.0\n\n"},
    ],
    "a-file-where-a-folder-was": [made.base() | made.torch(), {f"{SITE}/torch": b"no folder any more"}],
    "a-link-where-a-folder-was": [
        made.base() | made.torch(),
        {"opt/site-packages/numpy-1.26.0.dist-info/METADATA": b"Name: numpy\nVersion: 1.26.0\n\n",
         SITE: link(SITE, "/opt/site-packages")},
    ],
    "hard-links": [
        made.base(),
        made.torch() | {
            "opt/copy/lib/python3.11/os.py": b"",
            "opt/copy/lib/python3.11/site-packages/torch/__init__.py": link(
                "opt/copy/lib/python3.11/site-packages/torch/__init__.py", f"{SITE}/torch/__init__.py", tarfile.LNKTYPE),
            "opt/copy/lib/python3.11/site-packages/torch/version.py": link(
                "opt/copy/lib/python3.11/site-packages/torch/version.py", f"{SITE}/torch/version.py", tarfile.LNKTYPE),
            "opt/copy/bin/python3": b"",
        },
    ],
    "cuda-with-compat": [
        made.base(),
        {
            "etc/alternatives/cuda": link("etc/alternatives/cuda", "/usr/local/cuda-12.4"),
            "usr/local/cuda": link("usr/local/cuda", "/etc/alternatives/cuda"),
            "usr/local/cuda-12.4/bin/nvcc": b"nvcc",
            "usr/local/cuda-12.4/compat/libcuda.so.1": link("usr/local/cuda-12.4/compat/libcuda.so.1", "libcuda.so.550.54.15"),
            "usr/local/cuda-12.4/compat/libcuda.so.550.54.15": (ELF / "note.so").read_bytes(),
            "usr/local/cuda-12.4/version.json": b'{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}',
        },
        made.torch(),
    ],
    "a-driver-baked-in": [
        made.base() | made.torch(),
        {
            "usr/lib/x86_64-linux-gnu/libcuda.so.1": link("usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.535.183.01"),
            "usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01": b"driver",
            "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.183.01": b"driver",
        },
    ],
    "no-torch": [made.base()],
    "an-older-glibc": [
        {name: content for name, content in made.base().items() if not name.endswith("libc.so.6")}
        | {
            "usr/lib/x86_64-linux-gnu/libc-2.31.so": b"stable release version 2.31.",
            "usr/lib/x86_64-linux-gnu/libc.so.6": link("usr/lib/x86_64-linux-gnu/libc.so.6", "libc-2.31.so"),
        }
    ],
    "alpine": [
        {
            "etc/os-release": b"ID=alpine\nVERSION_ID=3.20.0\n",
            "lib/apk/db/installed": b"C:x\nP:busybox\nV:1\n\n" * 20000 + b"C:x\nP:musl\nV:1.2.5-r0\n\n",
            "lib/ld-musl-x86_64.so.1": b"",
            "usr/bin/python3": b"",
            "usr/lib/python3.12/os.py": b"",
        }
    ],
    "empty-folders-of-packages": [
        made.base() | {"usr/lib/python3.11/os.py": b"", "usr/bin/python3": b""},
        {name: folder(name) for name in ("usr/lib/python3/dist-packages", "usr/local/lib/python3.11/dist-packages")},
    ],
    "nothing-at-all": [{"etc/hostname": b"x"}],
    "entries-below-a-link-of-the-base": [made.base(), {"lib/x86_64-linux-gnu/libcudart.so.12": b"x"}],
}  # fmt: skip
VENV: list[dict[str, bytes | tarfile.TarInfo]] = [
    made.base(),
    {
        "opt/venv/bin/python3": link("opt/venv/bin/python3", "/usr/local/bin/python3"),
        "opt/venv/pyvenv.cfg": b"home = /usr/local/bin\nversion = 3.11.9\ninclude-system-site-packages = false\n",
    }
    | {name.replace("usr/local", "opt/venv"): content for name, content in made.torch().items()},
]


@for_each("name", sorted(CHANGES))
@pytest.mark.parametrize("env", [None, PATH])
def test_the_same_facts_as_of_the_unpacked_folder(name: str, env: dict[str, str] | None, tmp_path: Path) -> None:
    tars = [tar_of(one) for one in CHANGES[name]]
    root = made.unpack(tars, tmp_path / name)
    assert made.differences(of_layers(*map(Blob, tars), env=env), of_folder(root, env)) == {}


def test_the_environment_that_the_images_variables_name(tmp_path: Path) -> None:
    tars = [tar_of(one) for one in VENV]
    env = {"PATH": "/opt/venv/bin:/usr/bin", "VIRTUAL_ENV": "/opt/venv"}
    found = of_layers(*map(Blob, tars), env=env)
    assert found.python.patient.prefix == "/opt/venv" and found.torch.version == "2.6.0+cu124"
    assert made.differences(found, of_folder(made.unpack(tars, tmp_path), env)) == {}
    by_path = of_layers(*map(Blob, tars), env=PATH)
    assert by_path.python.patient.prefix == "/opt/venv", "PATH leads to a Python without torch"
    assert by_path.python.chosen_because == "the newest torch in the image is installed in this environment"


@for_each("compression", ["", "gzip", "zstd"])
def test_each_compression(compression: str) -> None:
    opened = Opened(layer(made.base(), compression), layer(made.torch(), compression))
    facts = scan(opened.layers, opened, whole=True)
    snapshot = layers_snapshot(facts, "image:tag")
    assert (snapshot.torch.version, snapshot.torch.cuda, snapshot.host.libc) == ("2.6.0+cu124", "12.4", "glibc 2.36")
    assert isinstance(snapshot.torch.sass, tuple) and "9.0" in snapshot.torch.sass
    assert (snapshot.target.kind, snapshot.target.name) == ("image", "image:tag")
    assert facts.complete and all(one.checked for one in facts.layers)


def test_no_byte_is_read_after_the_last_one_wanted() -> None:
    wanted = made.base() | made.torch()
    del wanted["bin"], wanted["lib64"]  # in order, as an engine writes it
    files = {name: wanted[name] for name in sorted(wanted, key=lambda name: name.split("/"))}
    tar = tar_of(files | {"var/later": b"\1" * 3_000_000})
    older = layer({"usr/share/words": b"older"})
    opened = Opened(older, Blob(tar, ""), piece=512)
    facts = scan(opened.layers, opened, env=PATH)
    used = tar.index(b"var/later")
    assert used <= opened.given[opened.layers[1].digest] <= used + 1024
    assert opened.asked == [(opened.layers[1].digest, 0)], "the base was not needed"
    assert [(one.whole, one.checked) for one in facts.layers] == [(False, False)]
    assert (facts.unread, facts.complete) == (1, False)
    snapshot = layers_snapshot(facts, "", PATH)
    assert snapshot.torch.version == "2.6.0+cu124"
    assert snapshot.container.compat == Missing("not-asked", "only 0 of 2 layers were read to the end")
    assert snapshot.python.distributions_partial


def test_dpkgs_list_tells_glibc_before_the_base_is_read() -> None:
    status = (
        b"Package: libc6\nStatus: install ok installed\nVersion: 2.35-0ubuntu3.8\n\n"
        b"Package: cuda-compat-12-4\nStatus: deinstall ok config-files\nVersion: 550.54.15-0ubuntu1\n\n"
    )
    opened = Opened(layer(made.base()), layer({"var/lib/dpkg/status": status}), layer(made.torch()))
    facts = scan(opened.layers, opened, env=PATH)
    assert facts.unread == 1 and facts.packages == {"libc6": "2.35-0ubuntu3.8"}
    assert layers_snapshot(facts, "", PATH).host.libc == "glibc 2.35"


@for_each(
    ("env", "status"),
    [
        ({"NV_CUDA_COMPAT_PACKAGE": "cuda-compat-12-4"}, b""),
        ({}, b"\n\nPackage: cuda-compat-12-4\nStatus: install ok installed\nVersion: 550.54.15-0ubuntu1\n"),
    ],
)
def test_a_compat_package_that_is_announced_is_looked_for(env: dict[str, str], status: bytes) -> None:
    glibc = b"Package: libc6\nStatus: install ok installed\nVersion: 2.36-9" + status
    compat = "usr/local/cuda-12.4/compat"
    middle = {
        f"{compat}/libcuda.so.1": link(f"{compat}/libcuda.so.1", "libcuda.so.550.54.15"),
        f"{compat}/libcuda.so.550.54.15": (ELF / "note.so").read_bytes(),
        "var/tmp/later": b"x",
    }
    opened = Opened(layer(made.base()), layer(middle), layer({"var/lib/dpkg/status": glibc}), layer(made.torch()))
    facts = scan(opened.layers, opened, env=PATH | env)
    assert facts.unread == 1
    compat_libraries = layers_snapshot(facts, "", PATH | env).container.compat
    assert isinstance(compat_libraries, tuple) and compat_libraries[0].version == "550.54.15"
    assert isinstance(compat_libraries[0].host_branches, tuple)


STATUS = {"var/lib/dpkg/status": b"Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\n"}


def test_the_layer_in_which_the_environment_was_made_is_read() -> None:
    made_before = {"opt/venv/pyvenv.cfg": b"home = /usr/local/bin\nversion = 3.11.9\n", "opt/venv/bin/python3": b""}
    torch = {name.replace("usr/local", "opt/venv"): content for name, content in made.torch().items()}
    opened = Opened(layer(made.base()), layer(made_before), layer(STATUS | torch))
    env = {"PATH": "/opt/venv/bin:/usr/bin"}
    facts = scan(opened.layers, opened, env=env)
    snapshot = layers_snapshot(facts, "", env)
    assert facts.unread == 1, "the base is not needed"
    assert (snapshot.python.patient.kind, snapshot.python.patient.version) == ("venv", "3.11.9")
    assert snapshot.torch.version == "2.6.0+cu124"


def test_debians_own_folders_of_packages() -> None:
    torch = {
        name.replace("lib/python3.11/site-packages", "lib/python3.11/dist-packages"): content
        for name, content in made.torch().items()
    }
    python = {
        "usr/bin/python3.11": b"",
        "usr/bin/python3": link("usr/bin/python3", "python3.11"),
        "usr/lib/python3.11/os.py": b"",
    }
    opened = Opened(layer({"etc/os-release": b"ID=debian\n"}), layer(python), layer(STATUS | torch))
    env = {"PATH": "/usr/local/bin:/usr/bin"}
    facts = scan(opened.layers, opened, env=env)
    snapshot = layers_snapshot(facts, "", env)
    assert facts.unread == 1
    assert (snapshot.python.patient.prefix, snapshot.torch.version) == ("/usr", "2.6.0+cu124")


def test_a_torch_that_is_not_the_images_own_ends_nothing() -> None:
    other = {name.replace("usr/local", "opt/other"): content for name, content in made.torch("11.8", "2.3.1").items()}
    opened = Opened(layer(made.base() | made.torch()), layer(other))
    facts = scan(opened.layers, opened, env=PATH)
    assert (facts.unread, facts.torch_site) == (0, SITE)
    assert layers_snapshot(facts, "", PATH).torch.version == "2.6.0+cu124"


def test_drivers_in_the_image_are_named() -> None:
    facts = made.whole_facts(*[Blob(tar_of(one)) for one in CHANGES["a-driver-baked-in"]])
    assert facts.driver_libraries == (
        "/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01",
        "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.183.01",
    )
    assert made.whole_facts(*[Blob(tar_of(one)) for one in CHANGES["cuda-with-compat"]]).driver_libraries == ()


@for_each("silent", [False, True])
def test_a_cut_connection_goes_on_where_it_was(silent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.images.layers.download._WAIT_S", 0)
    blobs = layer(made.base()), layer(made.torch())
    cuts = [0, 5_000, 9_000, 9_500, 20_000, 1_000]
    opened = Opened(*blobs, piece=700, cuts=cuts, silent=silent)
    facts = scan(opened.layers, opened, whole=True)
    offsets = [offset for digest, offset in opened.asked if digest == opened.layers[1].digest]
    assert len(offsets) == 6 and offsets == sorted(offsets) and offsets[-1] > 19_000
    assert all(one.checked for one in facts.layers)
    assert layers_snapshot(facts, "") == layers_snapshot(made.whole_facts(*blobs), "")


def test_the_folders_of_layers_are_never_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made.whole_facts(layer(made.base() | {"../out": b"x", "/abs": b"x", "folder/": folder("folder/")}))
    assert list(tmp_path.rglob("*")) == []
