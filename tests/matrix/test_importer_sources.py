"""Each source of the importers from a server on this machine: reduced copies of what its publisher offers."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from compat_matrix import Matrix
from compat_matrix.importers.__main__ import main
from compat_matrix.importers.xids import CATALOGUE

from ..rows import for_each
from .publishers import Publisher
from .test_importers import MANIFEST, NEEDS, NOTES

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]
NOTHING = "0 added, 0 changed, 0 contradicted"


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """It is the package index too; whatever is elsewhere cannot be reached."""
    one = Publisher()
    monkeypatch.setenv("PIP_INDEX_URL", f"{one.address}/simple")
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield one
    one.server.shutdown()


Renew = Callable[..., str]


@pytest.fixture
def renew(copy: Path, capsys: Capture) -> Renew:
    """Run a source, with --write on a copy of the tables; a second run finds nothing. Returns what the first printed."""

    def run(*words: str) -> str:
        capsys.readouterr()
        assert main([*words, "--data", str(copy), "--write"]) == 1
        printed = capsys.readouterr().out
        assert main([*words, "--data", str(copy)]) == 0
        assert NOTHING in capsys.readouterr().out
        return printed

    return run


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / f"{table}.json").read_text("utf-8"))
    return found


def html(*table: tuple[str, ...]) -> str:
    lines = ("".join(f"<td><p>{cell}</p></td>" for cell in row) for row in table)
    return f"<html><table><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table></html>"


def test_torch_from_the_index(publisher: Publisher, renew: Renew, copy: Path) -> None:
    """2.16.0 is new; of 2.11.0 this index has other Pythons and another cuDNN."""
    for version, pythons in (("2.16.0", ("cp311-cp311", "cp314-cp314t")), ("2.11.0", ("cp312-cp312",))):
        for python, platform in product(pythons, ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "win_amd64")):
            lines = [need.replace("9.19.0.56", "9.30.0.1") for need in NEEDS]
            publisher.wheel(
                f"torch-{version}-{python}-{platform}.whl",
                *("Requires-Python: >=3.11", *(f"Requires-Dist: {line}" for line in lines)),
            )
    publisher.faults = [503]  # one of many questions, asked again
    printed = renew("torch")
    assert "torch_releases 2.16.0: new" in printed and 'torch_releases 2.11.0: cudnn: "9.19.0.56"' in printed
    assert "companions 2.16.0 triton 3.6.0: new" in printed
    assert "torch: 4 rows read: 2 added, 1 changed, 0 contradicted" in printed
    (new,) = (row for row in rows(copy, "torch_releases") if row["torch"] == "2.16.0")
    assert new["pythons_linux_x86_64"] == ["3.11", "3.14t"] and new["pypi_linux_aarch64"] == "cu130"
    assert (new["date"], new["cudnn"], new["pypi_windows"]) == ("2026-11-25", "9.30.0.1", "cpu")


def test_a_release_that_the_index_does_not_have(publisher: Publisher, capsys: Capture) -> None:
    publisher.wheel("torch-2.16.0-cp312-cp312-win_amd64.whl")
    assert main(["torch", "--version", "2.99.0"]) == 2
    assert capsys.readouterr().err == "torch: the index has no torch 2.99.0\n"


def test_companions_from_the_index(publisher: Publisher, renew: Renew, copy: Path) -> None:
    any_linux = "cp312-cp312-manylinux_2_28_x86_64.whl"
    publisher.wheel(f"torchvision-0.30.0-{any_linux}", "Requires-Dist: torch==2.16.0")
    publisher.wheel(f"torchvision-0.8.2-{any_linux}", "Requires-Dist: torch==1.7.1")
    publisher.wheel(f"torchvision-0.28.0-{any_linux}", "Requires-Dist: torch==2.13.0")
    publisher.wheel(f"torchaudio-2.11.0-{any_linux}")
    publisher.wheel(f"torchaudio-2.12.0-{any_linux}", "Requires-Dist: torch>=2.12")
    printed = renew("companions")
    assert "companions: 3 rows read: 2 added, 0 changed, 0 contradicted" in printed
    new = {row["version"]: row for row in rows(copy, "companions")[-2:]}
    assert (new["0.30.0"]["torch"], new["0.30.0"]["relation"]) == ("2.16.0", "==")
    assert (new["2.12.0"]["torch"], new["2.12.0"]["relation"]) == ("2.12", ">=")


def test_cudnn_and_nccl_from_the_index(publisher: Publisher, renew: Renew, copy: Path) -> None:
    linux = "py3-none-manylinux_2_27_x86_64.whl"
    for name in ("cudnn_cu12-9.29.0.10", "cudnn_cu13-9.29.0.10", "cudnn_cu13-9.29.0.10.post1", "cudnn_cu13-9.28.1.5",
                 "cudnn_cu11-8.5.0.96", "nccl_cu13-2.33.1", "nccl_cu12-2.27.6"):  # fmt: skip
        publisher.wheel(f"nvidia_{name}-{linux}")
    printed = renew("libraries")
    assert "libraries: 5 rows read: 2 added, 1 changed, 0 contradicted" in printed
    cudnn = {row["version"]: row for row in rows(copy, "cudnn")}
    assert (cudnn["9.29.0"]["wheel_cu13"], cudnn["9.29.0"]["cuda_majors"]) == ("9.29.0.10", [12, 13])
    assert cudnn["9.28.1"]["wheel_cu13"] == "9.28.1.5"
    nccl = {row["version"]: row for row in rows(copy, "nccl")}
    assert nccl["2.33.1"]["date"] == "2026-11-25" and nccl["2.27.6"]["wheel_cu12"] == "yes"


def names_of_releases() -> list[dict[str, Any]]:
    """GitHub's answer: the files of 2.8.3 as they are, of 2.7.4.post1 without Python 3.9, and of a newer release."""

    def assets(
        version: str, torches: str, pythons: str, abis: str = "FALSE TRUE", tag: str = "cu12", machines: str = "x86_64"
    ) -> list[dict[str, str]]:
        return [
            {"name": f"flash_attn-{version}+{tag}torch{torch}cxx11abi{abi}-cp3{python}-cp3{python}-linux_{machine}.whl"}
            for torch, python, abi, machine in product(*map(str.split, (torches, pythons, abis, machines)))
            if (torch, python) not in {("2.2", "13"), ("2.3", "13"), ("2.4", "13")}
        ]

    of_283 = [
        *assets("2.8.3", "2.4 2.5 2.6 2.7 2.8", "9 10 11 12 13"),
        *assets("2.8.3", "2.9", "12", "TRUE", machines="x86_64 aarch64"),
        *assets("2.8.3", "2.9 2.10", "12", "TRUE", "cu13"),
    ]
    files = {
        "v2.9.0": assets("2.9.0", "2.9 2.10", "12 13", "TRUE", "cu13", "x86_64 aarch64"),
        "v2.8.3": of_283,
        "v2.7.4.post1": assets("2.7.4.post1", "2.2 2.3 2.4 2.5 2.6", "10 11 12 13"),
        "v2.7.4": assets("2.7.4", "2.6", "12"),  # it is not on the index
        "v2.1.1": [*assets("2.1.1", "2.0", "10", tag="cu117"), *assets("2.1.1", "2.0", "10", tag="cu118")],
    }
    return [{"tag_name": tag, "assets": [*own, {"name": "x.txt"}]} for tag, own in files.items()]


