"""`gpudoctor image --layers`: from the flag to the verdict, on a layout and on a registry whose connections break."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import jsonschema
import pytest

from doctor.formats.reader import FileReader
from doctor.images.layer import Layer
from doctor.images.layers import layers_snapshot, scan
from doctor.probes.tools import code

from ..cli.command import gpudoctor, one_line
from ..fixtures.fatbins import synthetic
from ..parts import torch_wheel
from . import layer_sources as made
from .layer_sources import SITE
from .layouts import Blob, Layout, config, layer
from .registries import Running, free_port

ENV = {"CUDA_VERSION": "12.4.1", "PYTORCH_VERSION": "2.5.1", "PATH": "/usr/local/bin:/usr/bin"}
NOISE = {"opt/data/noise": Random(1).randbytes(3 << 20)}
HOST = ("--driver", "570.86", "--gpu", "RTX A5000")


def image(folder: Path, *layers: Blob) -> Layout:
    layout = Layout(folder)
    layout.tag("latest", layout.image(config(env=ENV), layers))
    return layout


def about(*arguments: str | Path, code: int = 0) -> dict[str, object]:
    done = gpudoctor("image", *arguments, "--format", "json")
    assert done.returncode == code, done.stderr.decode()
    schema = json.loads(gpudoctor("schema", "image").stdout)
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, schema)
    found: dict[str, object] = answer["image"]
    return found


@pytest.mark.slow
def test_what_lies_in_the_layers_beats_what_the_config_says(tmp_path: Path) -> None:
    folder = image(tmp_path / "image", layer(made.base() | NOISE), layer(made.torch())).folder
    without = about(folder, *HOST, code=3)  # whether its torch has code for the GPU is not in the config
    assert (without["torch"], without["layers_read"]) == ("2.5.1", None)
    found = about(folder, *HOST, "--layers")
    assert (found["torch"], found["python"]) == ("2.6.0+cu124", "3.11")
    assert found["torch_source"] == f"/{SITE}/torch (the config says 2.5.1)"
    read = found["layers_read"]
    assert isinstance(read, list) and [one["digest_checked"] for one in read] == [True, False]


def test_it_says_before_how_much_and_after_how_far(tmp_path: Path) -> None:
    folder = image(tmp_path / "image", layer({"etc/hostname": b"x"}), layer(made.base() | made.torch())).folder
    done = gpudoctor("image", folder, *HOST, "--layers")
    assert done.returncode == 0
    assert done.stderr.decode().startswith("gpudoctor: reading at most 2")
    assert done.stderr.decode().count("\n") == 1, "no bar where stderr is no terminal"
    assert "layers read: 1 of 2," in done.stdout.decode()
    assert "digests" in gpudoctor("image", folder, *HOST, "--all-layers").stdout.decode()


def test_a_torch_without_code_for_the_gpu_is_found_by_its_bytes(tmp_path: Path) -> None:
    files = made.torch() | {f"{SITE}/torch/lib/libtorch_cuda.so": synthetic.fatbin_library([["sm_80", "sm_90"]])}
    folder = image(tmp_path / "image", layer(made.base()), layer(files)).folder
    done = gpudoctor("image", folder, "--driver", "580", "--gpu", "RTX 5090", "--all-layers", "--format", "json")
    assert done.returncode == 1
    findings = json.loads(done.stdout)["hosts"][0]["findings"]
    assert findings[0]["id"] == "torch-lacks-new-gpu-sm"


@pytest.mark.slow
def test_a_driver_in_the_image_is_told(tmp_path: Path) -> None:
    library = "usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01"
    soname = library.replace("so.535.183.01", "so.1")
    files = made.base() | made.torch() | {library: b"driver", soname: made.link(soname, "libcuda.so.535.183.01")}
    folder = image(tmp_path / "image", layer(files)).folder
    assert about(folder, *HOST, "--all-layers")["driver_libraries"] == [f"/{library}"]
    words = " ".join(gpudoctor("image", folder, *HOST, "--all-layers").stdout.decode().split())
    assert f"driver inside: /{library}" in words
    assert "WARN The image contains a driver library, libcuda.so.535.183.01" in words


def test_the_compat_librarys_own_list_decides(tmp_path: Path) -> None:
    compat = "usr/local/cuda-12.4/compat"
    inside = {
        f"{compat}/libcuda.so.1": made.link(f"{compat}/libcuda.so.1", "libcuda.so.575.57.08"),
        f"{compat}/libcuda.so.575.57.08": (made.ELF / "note.so").read_bytes(),  # for 535 and newer, no GeForce
    }
    folder = image(tmp_path / "image", layer(made.base() | inside), layer(made.torch())).folder
    hosts = ["--driver", "470.239", "--driver", "535.183", "--gpu", "A100", "--gpu", "RTX 3090"]
    done = gpudoctor("image", folder, *hosts, "--all-layers", "--format", "json")
    rows = {one["host"]: (one["verdict"], one["forward_compat"]) for one in json.loads(done.stdout)["hosts"]}
    assert rows["A100, driver 470.239"] == ("fail", "not-on-this-driver")
    assert rows["GeForce RTX 3090, driver 470.239"][0] == "fail"
    without = image(tmp_path / "without", layer(made.base()), layer(made.torch())).folder
    done = gpudoctor("image", without, *hosts, "--all-layers", "--format", "json")
    assert {one["verdict"] for one in json.loads(done.stdout)["hosts"] if "470" in one["host"]} == {"fail"}


def test_names_that_are_no_text(tmp_path: Path) -> None:
    site = "opt/\udcff\x1b[31m/lib/python3.11/site-packages"
    files = {name.replace(SITE, site): content for name, content in made.torch().items()}
    files["opt/\udcff\x1b[31m/lib/libcuda.so.535.183.01"] = b"driver"
    folder = image(tmp_path / "image", layer(made.base() | files)).folder
    found = about(folder, *HOST, "--all-layers")
    assert found["driver_libraries"] == ["/opt/\ufffd\x1b[31m/lib/libcuda.so.535.183.01"]
    done = gpudoctor("image", folder, *HOST, "--all-layers")
    assert (done.returncode, b"\x1b" in done.stdout, b"Traceback" in done.stderr) == (0, False, False)


def test_what_cannot_be_read_ends_in_one_line(tmp_path: Path) -> None:
    layout = image(tmp_path / "image", layer(made.base()), layer(made.torch()))
    manifest = json.loads(
        layout.path(json.loads((layout.folder / "index.json").read_text())["manifests"][0]["digest"]).read_text()
    )
    blob = layout.path(manifest["layers"][1]["digest"])
    data = blob.read_bytes()
    blob.write_bytes(data[:500] + bytes(400) + data[900:])
    done = gpudoctor("image", layout.folder, "--layers")
    assert (done.returncode, done.stdout) == (2, b"")
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("gpudoctor: layer sha256:") and "damaged gzip" in last
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    assert "so it has no layers: drop the option" in one_line(gpudoctor("image", root, "--layers"))


class Cutting:
    """Between a client and a registry: each connection that has carried so many bytes of an answer is cut."""

    def __init__(self, address: str, after: int) -> None:
        host, _, port = address.partition(":")
        self._upstream, self._after = (host, int(port)), after
        self.cuts = 0
        self.ranges: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._upstream) as upstream:
            threading.Thread(target=self._requests, args=(client, upstream), daemon=True).start()
            carried = 0
            with contextlib.suppress(OSError):
                while data := upstream.recv(1 << 16):
                    client.sendall(data)
                    carried += len(data)
                    if carried > self._after:
                        self.cuts += 1
                        client.shutdown(socket.SHUT_RDWR)
                        return

    def _requests(self, client: socket.socket, upstream: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                self.ranges += [line for line in data.split(b"\r\n") if line.lower().startswith(b"range:")]
                upstream.sendall(data)


@pytest.fixture
def cutting(plain_registry: Running) -> Iterator[Cutting]:
    proxy = Cutting(plain_registry.address, 1 << 20)
    yield proxy
    proxy.close()


@pytest.mark.registry
def test_a_registry_whose_connections_break(
    plain_registry: Running, cutting: Cutting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DOCKER_CONFIG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    layout = image(tmp_path / "image", layer(made.base()), layer(NOISE | made.torch()))
    reference = plain_registry.push(layout, "layers")
    found = about(reference.replace(plain_registry.address, cutting.address), *HOST, "--all-layers", "--plain-http")
    assert found["torch"] == "2.6.0+cu124"
    read = found["layers_read"]
    assert isinstance(read, list) and all(one["digest_checked"] for one in read)
    assert cutting.cuts >= 2 and len(cutting.ranges) >= 2


@pytest.mark.nvcc
def test_a_library_that_nvcc_compiles_here(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void add(float *x) { x[threadIdx.x] += 1; }\n", "utf-8")
    targets = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"]
    out = tmp_path / "flash_attn_2_cuda.so"
    subprocess.run(
        [str(shutil.which("nvcc")), "-shared", "-Xcompiler", "-fPIC", *targets, "-o", out, tmp_path / "k.cu"],
        check=True,
        timeout=300,
    )
    name = f"{SITE}/flash_attn_2_cuda.so"
    facts = made.whole_facts(layer(made.base() | made.torch() | {name: out.read_bytes()}))
    extensions = layers_snapshot(facts, "").python.extensions
    assert isinstance(extensions, tuple)
    [flash] = [one for one in extensions if one.path == f"/{name}"]
    assert (flash.sass, flash.ptx) == (("8.0", "9.0"), ("9.0",))
    with FileReader(str(out)):
        assert facts.nodes[name].content.code == code(str(out))  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.torch_wheel
def test_the_real_torch_in_a_layer(tmp_path: Path) -> None:
    wheel = torch_wheel()
    assert wheel is not None
    root = tmp_path / "root"
    for name, content in (made.base() | {"usr/local/bin/python3": b"python"}).items():
        if isinstance(content, bytes):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    shutil.unpack_archive(str(wheel), root / SITE, "zip")
    packed = tmp_path / "layer.tar"
    with tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            tar.add(path, str(path.relative_to(root)), recursive=False)

    def pieces(one: Layer, offset: int = 0) -> Iterator[bytes]:
        with packed.open("rb") as file:
            file.seek(offset)
            while data := file.read(1 << 20):
                yield data

    facts = scan([Layer("", packed.stat().st_size, "")], pieces, whole=True)
    snapshot = layers_snapshot(facts, "", made.PATH)
    assert snapshot.torch.version == "2.13.0+cpu" and snapshot.torch.build == "cpu"
    assert made.differences(snapshot.replace({"target": made.Target()}), made.of_folder(root, made.PATH)) == {}
