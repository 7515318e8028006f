"""What `gpudoctor image --layers` costs on a layer of a gigabyte: processor time, memory, bytes read.

    python benchmarks/layers.py [--mib 1024] [--rounds 5] [--keep FILE] [--wheel FILE]

The layer is made here: the torch that pip's find-links folders have (a CPU wheel), a libtorch_cuda.so put together of
fat binary containers for six architectures whose payloads do not compress, a library that nvcc compiled, and 200 MB
behind torch that nobody needs. `--wheel`: the files of a real torch wheel with CUDA in place of the first two. It is
compared with a plain pass of zlib over as many bytes, the two taking turns, each in a process of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median
from typing import BinaryIO

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
SITE = "usr/local/lib/python3.11/site-packages"
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
KERNEL = "__global__ void add(float *x, float y) { x[blockIdx.x * blockDim.x + threadIdx.x] += y; }\n"
PIECE = 1 << 20


class Sink:
    """gzip as the engines write it, to a file; counts."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._packer = file, zlib.compressobj(4, wbits=31)
        self.stored = 0

    def write(self, data: bytes) -> int:
        packed = self._packer.compress(data)
        self.stored += len(packed)
        self._file.write(packed)
        return len(data)

    def end(self) -> None:
        self._file.write(self._packer.flush())


def compiled(folder: Path) -> bytes:
    """A library with one kernel for each architecture, by the nvcc that is here."""
    (folder / "k.cu").write_text(KERNEL, "utf-8")
    codes = [f"-gencode=arch=compute_{a[3:]},code={a}" for a in ARCHS]
    out = folder / "k.so"
    subprocess.run(["nvcc", "-shared", "-Xcompiler", "-fPIC", *codes, "-o", out, folder / "k.cu"], check=True)
    return out.read_bytes()


def kernels(mib: int) -> Iterator[bytes]:
    """The bytes of a libtorch_cuda.so whose .nv_fatbin has so many MiB: containers of six architectures."""
    from tests.fixtures.fatbins import synthetic

    random, left, boxes = Random(17), mib << 20, []
    while left > 0:
        entries = []
        for arch in ARCHS:
            size = random.randrange(2_000, 120_000) // 8 * 8
            head = synthetic.entry(arch, size=0, unpacked=size * 3)
            fields = bytearray(head)
            fields[8:16] = size.to_bytes(8, "little")
            entries.append(bytes(fields) + random.randbytes(size))
        boxes.append(synthetic.container(entries))
        left -= len(boxes[-1])
    return iter([synthetic.library({".text": random.randbytes(1 << 20), ".nv_fatbin": b"".join(boxes)})])


def make(path: Path, mib: int, given: Path | None) -> dict[str, int]:
    """Write the layer until it has so many MiB; its figures."""
    from tests.parts import torch_wheel

    wheel = given or torch_wheel()
    if wheel is None:
        sys.exit("no CPU wheel of torch in a find-links folder of pip")
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory())
        file, archive = stack.enter_context(path.open("wb")), stack.enter_context(zipfile.ZipFile(wheel))
        extension = compiled(Path(scratch))
        sink = Sink(file)
        tar = stack.enter_context(tarfile.open(fileobj=sink, mode="w|", format=tarfile.PAX_FORMAT))

        def add(name: str, data: bytes) -> None:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))

        add("usr/lib/x86_64-linux-gnu/libc.so.6", b"stable release version 2.36.")
        add(f"{SITE}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", extension)
        names = sorted((n for n in archive.namelist() if not n.endswith("/")), key=lambda n: n.split("/"))
        before = names if given else [n for n in names if n.split("/") < ["torch", "lib", "libtorch_cuda.so"]]
        for name in before:
            add(f"{SITE}/{name}", archive.read(name))
        used = sink.stored >> 20
        rest = sum(archive.getinfo(n).compress_size for n in names if n not in set(before)) >> 20
        for data in () if given else kernels(mib - used - rest):
            add(f"{SITE}/torch/lib/libtorch_cuda.so", data)
        for name in names[len(before) :]:
            data = archive.read(name)
            if name == "torch/version.py":
                data = b"__version__ = '2.13.0+cu130'\ncuda = '13.0'\ndebug = False\ngit_version = 'x'\nhip = None\n"
            add(f"{SITE}/{name}", data)
        wanted = sink.stored
        random = Random(3)
        for number in range(200):
            add(f"var/lib/later/{number:03}", random.randbytes(1 << 20))
        tar.close()
        sink.end()
    return {"stored": path.stat().st_size, "wanted": wanted}