def test_wheels_of_flash_attn_on_github(publisher: Publisher, renew: Renew, copy: Path) -> None:
    address = publisher.put("/releases", json.dumps(names_of_releases()))
    for version in ("2.9.0", "2.8.3", "2.7.4.post1", "2.1.1"):
        publisher.packages[f"flash_attn-{version}.tar.gz"] = b""
    printed = renew("flash-attn", "--address", address)
    assert "flash-attn: 7 rows read: 2 added, 1 changed, 0 contradicted" in printed
    wheels = {(row["version"], row["cuda"]): row for row in rows(copy, "extension_wheels")}
    new = wheels["2.9.0", "13"]
    assert new["torch"] == ["2.9", "2.10"] and new["platforms"] == ["linux_x86_64", "linux_aarch64"]
    assert wheels["2.7.4.post1", "12"]["pythons"] == ["3.10", "3.11", "3.12", "3.13"]
    assert not {"2.1.1", "2.7.4"} & {version for version, _ in wheels}, "by minor release of CUDA; not on the index"
    (row,) = (row for row in rows(copy, "extensions") if (row["package"], row["version"]) == ("flash-attn", "2.9.0"))
    assert (row["torch"], row["cuda"], row["date"]) == ("wheels: 2.9 2.10", "wheels cu13", "2026-11-25")
    found = Matrix.load(str(copy)).extension_wheel(
        "flash-attn", torch="2.10.0", cuda="13.0", python="3.13", abi=True, platform="linux_aarch64"
    )
    assert found.url.endswith("v2.9.0/flash_attn-2.9.0+cu13torch2.10cxx11abiTRUE-cp313-cp313-linux_aarch64.whl")


