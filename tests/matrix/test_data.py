"""The data files: sound as shipped, and lint notices what is not."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compat_matrix import Matrix, MatrixError

from ..rows import for_each
from .conftest import Edit


def test_the_shipped_matrix_is_sound(m: Matrix) -> None:
    assert m.lint() == []
    assert re.fullmatch(r"20\d\d\.\d\d\.\d\d", m.version) and m.schema_version == 1


_DAYS = {
    "drivers": ("drivers", "first_release_date"),
    "toolkits": ("toolkits", "release_date"),
    "forward_compat": ("toolkits", "release_date"),
    "conda": ("conda", "date"),
    "extensions": ("extensions", "date"),
}
"""Table of a publisher -> the table and column with the days of its releases."""


def test_intervals_of_the_matrix_are_those_of_its_releases(m: Matrix) -> None:
    """By the rule `intervals` of the README, from the files themselves."""
    derived = [row for row in m.publishers if row.source == "intervals-of-the-matrix"]
    assert len(derived) >= 5
    for row in derived:
        table, column = _DAYS[row.table]
        rows = json.loads((Path(m.directory) / f"{table}.json").read_text("utf-8"))
        listed = {one.get(column, "") for one in rows if not row.package or one["package"] == row.package}
        days = sorted(date.fromisoformat(day) for day in listed if len(day) == 10)[-12:]
        median = statistics.median((later - day).days for day, later in pairwise(days))
        assert row.every_days == int(-(-median // 1)), (row.table, row.package)


def _set(index: int, **fields: object) -> Edit:
    return lambda rows: rows[index].update(fields)


def _where(key: str, value: str, **fields: object) -> Edit:
    def edit(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if str(row.get(key)) == value).update(fields)

    return edit


def _named(gpu: str, metric: str, **fields: object) -> Edit:
    def edit(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if (row["gpu"], row["metric"]) == (gpu, metric)).update(fields)

    return edit


BROKEN: list[tuple[str, Edit, str]] = [
    ("gpus", _set(0, note="boost clock from memory"), "its note is from memory"),
    ("torch_releases", _set(0, note="that it was published is memory"), "its note is from memory"),
    ("cuda_errors", _set(0, causes_confidence="memory"), "its causes are from memory"),
    ("nvml_errors", _set(0, causes_confidence="memory"), "its causes are from memory"),
    ("performance", _where("spec_peak", "378.0", spec_peak=409.7), "spec_peak 409.7 differs from 378 in gpu_specs"),
    (
        "performance",
        _named("A16 - PG171 SKU200 (dev 25B6)", "device_memory_bw", median=164.3),
        "is not 75% of measured",
    ),
    (
        "performance",
        _named("GB300 MaxQ (dev 31A1)", "device_memory_bw", median=7.9),
        "5946 is not 75% of measured, 7.9",
    ),
    (
        "performance",
        _named("EGX BF-2 A100 (dev 2236149D)", "sgemm_tflops", gpu_name="NVIDIA A10"),
        "does not belong to the product NVIDIA A10",
    ),
    (
        "performance",
        _named("Nvidia L4 (dev 27B8)", "sgemm_tflops", gpu_name="NVIDIA L40"),
        "does not belong to the product NVIDIA L40",
    ),
    ("performance", lambda rows: rows[0].pop("kind"), "performance.json"),
    ("performance", lambda rows: rows[0].pop("source"), "performance.json"),
    ("performance", _set(0, kind="usual"), "performance.json"),
    ("performance", _set(0, source="nowhere"), "source 'nowhere'"),
    (
        "performance",
        _named("NVIDIA L4", "matmul_tflops", conditions=""),
        "measured, but tool or conditions are missing",
    ),
    (
        "performance",
        _where("pattern", "peer copy of 40 or 160 MB", pattern="copy"),
        "copies of p2pBandwidthLatencyTest are too small",
    ),
    ("performance", _named("NVIDIA L4", "matmul_tflops", conditions="  "), "tool or conditions are missing"),
    ("performance", _named("NVIDIA L4", "matmul_tflops", pattern=" "), "tool or conditions are missing"),
    ("performance", _where("metric", "sm_clock_under_load", conditions=""), "tool or conditions are missing"),
    ("performance", _named("NVIDIA L4", "matmul_tflops", median=0.0), "median 0.0 is not a number above 0"),
    ("performance", _named("NVIDIA L4", "matmul_tflops", median=-1.0), "median -1.0 is not a number above 0"),
    ("performance", _named("NVIDIA L4", "matmul_tflops", median=None), "median None is not a number above 0"),
    ("performance", _named("NVIDIA L4", "matmul_tflops", min=0.0), "min 0.0 is not a number above 0"),
    ("performance", _named("NVIDIA L4", "matmul_tflops", median=float("nan")), "performance.json"),  # no JSON number
    ("performance", _named("NVIDIA L4", "matmul_tflops", min=90.0, max=9.0), "min 90 is above max 9"),
    ("performance", _named("NVIDIA L4", "matmul_tflops", median=15.4), "is not between min and max"),
    ("performance", _named("NVIDIA L4", "matmul_tflops", median=10.6), "is not between min and max"),
    ("performance", _where("pattern", "copy", unit="TB/s"), "unit 'TB/s' must be GB/s"),
    ("performance", _where("metric", "sm_clock_under_load", unit="GHz"), "unit 'GHz' must be MHz"),
    ("performance", _where("pattern", "bf16", unit="TOP/s"), "unit 'TOP/s' must be TFLOP/s"),
    ("performance", _where("pattern", "int8", unit="TFLOP/s"), "unit 'TFLOP/s' must be TOP/s"),
    ("performance", _where("pattern", "copy", metric="device_memory"), "belongs to no listed metric"),
    ("performance", _where("pattern", "tool not named", kind="measured"), "is not evidence of a measurement"),
    ("performance", _where("pattern", "dcgmproftester 1005", pattern="DCGMproftester 1005"), "is written 'dcgm"),
    ("performance", _where("pattern", "copy", pattern="Copy"), "'Copy' is written 'copy' in other rows"),
    ("performance", _where("pattern", "bf16", pattern="bf16 "), "'bf16 ' is written 'bf16' in other rows"),
    ("drivers", _set(3, source="nowhere"), "source 'nowhere'"),
    ("drivers", _set(3, confidence="sure"), "confidence 'sure'"),
    ("drivers", _set(3, colour="green"), "unknown field colour"),
    ("drivers", lambda rows: rows.append(rows[0]), "duplicate of 340"),
    ("drivers", _where("branch", "535", cuda="12.9"), "reports an older CUDA than 535"),
    ("drivers", _where("branch", "535", cuda="twelve"), "unreadable"),
    ("drivers", _where("branch", "535", latest_seen="545.1"), "545.1 does not belong to this branch"),
    ("toolkits", _where("version", "12.6.0", min_driver_linux="520.1"), "min_driver_linux is below"),
    ("toolkits", _where("version", "12.0.0", min_driver_windows="520.1"), "min_driver_windows is below"),
    ("forward_compat", _where("cuda", "13.0", hosts={"536": "compatible"}), "branch 536 is not in drivers"),
    ("compute_capability", _where("cc", "8.6", cc="eight"), "unreadable"),
    ("compute_capability", lambda rows: rows.remove(next(r for r in rows if r["cc"] == "8.6")), "8.6 is used but not"),
    ("compute_capability", _where("cc", "8.6", first_driver=456), "branch 456 is not in drivers"),
    ("conda", _set(0, torch="2.4.99"), "release not listed"),
    ("conda", _set(0, cuda="12.10"), "no such toolkit"),
    ("conda", _set(0, build="cuda12*"), "is not for this CUDA"),
    ("conda", _set(0, cuda_floor="12"), "__cuda floor"),
    ("conda", _set(0, glibc=""), "glibc is for Linux only"),
    ("conda", _set(0, pythons=[]), "Python versions or architectures"),
    ("torch_builds", _set(0, torch="1.8.99"), "release not listed"),
    ("torch_builds", _set(0, tag="cu999"), "no index row"),
    ("torch_builds", _set(0, published="maybe"), "published 'maybe'"),
    ("torch_builds", lambda rows: rows.remove(next(r for r in rows if r.get("pypi_default"))), "has no build row"),
    ("index_urls", _where("tag", "cu126", torch=["2.6.0"]), "not among the releases of its index"),
    ("torch_releases", _where("torch", "2.11.0", pypi_linux_x86_64="cu128"), "names a different PyPI default"),
    ("companions", _set(0, torch="1.8.77"), "torch 1.8.77 is not listed"),
    ("gpus", _set(0, cc="3.9"), "3.9 is not listed"),
    ("gpu_specs", lambda rows: rows.pop(), "no gpu_specs row"),
    ("gpu_specs", _set(0, id="nothing"), "nothing: no gpus row"),
    ("cudnn", lambda rows: rows[0].pop("version"), "cudnn.json"),
    ("cudnn", _where("version", "9.10.2", min_cc={"12": "5.0"}), "does not name the CUDA majors"),
    ("drivers", _where("branch", "580", min_compute_capability="7.5"), "disagrees with the last driver of 5.0"),
    ("drivers", _where("branch", "590", min_compute_capability="5.0"), "disagrees with the last driver of 7.0"),
    ("drivers", _where("branch", "590", type="experimental"), "type 'experimental'"),
    ("toolkits", _where("version", "12.3.2", min_driver_linux="546.1"), "reports a different CUDA"),
    ("forward_compat", _where("cuda", "12.9", image_hosts=[580]), "image host 580 is newer"),
    ("forward_compat", _where("cuda", "12.9", hosts={"535": "not-needed"}), "host 535 is not-needed"),
    ("compute_capability", _where("cc", "12.0", first_toolkit="12.6"), "first_toolkit is not the first"),
    ("compute_capability", _where("cc", "7.0", last_toolkit="13.0"), "last_toolkit is not the last"),
    ("compute_capability", _where("cc", "9.0", last_toolkit="13.0"), "last_toolkit is not the last"),
    ("gpus", _where("name", "NVIDIA L4", cc="8.6"), "8.6 is not Ada"),
    ("gpus", _where("name", "NVIDIA A10", cc="8.0"), "other GA102 GPUs"),
    ("gpus", _where("name", "NVIDIA L4", forward_compat="no"), "forward_compat no for a datacenter GPU"),
    ("companions", _set(0, relation="~"), "relation '~'"),
    ("binary_rules", _set(0, rule="perhaps"), "rule 'perhaps'"),
    ("ptx_portability", _where("target", "9.0", runs_on=["9.0"]), "ptx_portability 9.0: runs_on"),
    ("ptx_portability", _where("target", "10.0f", runs_on=["10.0", "12.0"]), "ptx_portability 10.0f: runs_on"),
    ("ptx_portability", _where("target", "9.0a", target="9.1a"), "no row for 9.1"),
    ("compute_capability", _where("cc", "9.0", open_module="required"), "9.0: open_module required"),
    ("compute_capability", _where("cc", "8.7", tegra=False), "8.7: open_module tegra"),
    ("index_urls", _where("tag", "cu126", url="https://download.pytorch.org/whl/cu128"), "is not the URL for its tag"),
    ("index_urls", _where("tag", "cu126", platforms=["windows"]), "no wheels for linux_x86_64"),
    (
        "torch_builds",
        lambda rows: rows.append({**rows[0], "platform": "windows", "tag": "cu000"}),
        "there is no such build for linux_x86_64",
    ),
    ("torch_releases", _where("torch", "2.8.0", cudnn="8.0.0"), "differs from its default build's"),
    ("toolkits", _where("version", "12.8.1", ptx_isa="8.8"), "ptx_isa 8.8 is not 8.7"),
    ("toolkits", _where("version", "12.8.1", cuda="12.9"), "cuda 12.9 does not match this version"),
    (
        "gpu_specs",
        _where("id", "nvidia-h200", fp8_tensor_fp32acc_tflops=1900),
        "1900 is not fp16 989 x 1 or 2, and no note explains it",
    ),
    (
        "gpu_specs",
        _where("id", "nvidia-h200", tf32_tensor_tflops=989),
        "989 is not fp16 989 x 0.5, and no note explains it",
    ),
    ("gpu_specs", _where("id", "nvidia-h200", fp32_tflops=60), "cores x boost gives 66.9"),
    ("gpu_specs", _where("id", "nvidia-h200", sustained_share=0.5), "sustained_share needs its derivation"),
    ("compute_capability", _where("cc", "12.0f", first_driver=575), "first_driver 575 differs from 570 for 12.0"),
    ("compute_capability", _where("cc", "10.3a", first_driver=None), "first_driver None differs from 580 for 10.3"),
    ("gpus", _where("name", "NVIDIA L4", open_module="required"), "open_module required, but must be supported"),
    (
        "gpus",
        _where("name", "NVIDIA GH200 480GB", open_module="supported"),
        "open_module supported, but must be required",
    ),
    ("gpus", _where("name", "NVIDIA GeForce RTX 3060 Ti", ecc="yes"), "ecc yes for a consumer GPU"),
    ("gpus", _where("name", "Quadro P5000", ecc="yes"), "ecc yes for a workstation GPU of compute capability 6.1"),
    ("boards", _where("name", "GeForce 8800 GTS 512", chips=["GA104"]), "another GA104 has compute capability 8.6"),
    ("gpu_specs", _where("id", "tesla-k20c", sm_count=15), "2496 cores are not 192 in each of 15"),
    ("gpu_specs", _where("id", "nvidia-h200", nvlink_links=12), "nvlink has no row with 12 links"),
    ("nccl", _set(0, wheel_cu12="2.3"), "wheel_cu12 '2.3'"),
    (
        "extensions",
        lambda rows: rows.append({**rows[0], "package": "tensorflow", "version": "2.22.0"}),
        "a package must be in only one table",
    ),
    (
        "extensions",
        lambda rows: rows.append({**rows[0], "package": "jax[cuda13]", "version": "9.0"}),
        "a package must be in only one table",
    ),
    ("companions", lambda rows: rows.append({**rows[0], "package": "vllm"}), "a package must be in only one table"),
    ("extension_wheels", _set(0, version="9.9.9"), "this release is not listed in extensions"),
    ("extension_indexes", _set(0, version="9.9.9"), "this release is not listed in extensions"),
    (
        "frameworks",
        _where("version", "2.15", releases=["2.15.1", "2.15.0"]),
        "must be those of this minor version, oldest first",
    ),
    (
        "frameworks",
        _where("version", "2.15", releases=["2.15.0", "2.16.1"]),
        "must be those of this minor version, oldest first",
    ),
    (
        "frameworks",
        _where("version", "0.12.0.1", releases=["0.12.0.1"]),
        "must be those of this minor version, oldest first",
    ),
    ("boards", _set(0, device_ids=["1E82"]), "PCI device 1E82 is listed among gpus"),
    ("gpus", _where("id", "nvidia-l20", device_ids=["2484", "26BA"]), "but they differ in compute capability"),
    ("torch_requires", _set(0, torch="2.99.0"), "torch_requires 2.99.0: release not listed"),
    ("preloads", _set(0, torch="2.99.0"), "preloads 2.99.0: release not listed"),
    ("index_urls", _where("tag", "cu126", torch=["2.99.0"]), "index_urls 2.99.0: release not listed"),
    ("nccl", lambda rows: None, "must have one row per line, with [ and ]"),  # written anew without line ends
]


@pytest.mark.parametrize(("table", "edit", "words"), BROKEN)
def test_lint_notices(changed: Callable[[str, Edit], Matrix], table: str, edit: Edit, words: str) -> None:
    problems = changed(table, edit).lint()
    assert any(words in problem for problem in problems), problems


def test_lint_notices_a_date_and_a_row_that_is_never_read(changed: Callable[[str, Edit], Matrix]) -> None:
    wrong = changed("drivers", lambda rows: rows[3].update(first_release_date="last spring")).lint()
    assert any("first_release_date 'last spring' is not a date" in text for text in wrong)
    late = changed("drivers", lambda rows: rows[3].update(first_release_date="2031-01-01")).lint()
    assert any("lies after the matrix' own" in text for text in late)
    shadowed = changed("cudnn", lambda rows: rows[0].update(until="99.0.0")).lint()
    assert any("no query reaches it; a different row is returned instead" in text for text in shadowed)


def test_lint_notices_an_unused_source(copy: Path) -> None:
    path = copy / "sources.json"
    path.write_text(
        json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"spare": "PyPI spare 1.0"}), encoding="utf-8"
    )
    assert Matrix.load(str(copy)).lint() == ["sources: spare is not used by any row"]


NOT_FOLLOWED = [
    "NVIDIA/DCGM nvvs/diag-skus.yaml.in (2026-07)",
    "as 2.5",
    "derived from data/rocm.json",
    "pytorch PR 164470",
    "README.md and topo.h, src/graph/topo.cc",
    "a secondary note, from memory",
    "memory",
    "arithmetic",
    "",
]


@pytest.mark.parametrize("text", NOT_FOLLOWED)
def test_lint_notices_a_source_that_nobody_can_follow(copy: Path, text: str) -> None:
    path = copy / "sources.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"arithmetic": text}), encoding="utf-8")
    problems = Matrix.load(str(copy)).lint()
    assert all(one.startswith("sources arithmetic: ") for one in problems)
    assert any("a page, a repository, a package or a derivation" in one for one in problems), problems


RECALLED = [
    "memory; developer.download.nvidia.com/compute/redist/cudnn index",
    "memory, unverified; PyPI torch 2.9.0",
    "memory + NixOS/nixpkgs; github.com/NixOS/nixpkgs",
    "docs.nvidia.com/cuda; bundled driver: memory",
    "docs.nvidia.com/cuda; PTX 6.2 from memory: clang has 6.1",
    "section title in docs.nvidia.com/deeplearning; content memory",
    "derived: half of the peak (memory)",
]


@pytest.mark.parametrize("text", RECALLED)
def test_lint_notices_memory_as_a_source(copy: Path, text: str) -> None:
    path = copy / "sources.json"
    texts = json.loads(path.read_text(encoding="utf-8")) | {"recalled": text}
    path.write_text(json.dumps(texts), encoding="utf-8")
    assert "sources recalled: a fact from memory has no source" in Matrix.load(str(copy)).lint()


def test_memory_of_a_gpu_is_no_memory_of_ours(copy: Path) -> None:
    path = copy / "sources.json"
    text = (
        "fp64, memory bandwidth: nvidia.com/en-us; memory and SMs: PyPI: torch 2.8.0; memory with driver 570: a.com/b"
    )
    texts = json.loads(path.read_text(encoding="utf-8")) | {"columns": text}
    path.write_text(json.dumps(texts), encoding="utf-8")
    assert Matrix.load(str(copy)).lint() == ["sources: columns is not used by any row"]


def test_answers_follow_the_data(changed: Callable[[str, Edit], Matrix]) -> None:
    """The rules are in the rows: a moved floor moves the verdict."""
    moved = changed("cuda_majors", _where("major", "12", min_driver_linux="540"))
    assert moved.driver_for_cuda("535.129.03", "12.8").grade == "needs-forward-compat"
    assert Matrix.load().driver_for_cuda("535.129.03", "12.8").grade == "minor-version"


@pytest.mark.parametrize("content", [b"", b"[", b"\xff\xfe", b"{}", b'[{"branch": "x"}]', b"[" * 5000])
def test_broken_files_are_one_kind_of_error(copy: Path, content: bytes) -> None:
    (copy / "drivers.json").write_bytes(content)
    matrix = Matrix.load(str(copy))
    with pytest.raises(MatrixError, match=r"drivers\.json"):
        matrix.driver_branch("535.129.03")
    assert any("drivers.json" in problem for problem in matrix.lint())


def test_no_matrix_at_all(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match=r"meta\.json"):
        Matrix.load(str(tmp_path))


def test_a_newer_schema_is_refused(copy: Path) -> None:
    (copy / "meta.json").write_text('{"schema_version": 2, "version": "2030.01.01"}', encoding="utf-8")
    with pytest.raises(MatrixError, match="newer than this program"):
        Matrix.load(str(copy))


def test_importing_and_asking_opens_only_what_is_needed() -> None:
    """Neither packaging nor the row types of other tables are imported for a driver question."""
    code = (
        "import sys; from compat_matrix import Matrix; "
        "print(Matrix.load().driver_for_cuda('535.129.03', '12.8').grade); "
        "print(sorted(n for n in sys.modules if n == 'packaging' or n.startswith('compat_matrix.rows_')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == ["minor-version", "['compat_matrix.rows_driver', 'compat_matrix.rows_meta']"]


MEANINGLESS = [
    "",
    " ",
    ".",
    "-",
    "a" * 5000,
    "\x00",
    "é",
    "sm_",
    "-1.0",
    "v",
    "None",
    "[N/A]",
    "(((",
    "9" * 400,
    "1." * 3000,
]


@for_each("text", MEANINGLESS)
def test_meaningless_text_gives_an_unknown_answer(m: Matrix, text: str) -> None:
    assert m.driver_for_cuda("535.129.03", text).grade in ("unknown", "native" if text.startswith("1.") else "unknown")
    assert m.driver_for_gpu(text, text).grade == "unknown"
    assert m.forward_compat(text, text, gpu_name=text).grade == "unknown"
    assert m.code_for_gpu(text, [text], [text], text, text).kind == "unknown"
    assert m.torch_release(text).release is None
    assert m.torch_builds(text) == () and m.companions(text) == ()
    assert m.companion_matches(text, text, text).grade == "unknown"
    assert m.python_for_torch("2.8.0", text).grade in ("unknown", "too-old" if text.startswith("1.") else "unknown")
    assert m.cudnn_for_gpu(text, text).grade == "unknown"
    assert m.nccl_for_gpu(text, text, 12).grade == "unknown"
    assert not m.gpu(text, text, text, 1).exact
    assert len(m.best_builds([text], text, python=text, torch=text)) == 0
    assert m.toolkit(text) is None and m.cuda_error(text) is None and m.nvml_error(text) is None
    assert m.index_url(text) is None and m.gpu_by_capability(text) == ()


def test_a_long_local_version_is_read(m: Matrix) -> None:
    assert m.torch_release("2.6.0+" + "x" * 3000).status == "known"