def plain(path: str) -> None:
    """A pass of zlib over as many bytes as the other reads."""
    decoder, left = zlib.decompressobj(wbits=31), int(os.environ["BYTES"])
    with Path(path).open("rb") as file:
        while left > 0 and (data := file.read(min(PIECE, left))):
            left -= len(data)
            while data:
                decoder.decompress(data, 1 << 18)
                data = decoder.unconsumed_tail
    print(json.dumps({"cpu_s": sum(os.times()[:2])}))


def peak_kib() -> int:
    """The most memory that this process has had; `getrusage` would count its parent's too."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text("ascii"))
    return int(found.group(1)) if found else 0


def layers(path: str, whole: bool) -> None:
    """The product's pass."""
    before = peak_kib()
    from doctor.images.layer import Layer
    from doctor.images.layers import layers_snapshot, scan

    def pieces(layer: Layer, offset: int = 0) -> Iterator[bytes]:
        with Path(path).open("rb") as file:
            file.seek(offset)
            while data := file.read(PIECE):
                yield data

    size = Path(path).stat().st_size
    layer = Layer(os.environ.get("DIGEST", ""), size, "application/vnd.oci.image.layer.v1.tar+gzip")
    facts = scan([layer], pieces, whole=whole)
    snapshot = layers_snapshot(facts, "")
    print(
        json.dumps(
            {
                "cpu_s": sum(os.times()[:2]),
                "read": facts.layers[0].read,
                "checked": facts.layers[0].checked,
                "grown_mib": (peak_kib() - before) / 1024,
                "torch": str(snapshot.torch.version),
                "sass": list(snapshot.torch.sass) if isinstance(snapshot.torch.sass, tuple) else [],
            }
        )
    )


def asked(*words: str, **env: str) -> dict[str, object]:
    """What a process of its own printed."""
    run = subprocess.run(
        [sys.executable, __file__, *words], env={**os.environ, **env}, check=True, capture_output=True, text=True
    )
    answer: dict[str, object] = json.loads(run.stdout)
    return answer


def main() -> None:
    """Make the layer, let both take turns, print."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--mib", type=int, default=1024)
    flags.add_argument("--rounds", type=int, default=5)
    flags.add_argument("--keep")
    flags.add_argument("--wheel", type=Path)
    chosen = flags.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(chosen.keep or f"{folder}/layer.tar.gz")
        figures = make(path, chosen.mib, chosen.wheel)
        hashed = hashlib.sha256()
        with path.open("rb") as file:
            while data := file.read(PIECE):
                hashed.update(data)
        digest = f"sha256:{hashed.hexdigest()}"
        print(f"layer: {figures['stored']:,} bytes of gzip; the last wanted file ends near {figures['wanted']:,}")
        for how, words in (("until all is seen", "layers"), ("to its end, digest checked", "whole")):
            ratios, last = [], {}
            for _ in range(chosen.rounds):
                last = asked(words, str(path), DIGEST=digest)
                zlib_s = float(str(asked("plain", str(path), BYTES=str(last["read"]))["cpu_s"]))
                ratios.append(float(str(last["cpu_s"])) / zlib_s)
            print(
                f"{how}: {last['cpu_s']:.2f} s, zlib alone {zlib_s:.2f} s, {median(ratios):.2f} times "
                f"({', '.join(f'{r:.2f}' for r in ratios)}); {last['read']:,} bytes read, checked: {last['checked']}, "
                f"{last['grown_mib']:.0f} MiB over the interpreter; torch {last['torch']}, {last['sass']}"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["plain"]:
        plain(sys.argv[2])
    elif sys.argv[1:2] in (["layers"], ["whole"]):
        layers(sys.argv[2], sys.argv[1] == "whole")
    else:
        main()