WORKFLOW = """
      matrix:
          os: [ubuntu-20.04]
          python-version: ['3.9', '3.10', '3.11', '3.12', '3.13']
          torch-version: ['2.1.2', '2.2.2', '2.3.1', '2.4.0', '2.5.1', '2.6.0.dev20241001']
          cuda-version: ['11.8.0', '12.3.2']
          # We need separate wheels
          cxx11_abi: ['FALSE', 'TRUE']
          exclude:
            # see https://github.com/pytorch/pytorch/blob/main/RELEASE.md
            - torch-version: '2.1.2'
              python-version: '3.12'
            - torch-version: '2.1.2'
              python-version: '3.13'
            - torch-version: '2.2.2'
              python-version: '3.13'
            - torch-version: '2.3.1'
              python-version: '3.13'
            - torch-version: '2.4.0'
              python-version: '3.13'

    steps:
"""
"""publish.yml of flash-attn at v2.7.3, without its comments."""


def test_the_workflow_at_the_tag_of_a_release(publisher: Publisher, tmp_path: Path, capsys: Capture) -> None:
    publisher.packages["flash_attn-2.7.3.tar.gz"] = b""
    path = tmp_path / "publish.yml"
    path.write_text(WORKFLOW)
    assert main(["flash-attn", str(path), "--version", "2.7.3"]) == 0
    path.write_text(WORKFLOW.replace("'3.12', '3.13'],", "'3.12'],").replace(", '3.13']", "]"))
    assert main(["flash-attn", str(path), "--version", "2.7.3"]) == 1
    assert '"3.12"]' in capsys.readouterr().out
    path.write_text("name: tests\n")
    assert main(["flash-attn", str(path), "--version", "2.7.3"]) == 2


def test_a_release_with_wheels_for_each_minor_release_of_cuda(
    publisher: Publisher, tmp_path: Path, renew: Renew, copy: Path
) -> None:
    """Up to 2.3.5: a row of wheels has a CUDA major; the row of the release has all of them."""
    publisher.packages["flash_attn-2.0.99.tar.gz"] = b""
    path = tmp_path / "publish.yml"
    path.write_text(
        "        python-version: ['3.8', '3.9']\n"
        "        torch-version: ['1.13.1', '2.1.0.dev20230731']\n"
        "        cuda-version: ['11.7.1', '11.8.0', '12.1.0']\n"
        "        cxx11_abi: ['FALSE', 'TRUE']\n"
        "        exclude:\n"
        "          - torch-version: '2.1.0.dev20230731'\n"
        "            python-version: '3.9'\n"
    )
    printed = renew("flash-attn", str(path), "--version", "2.0.99")
    assert "wheels: 1.13 2.1" in printed and "wheels cu117 cu118 cu121" in printed
    assert printed.count("those for torch 2.1 were compiled with 2.1.0.dev20230731") == 1
    assert "extension_wheels" not in printed, "nor of CUDA 12 alone, which would deny those of CUDA 11"
    key = next(row["source"] for row in rows(copy, "extensions") if row["version"] == "2.0.99")
    assert "PyPI: " in json.loads((copy / "sources.json").read_text("utf-8"))[key], "which has its day and its Python"


RECIPE = '{% set version = "2.13.0" %}\n{% set build = 2 %}\n  run:\n    - __cuda  # [cuda]\n'
BUILD = """
    case ${cuda_compiler_version} in
        12.[89])
            export TORCH_CUDA_ARCH_LIST="5.0;6.0;7.0;7.5;8.0;8.6;9.0;10.0;12.0+PTX"
            ;;
        13.0)
            if [[ "${target_platform}" == "linux-aarch64" ]]; then
                export TORCH_CUDA_ARCH_LIST="7.5;8.0;8.6;8.7;9.0;10.0;11.0;12.0+PTX"
            else
                export TORCH_CUDA_ARCH_LIST="7.5;8.0;8.6;9.0;10.0;11.0;12.0+PTX"
            fi
            ;;
        *)
            exit 1
    esac
"""
BATCH = (
    '    if "%cuda_compiler_version:~0,2%"=="12" (\r\n'
    '        set "TORCH_CUDA_ARCH_LIST=5.0;6.0;7.0;7.5;8.0;8.6;9.0;10.0;12.0+PTX"\r\n'
    '    ) else if "%cuda_compiler_version%" == "13.0" (\r\n'
    '        set "TORCH_CUDA_ARCH_LIST=7.5;8.0;8.6;9.0;10.0;11.0;12.0+PTX"\r\n'
)


