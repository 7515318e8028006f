"""The importer of packages' releases, from an index on this machine that answers as PyPI does."""

from __future__ import annotations

import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compat_matrix import Matrix
from compat_matrix.importers.__main__ import main
from compat_matrix.importers.package_index import Release, platforms_of, pythons_of
from compat_matrix.packages import cuda_of, goes_with
from compat_matrix.rows_more import Extension

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NONE_DIFFERS = "0 added, 0 changed, 0 contradicted"
VLLM = {"0.30.0": "==2.13.0", "0.34.0": "==2.15.0", "0.35.0": ">=2.0"}


def wheel(name: str, version: str, needs: tuple[str, ...], *files: str, extras: tuple[str, ...] = ()) -> bytes:
    """A wheel with this metadata and these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in files:
            archive.writestr(file, bytes(100_000))
        lines = [
            "Metadata-Version: 2.4",
            f"Name: {name}",
            f"Version: {version}",
            *(f"Requires-Dist: {n}" for n in needs),
            *(f"Provides-Extra: {one}" for one in extras),
        ]
        archive.writestr(f"{name}-{version}.dist-info/METADATA", "\n".join(lines) + "\n\nWords.\n")
    return content.getvalue()


REPLACED = "vllm-0.34.0-1-cp38-abi3-manylinux_2_31_x86_64.whl"
"""It has a build tag: uploaded again, days later; an index lists it before the first one."""
WHEELS = {
    REPLACED: wheel("vllm", "0.34.0", ("torch==2.15.0",)),
    **{
        f"vllm-{version}-cp38-abi3-manylinux_2_31_{machine}.whl": wheel("vllm", version, (f"torch{torch}", "torchvision"))
        for version, torch in VLLM.items()
        for machine in ("x86_64", "aarch64")
    },
    "vllm-0.36.0rc1-cp38-abi3-manylinux1_x86_64.whl": b"",
    **{
        f"bitsandbytes-{version}-py3-none-{platform}.whl": wheel(
            "bitsandbytes", version, ("torch (<3,>=2.4)",), *(f"bitsandbytes/libbitsandbytes_cuda{n}.so" for n in (118, 132, 126))
        )
        for version in ("0.50.2", "0.51.0")
        for platform in ("manylinux_2_24_x86_64", "win_amd64")
    },
}  # fmt: skip
PLUGIN = ("nvidia-cuda-runtime>=13.1.80; extra == 'with_cuda'", "nvidia-cudnn-cu13<10,>=9.15.0.1; extra == 'with_cuda'")
TENSORFLOW = tuple(f"nvidia-{name}-cu12<13,>=12.9.79; extra == 'and-cuda'" for name in ("cuda-runtime", "cudnn"))
ONNX = ("nvidia-cuda-runtime-cu13~=13.0; extra == 'cuda'", "nvidia-cudnn-cu13~=9.0; extra == 'cudnn'")
WHEELS |= {
    **{
        f"jax_cuda13_plugin-0.13.0-{python}-{python}-manylinux_2_27_{machine}.whl": wheel(
            "jax_cuda13_plugin", "0.13.0", PLUGIN, extras=("with_cuda", "docs")
        )
        for python in ("cp313", "cp314", "cp313t")
        for machine in ("x86_64", "aarch64")
    },
    "cupy_cuda13x-14.3.0-cp312-cp312-win_amd64.whl": wheel("cupy_cuda13x", "14.3.0", ("numpy",)),
    **{
        f"tensorflow-2.22.{patch}-cp31{patch}-cp31{patch}-{platform}.whl": wheel(
            "tensorflow", f"2.22.{patch}", TENSORFLOW, extras=("and-cuda",)
        )
        for patch in (1, 2)
        for platform in ("manylinux_2_27_x86_64", "win_amd64", "manylinux_2_27_aarch64")
    },
    "tensorflow-2.13.9-cp311-cp311-manylinux_2_27_x86_64.whl": wheel("tensorflow", "2.13.9", ()),
    "tensorflow-1.10.0-cp36-cp36m-win_amd64.whl": wheel("tensorflow", "1.10.0", ()),
    "tensorflow-1.10.1-cp35-cp35m-manylinux1_x86_64.whl": wheel("tensorflow", "1.10.1", ()),
    "onnxruntime_gpu-1.32.0-cp312-cp312-win_amd64.whl": wheel(
        "onnxruntime_gpu", "1.32.0", ONNX, extras=("cuda", "cudnn")
    ),
    **{
        f"{name}-1.0-py3-none-any.whl": wheel(name, "1.0", ())
        for name in ("nvidia_cuda_runtime", "nvidia_cudnn_cu13", "nvidia_cuda_runtime_cu12", "nvidia_cudnn_cu12")
    },
}


def sdist(name: str, version: str, needs: tuple[str, ...]) -> bytes:
    """A source distribution with this metadata before a large file."""
    content = io.BytesIO()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {n}" for n in needs)]
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for path, data in (("LICENSE", b"-"), ("PKG-INFO", "\n".join(lines).encode()), ("src/a.cu", bytes(100_000))):
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()


WHEELS |= {
    "deepspeed-0.20.0.tar.gz": sdist("deepspeed", "0.20.0", ("torch>=2.1", "ninja")),
    "deepspeed-0.20.1.tar.gz": sdist("deepspeed", "0.20.1", ("torch",)),
    "deepspeed-0.20.1-cp312-cp312-win_amd64.whl": wheel("deepspeed", "0.20.1", ("torch",)),
    "transformer_engine-0.0.0-py3-none-any.whl": wheel("transformer_engine", "0.0.0", ()),
    "transformer_engine-2.21.0-py3-none-any.whl": wheel(
        "transformer_engine", "2.21.0", ('transformer_engine_cu12==2.21.0; extra == "core"',), extras=("core-cu12", "core-cu13")
    ),
    "transformer_engine_torch-2.21.0.tar.gz": sdist("transformer_engine_torch", "2.21.0", ("torch>=2.2",)),
    **{
        f"transformer_engine_cu12-2.21.0-py3-none-manylinux_2_28_{machine}.whl": b"" for machine in ("x86_64", "aarch64")
    },
    "flashinfer_python-0.8.0-py3-none-any.whl": wheel("flashinfer_python", "0.8.0", ("torch",)),
    "xformers-0.9.0-cp38-cp38-manylinux_2_17_x86_64.whl": wheel("xformers", "0.9.0", ("torch>=1.12",)),
    "xformers-0.9.1-cp312-cp312-manylinux_2_28_x86_64.whl": wheel("xformers", "0.9.1", ("torch==2.15.0",)),
    "xformers-0.9.2-cp39-abi3-manylinux_2_28_x86_64.whl": wheel("xformers", "0.9.2", ("torch>=2.10",)),
    "vllm-0.37.0.tar.gz": sdist("vllm", "0.37.0", ()),
    "vllm-0.38.0-cp38-abi3-manylinux_2_31_x86_64.whl": wheel("vllm", "0.38.0", ("torch>=2.0",)),
    **{
        f"sglang-0.9.{n}-py3-none-any.whl": wheel(
            "sglang", f"0.9.{n}", ('torch; extra == "srt"', f'vllm{needs}; extra == "srt"'), extras=("srt",)
        )
        for n, needs in enumerate(("<=0.33.0,>=0.30", ">=0.30", "<=0.38.0,>=0.38"))
    },
    "jax-0.4.29-py3-none-any.whl": wheel(
        "jax", "0.4.29", ("nvidia-cuda-runtime-cu12>=12.1.105; extra == 'cuda12'",), extras=("cuda12",)
    ),
    "jax_cuda12_plugin-0.4.29-cp312-cp312-manylinux2014_x86_64.whl": wheel("jax_cuda12_plugin", "0.4.29", ()),
    "jax_cuda12_plugin-0.4.22-cp312-cp312-manylinux2014_x86_64.whl": wheel("jax_cuda12_plugin", "0.4.22", ()),
}  # fmt: skip
WITH_METADATA = "0.30.0"
"""The one release whose metadata is a file of its own on this index."""


class Index(BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...

    def do_HEAD(self) -> None:
        self.answer(200, WHEELS[self.path[1:]], body=False)

    def do_GET(self) -> None:
        name = self.path.strip("/")
        if name.endswith(".metadata"):
            if WITH_METADATA not in name:
                return self.answer(404, b"")
            with zipfile.ZipFile(io.BytesIO(WHEELS[name.removesuffix(".metadata")])) as archive:
                return self.answer(200, archive.read(f"vllm-{WITH_METADATA}.dist-info/METADATA"))
        if name.endswith(".tar.gz"):
            return self.answer(200, WHEELS[name])
        if name in WHEELS:
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            assert int(last) - int(first) < 1 << 17, "no wheel is read whole"
            return self.answer(206, WHEELS[name][int(first) : int(last) + 1])
        host = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
        files = [
            {"filename": f, "url": f"{host}/{f}", "requires-python": ">=3.10",
             "upload-time": f"2026-11-2{3 * (f == REPLACED)}T01:02:03Z",
             "yanked": "0.35" in f and "broken"}
            for f in WHEELS if f.partition("-")[0] == name.replace("-", "_")
        ]  # fmt: skip
        if not files:
            return self.answer(404, b"")
        return self.answer(200, json.dumps({"files": files}).encode())

    def answer(self, code: int, content: bytes, body: bool = True) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its address, which pip is set to."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("PIP_INDEX_URL", address)
    yield address
    server.shutdown()


def test_new_releases_become_rows(index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("extensions", "frameworks", "torch_releases", "publishers", "sources"):
        (tmp_path / f"{name}.json").write_bytes((ROOT / "compat_matrix" / "data" / f"{name}.json").read_bytes())
    words = ["packages", "--package", "vllm", "--package", "bitsandbytes", "--data", str(tmp_path)]
    assert main([*words, "--write"]) == 1
    rows = {(r["package"], r["version"]): r for r in json.loads((tmp_path / "extensions.json").read_text())}
    new = rows["vllm", "0.34.0"]
    assert (new["torch"], new["min_driver"], new["cuda"]) == ("==2.15.0", "580", "PyPI wheel CUDA 13")
    assert (new["date"], new["requires_python"], new["platforms"]) == ("2026-11-20", ">=3.10", "linux x86_64 aarch64")
    assert new["min_sm"] == rows["vllm", "0.33.0"]["min_sm"], "of the release before it"
    assert not {("vllm", "0.35.0"), ("vllm", "0.36.0rc1")} & rows.keys(), "withdrawn, and not final"
    other = rows["bitsandbytes", "0.51.0"]
    assert other["cuda"].endswith("inside the wheel: 11.8 to 13.2") and other["torch"] == "<3,>=2.4"
    assert other["platforms"] == "linux x86_64, windows"
    assert rows["vllm", "0.30.0"]["source"] == "pypi-metadata-and-names-of-the-wheels-of-each-vllm-read-2026", (
        "it keeps its own"
    )
    capsys.readouterr()
    assert main(words) == 0 and NONE_DIFFERS in capsys.readouterr().out, "a second run finds no difference"


def test_new_releases_of_frameworks_become_rows(index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("extensions", "frameworks", "torch_releases", "publishers", "sources"):
        (tmp_path / f"{name}.json").write_bytes((ROOT / "compat_matrix" / "data" / f"{name}.json").read_bytes())
    packages = ("jax-cuda13-plugin", "cupy-cuda13x", "tensorflow", "onnxruntime-gpu")
    words = ["packages", *(word for one in packages for word in ("--package", one)), "--data", str(tmp_path)]
    assert main([*words, "--write"]) == 1
    rows = {(r["package"], r["version"]): r for r in json.loads((tmp_path / "frameworks.json").read_text())}
    jax = rows["jax-cuda13-plugin", "0.13.0"]
    assert (jax["cuda"], jax["cudnn"], jax["extra"]) == ("13.1", "9.15", "with-cuda")
    assert jax["pythons"] == ["3.13", "3.14"] and jax["gpu_platforms"] == ["linux_x86_64", "linux_aarch64"]
    cupy = rows["cupy-cuda13x", "14.3.0"]
    assert (cupy["cuda"], cupy["gpu_platforms"]) == ("13", ["windows"]) and "cudnn" not in cupy and "extra" not in cupy
    tensorflow = rows["tensorflow", "2.22"]
    assert tensorflow["pythons"] == ["3.12"], "of the last patch"
    assert tensorflow["gpu_platforms"] == ["linux_x86_64"], "its other wheels use no GPU"
    assert not {("tensorflow", "2.22.2"), ("tensorflow", "2.13.9")} & rows.keys()
    assert tensorflow["releases"] == ["2.22.1", "2.22.2"]
    older = rows["tensorflow", "2.13"]
    assert older["releases"] == ["2.13.9"] and older["confidence"] == "documented", "the rest is not in its metadata"
    assert older["pythons"] == ["3.11"], "of all its wheels"
    split = rows["tensorflow", "1.10"]
    assert (split["releases"], split["pythons"]) == (["1.10.0"], ["3.6"]), "1.10.1 has a row of its own"
    compared = {(r["table"], r.get("package")): r for r in json.loads((tmp_path / "publishers.json").read_text())}
    shipped = {r.package or None: r.read_date for r in Matrix.load().publishers if r.table in ("frameworks", "drivers")}
    assert compared["frameworks", "tensorflow"]["read_date"] == date.today().isoformat()
    assert compared["frameworks", "cupy-cuda12x"]["read_date"] == shipped["cupy-cuda12x"], "it was not read"
    assert compared["drivers", None]["read_date"] == shipped[None]
    onnx = rows["onnxruntime-gpu", "1.32"]
    assert (onnx["cuda"], onnx["cudnn"]) == ("13", "9") and "extra" not in onnx, "its extra cannot be installed"
    capsys.readouterr()
    assert main(words) == 0 and NONE_DIFFERS in capsys.readouterr().out, "a second run finds no difference"


def test_releases_without_wheels_and_of_several_packages_become_rows(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("extensions", "frameworks", "torch_releases", "publishers", "sources"):
        (tmp_path / f"{name}.json").write_bytes((ROOT / "compat_matrix" / "data" / f"{name}.json").read_bytes())
    packages = ("deepspeed", "transformer-engine", "flashinfer-python")
    words = ["packages", *(word for one in packages for word in ("--package", one)), "--data", str(tmp_path)]
    assert main([*words, "--write"]) == 1
    rows = {(r["package"], r["version"]): r for r in json.loads((tmp_path / "extensions.json").read_text())}
    sdist = rows["deepspeed", "0.20.0"]
    assert (sdist["torch"], sdist["platforms"]) == (">=2.1", "sdist only") and "min_sm" not in sdist
    both = rows["deepspeed", "0.20.1"]
    assert both["platforms"] == "sdist; wheels for windows" and "pythons" not in both, "any Python builds the source"
    engine = rows["transformer-engine", "2.21.0"]
    assert engine["torch"] == ">=2.2", "of the package that is built for torch"
    assert engine["platforms"] == "linux x86_64 aarch64", "of the package with the kernels"
    assert engine["cuda"] == "12 or 13" and ("transformer-engine", "0.0.0") not in rows
    sources = json.loads((tmp_path / "sources.json").read_text())
    assert "each transformer-engine, transformer-engine-cu12 and transformer-engine-torch" in sources[engine["source"]]
    any_torch = rows["flashinfer-python", "0.8.0"]
    assert any_torch["platforms"] == "any platform" and "torch" not in any_torch and "cuda" not in any_torch
    m = Matrix.load()
    row = msgspec.convert(engine, Extension)
    assert cuda_of(m, row) == ("12", "13") and goes_with(m, row, "torch", "2.9.0")
    capsys.readouterr()
    assert main(words) == 0 and NONE_DIFFERS in capsys.readouterr().out, "a second run finds no difference"


def test_a_release_that_pins_no_torch_has_that_of_what_it_allows(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """sglang, of the newest vllm in a range that ends; vllm itself says what its metadata does."""
    for name in ("extensions", "frameworks", "torch_releases", "publishers", "sources"):
        (tmp_path / f"{name}.json").write_bytes((ROOT / "compat_matrix" / "data" / f"{name}.json").read_bytes())
    words = ["packages", "--package", "vllm", "--package", "sglang", "--data", str(tmp_path)]
    assert main([*words, "--write"]) == 1
    rows = {(r["package"], r["version"]): r for r in json.loads((tmp_path / "extensions.json").read_text())}
    derived, vllm = rows["sglang", "0.9.0"], rows["vllm", "0.33.0"]
    assert {name: derived[name] for name in ("torch", "min_driver", "min_sm")} == {
        "torch": "==2.14.0", "min_driver": "580", "min_sm": vllm["min_sm"]
    }  # fmt: skip
    assert derived["confidence"] == "derived" and "vllm 0.33.0" in derived["note"]
    assert "each sglang and vllm" in json.loads((tmp_path / "sources.json").read_text())[derived["source"]]
    for open_ in (rows["sglang", "0.9.1"], rows["sglang", "0.9.2"]):
        assert "torch" not in open_ and "cuda" not in open_ and open_["confidence"] == "measured", open_
    assert rows["vllm", "0.37.0"]["platforms"] == "sdist only" and "min_sm" not in rows["vllm", "0.37.0"]
    assert rows["vllm", "0.38.0"]["torch"] == "metadata: >=2.0" and "cuda" not in rows["vllm", "0.38.0"]
    capsys.readouterr()
    assert main(words) == 0 and NONE_DIFFERS in capsys.readouterr().out, "a second run finds no difference"


def test_an_extension_of_one_python_is_for_one_torch(index: str, tmp_path: Path) -> None:
    """xformers 0.0.13 allows any torch from 1.12 on, and links libtorch_cuda_cu.so, which torch 2 has not."""
    for name in ("extensions", "frameworks", "torch_releases", "publishers", "sources"):
        (tmp_path / f"{name}.json").write_bytes((ROOT / "compat_matrix" / "data" / f"{name}.json").read_bytes())
    assert main(["packages", "--package", "xformers", "--data", str(tmp_path), "--write"]) == 1
    rows = {
        r["version"]: r for r in json.loads((tmp_path / "extensions.json").read_text()) if r["package"] == "xformers"
    }
    torch = [rows[version]["torch"] for version in ("0.9.0", "0.9.1", "0.9.2")]
    assert torch == ["metadata: >=1.12", "==2.15.0", ">=2.10"]


def test_a_plugin_whose_extra_is_that_of_another_package(index: str, tmp_path: Path) -> None:
    for name in ("extensions", "frameworks", "torch_releases", "publishers", "sources"):
        (tmp_path / f"{name}.json").write_bytes((ROOT / "compat_matrix" / "data" / f"{name}.json").read_bytes())
    (tmp_path / "frameworks.json").write_text("[]")
    assert main(["packages", "--package", "jax-cuda12-plugin", "--data", str(tmp_path), "--write"]) == 1
    (row,) = json.loads((tmp_path / "frameworks.json").read_text())
    assert (row["version"], row["cuda"]) == ("0.4.29", "12.1") and "extra" not in row, "the other cannot be installed"


def test_an_index_that_is_away_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9")
    assert main(["packages", "--package", "vllm"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("packages: ") and said.count("\n") == 1 and "refused" in said


def test_pythons_of_the_names_of_wheels() -> None:
    def of(*names: str) -> list[str]:
        return pythons_of(Release("1.0", "", "", dict.fromkeys(names, "")))

    for_one = [f"a-1.0-cp3{n}-cp3{n}-win_amd64.whl" for n in (10, 9)]
    assert of(*for_one) == ["3.9", "3.10"] and of(*for_one, "a-1.0-cp313-cp313t-win_amd64.whl") == ["3.9", "3.10"]
    assert of("a-1.0-cp37-cp37m-win_amd64.whl") == ["3.7"]
    assert of(*for_one, "a-1.0-cp39-abi3-manylinux1_x86_64.whl") == of("a-1.0-py3-none-any.whl") == of() == []


def test_platforms_of_the_names_of_wheels() -> None:
    assert platforms_of(["x-1-py3-none-any.whl"]) == ""
    assert platforms_of(["x-1-cp311-cp311-win_amd64.whl"]) == "windows"
    assert (
        platforms_of(["x-1-cp311-cp311-macosx_11_0_arm64.whl", "x-1-cp311-cp311-manylinux1_x86_64.whl"])
        == "linux x86_64"
    )