def feedstock(version: str = "2.13.0", *, build: int = 2, without: str = "") -> bytes:
    """An archive of conda-forge's pytorch-cpu-feedstock, as GitHub gives it out, of 2026-08-13."""
    files = {
        "recipe/meta.yaml": RECIPE.replace("2.13.0", version).replace("build = 2", f"build = {build}"),
        "recipe/build.sh": BUILD, "recipe/bld.bat": BATCH, "recipe/LICENSE": "",
    }  # fmt: skip
    for target, cuda, libc, variant in (
        ("linux-64", "12.9", "2.17", ""), ("linux-64", "13.0", "2.28", ""), ("linux-64", "None", "2.17", ""),
        ("linux-aarch64", "12.9", "2.17", "sbsa"), ("linux-aarch64", "12.9", "2.34", "tegra"),
        ("linux-aarch64", "13.0", "2.28", "sbsa"), ("win-64", "12.8", "", ""), ("win-64", "13.0", "", ""),
    ):  # fmt: skip
        lists = {"arm_variant_type": variant, "c_stdlib_version": libc, "cuda_compiler_version": cuda, "is_rc": "False"}
        text = "".join(f"{name}:\n- '{value}'\n" for name, value in lists.items() if value)
        pythons = [f"- 3.{n}.* *_cpython\n" for n in (10, 11, 12)] + [f"- 3.{n}.* *_cp3{n}\n" for n in (13, 14)]
        own = "".join(line for line in pythons if without not in line or not without)
        files[f".ci_support/{target}_{cuda}_{variant}.yaml"] = f"{text}python:\n{own}target_platform:\n- {target}\n"
    content = io.BytesIO()
    with tarfile.open(
        fileobj=content, mode="w:gz", pax_headers={"comment": "74dd3d46ff0c3d05053197961386b5a2018cf3d1"}
    ) as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(f"pytorch-cpu-feedstock-main/{path}")
            member.size, member.mtime = len(text.encode()), 1_786_579_200
            tar.addfile(member, io.BytesIO(text.encode()))
    return content.getvalue()


def test_the_recipe_of_conda_forge(publisher: Publisher, renew: Renew, copy: Path, capsys: Capture) -> None:
    assert main(["conda", "--address", publisher.put("/now", feedstock())]) == 0
    assert capsys.readouterr().out == f"conda: 6 rows read: {NOTHING}\n"
    printed = renew("conda", "--address", publisher.put("/less", feedstock(without="3.10")))
    assert "conda: 6 rows read: 0 added, 6 changed, 0 contradicted" in printed
    printed = renew("conda", "--address", publisher.put("/new", feedstock("2.15.0", build=0)))
    assert "conda: 6 rows read: 6 added, 0 changed, 0 contradicted" in printed
    new = {(row["cuda"], row["platform"]): row for row in rows(copy, "conda") if row["torch"] == "2.15.0"}
    assert "8.7" in new["13.0", "linux_aarch64"]["sass"] and "8.7" not in new["13.0", "linux_x86_64"]["sass"]
    assert new["12.8", "windows"]["build"] == "cuda128*" and new["12.9", "linux_x86_64"]["glibc"] == "2.17"
    assert new["13.0", "windows"]["commit"] == "74dd3d46" and new["13.0", "windows"]["date"] == "2026-08-13"
    assert (
        Matrix.load(str(copy)).conda_builds(["12.0"], "580.82.07", python="3.12")[0].spec == "pytorch=2.15.0=cuda130*"
    )


def compat_page(*, changed: bool = False, newer: bool = False) -> str:
    """The table of docs.nvidia.com, edition 615, without the oldest packages."""
    branches = ("535+ (CUDA 12.2)", "570+ (CUDA 12.8)", "580+ (CUDA 13.0)", "590+ (CUDA 13.1)", "595+ (CUDA 13.2)",
                "610+ (CUDA 13.3)", "615+ (CUDA 13.4)")  # fmt: skip
    head = [("CUDA Forward Compatible Upgrade", "NVIDIA Kernel Mode Driver")]
    table: list[tuple[str, ...]] = [("", *branches)]
    table += [("13-4", *"CCCCCC", "N/A"), ("13-0", "X" if changed else "C", "C", "N/A", *"XXXX")]
    if newer:
        table = [(*row, cell) for row, cell in zip(table, ("630+ (CUDA 13.6)", "X", "X"), strict=True)]
        table.append(("13-6", *"CCCCCCC", "N/A"))
    return html(("Name", "Value"), ("a", "b")) + html(*head, *table)


def test_the_table_of_cuda_compat(publisher: Publisher, renew: Renew, copy: Path, capsys: Capture) -> None:
    assert main(["compat", "--address", publisher.put("/page", compat_page())]) == 0
    assert capsys.readouterr().out == f"compat: 2 rows read: {NOTHING}\n"
    printed = renew("compat", "--address", publisher.put("/page", compat_page(changed=True, newer=True)))
    assert "compat: 3 rows read: 1 added, 2 changed, 0 contradicted" in printed  # 13.4: another branch
    found = {row["cuda"]: row for row in rows(copy, "forward_compat")}
    assert found["13.0"]["hosts"]["535"] == "not-compatible" and found["13.6"]["from_branch"] == 630
    assert found["13.6"]["package"] == "cuda-compat-13-6" and found["13.4"]["hosts"]["630"] == "not-compatible"


def xid_page(action: str = "RESTART_APP", *more: tuple[str, ...]) -> str:
    """The catalogue of docs.nvidia.com, five codes of it."""
    return html(
        ("Type (XID)", "Code", "Mnemonic", "Description", "Applies to A100", "Applies to H100", "Applies to B100",
         "Applies to GB200", "Resolution Bucket (Immediate Action)", "Resolution Bucket (Investigatory Action)",
         "Xid 154 linkage", "Trigger Conditions"),
        ("XID", "1", "ROBUST_CHANNEL_FIFO_ERROR_FIFO_METHOD", "Unused", *["NO"] * 4, "CONTACT_SUPPORT", "N/A; Unused", "", ""),
        ("XID", "8", "ROBUST_CHANNEL_FIFO_ERROR_IDLE_TIMEOUT", "GPU stopped processing", *["YES"] * 4, action,
         "CONTACT_SUPPORT", "", ""),
        ("XID", "11", "ROBUST_CHANNEL_GR_ERROR_MISSING_HW", "Invalid or corrupted push buffer stream", *["YES"] * 4,
         "RESTART_APP", "CHECK_APP/CUDA", "", ""),
        *more,
    )  # fmt: skip


def test_the_catalogue_of_xid_codes(publisher: Publisher, tmp_path: Path, capsys: Capture) -> None:
    own = tmp_path / "catalogue.tsv"
    own.write_bytes(CATALOGUE.read_bytes())
    words = ["xids", "--catalogue", str(own), "--address", f"{publisher.address}/page"]
    publisher.put("/page", xid_page())
    assert main(words) == 0 and f"xids: 2 rows read: {NOTHING}" in capsys.readouterr().out
    new = ("XID", "180", "A_NEW_ONE", "Link was lost", *["NO"] * 3, "YES", "RESET_GPU", "N/A", "", "")
    publisher.put("/page", xid_page("RESET_GPU", new))
    assert main([*words, "--write"]) == 1
    printed = capsys.readouterr().out
    assert "xids 180: new: RESET_GPU, -, 'Link was lost'" in printed
    assert "xids 8: RESTART_APP CONTACT_SUPPORT -> RESET_GPU CONTACT_SUPPORT" in printed
    assert "xids: 3 rows read: 1 added, 1 changed, 0 contradicted" in printed
    assert main(words) == 0, "a second run finds no difference"
    before, after = (path.read_text("utf-8").splitlines() for path in (CATALOGUE, own))
    assert [line for line in after if line.startswith("#")] == [line for line in before if line.startswith("#")]
    assert "RESET_GPU\tCONTACT_SUPPORT\tstopped processing\t8 46" in after and len(after) == len(before)


README = """\
| Product Name                                            | PCI ID         |
| ------------------------------------------------------- | -------------- |
| NVIDIA TITAN RTX                                        | 1E02           |
| NVIDIA GeForce RTX 2080                                 | 1E82           |
| NVIDIA GeForce RTX 2080 with Max-Q Design               | 1E90 1025 1375 |
| NVIDIA GeForce RTX 2080                                 | FFF1           |
| NVIDIA GeForce RTX 7090                                 | FFF2           |
"""


def test_device_ids_of_the_open_kernel_modules(publisher: Publisher, capsys: Capture) -> None:
    assert main(["devices", "--address", publisher.put("/README.md", README)]) == 1
    printed = capsys.readouterr().out
    assert 'gpus nvidia-geforce-rtx-2080: device_ids: ["1E82", "1E87"] -> ["1E82", "1E87", "FFF1"]' in printed
    assert 'boards NVIDIA GeForce RTX 7090 : new: {"device_ids": ["FFF2"]}' in printed
    assert "devices: 3 rows read: 1 added, 1 changed, 0 contradicted" in printed


def test_documents_from_their_address(publisher: Publisher, capsys: Capture) -> None:
    """NVIDIA's list of manifests and the newest of them; pytorch's RELEASE.md; the PCI ID repository."""
    names = [f"12.{n}.3" for n in range(1, 8)] + ["12.6.3"]
    publisher.put("/redist/", "".join(f"<a href='redistrib_{name}.json'>redistrib_{name}.json</a>" for name in names))
    for name in names:
        publisher.put(f"/redist/redistrib_{name}.json", json.dumps({**MANIFEST, "release_label": "12.6.3"}))
    assert main(["toolkit", "--address", f"{publisher.address}/redist/"]) == 0
    assert main(["torch-notes", "--address", publisher.put("/RELEASE.md", NOTES)]) == 0
    pci = "10de  NVIDIA Corporation\n\t2b85  GB202 [GeForce RTX 5090]\n10df  Emulex\n"
    assert main(["pci", "--address", publisher.put("/pci.ids", pci)]) == 0
    assert capsys.readouterr().out.count(NOTHING) == 3


@for_each(
    ("what", "content", "words"),
    [
        ("compat", "<html><table><tr><td>a</td></tr></table>", "no table of cuda-compat packages"),
        ("xids", "<html>", "no catalogue of Xid codes"),
        ("devices", "# README", "no table of device ids"),
        ("flash-attn", "{}", "not GitHub's list of releases"),
        ("flash-attn", "[1", "delimiter"),
        ("conda", "no archive", "not a .tar.gz"),
        ("toolkit", "[]", "not a CUDA redistrib"),
    ],
)
def test_another_document_is_refused_in_one_line(
    publisher: Publisher, capsys: Capture, what: str, content: str, words: str
) -> None:
    publisher.packages["flash_attn-2.8.3.tar.gz"] = b""
    capsys.readouterr()
    assert main([what, "--address", publisher.put("/document", content)]) == 2
    printed = capsys.readouterr()
    assert words in printed.err and printed.err.count("\n") == 1 and printed.out == ""


def test_all_goes_on_without_those_that_cannot_be_reached(publisher: Publisher, capsys: Capture) -> None:
    """The index answers; nothing else does. One line for each, with its address."""
    publisher.wheel("torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl", *(f"Requires-Dist: {need}" for need in NEEDS))
    publisher.wheel("torchvision-0.28.0-cp312-cp312-win_amd64.whl", "Requires-Dist: torch==2.13.0")
    publisher.wheel("torchaudio-2.9.0-cp312-cp312-win_amd64.whl", "Requires-Dist: torch==2.9.0")
    publisher.wheel("xformers-0.0.35-cp39-abi3-manylinux_2_28_x86_64.whl", "Requires-Dist: torch>=2.10")
    assert main(["all", "--package", "xformers"]) == 2
    printed = capsys.readouterr()
    read = [line.split(":")[0] for line in printed.out.splitlines() if "rows read: " in line]
    assert read == ["torch", "companions", "packages", "libraries"]
    *lines, last = printed.err.splitlines()
    assert last == "not read: toolkit, compat, torch-notes, devices, pci, flash-attn, conda, xids"
    assert [line.split(": ")[0] for line in lines] == last.removeprefix("not read: ").split(", ")
    assert all(": https://" in line and "refused" in line for line in lines), printed.err


def test_all_takes_no_file(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["all", "pci.ids"])
    assert stopped.value.code == 2 and "give a file to one of them" in capsys.readouterr().err
    assert main(["libraries", "pci.ids"]) == 2
    assert capsys.readouterr().err == "libraries: it reads the package index, and no file\n"
