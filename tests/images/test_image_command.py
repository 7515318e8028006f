"""`gpudoctor image` on layouts: the verdict for described hosts, in every format, and what it refuses."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from compat_matrix import Matrix
from doctor.extra import extra_line
from doctor.images.about import about
from doctor.images.evidence import evidence
from doctor.images.hosts import described
from doctor.images.importer import snapshot_of
from doctor.images.layout import LayoutSource
from doctor.images.other_tags import nearest
from doctor.images.source import Image
from doctor.judge.preflight import preflight

from ..cli.command import gpudoctor, one_line, save
from ..healthy import healthy
from .layouts import PROVENANCE, SPDX, Layout, config
from .modelled import IMAGES
from .test_verdicts import POLICY

TORCH_26 = config(
    env={"PYTORCH_VERSION": "2.6.0", "NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
    history=[
        (
            "RUN |2 CUDA_PATH=cu124 TARGETPLATFORM=linux/amd64 /bin/sh -c case ${TARGETPLATFORM} in "
            '"linux/arm64") pip install --index-url https://download.pytorch.org/whl/cpu/ torch ;; '
            "*) pip install --index-url https://download.pytorch.org/whl/${CUDA_PATH#.}/ torch torchvision ;; esac # buildkit"
        )
    ],
)


@pytest.fixture
def torch_26(tmp_path: Path) -> Path:
    layout = Layout(tmp_path / "image")
    layout.tag("latest", layout.image(TORCH_26))
    return layout.folder


def answer(*arguments: str | Path, code: int) -> dict[str, object]:
    done = gpudoctor("image", *arguments, "--format", "json")
    assert done.returncode == code, done.stderr.decode()
    return json.loads(done.stdout)


def test_each_described_host_gets_its_grade(torch_26: Path) -> None:
    hosts = ["--driver", "535.183.01", "--driver", "580", "--gpu", "RTX A5000", "--gpu", "RTX 5090"]
    found = answer(torch_26, *hosts, code=1)
    assert found["image"]["torch"] == "2.6.0+cu124" and found["image"]["lowest_driver"] == "525.60.13"
    rows = {
        (one["gpus"][0].removeprefix("NVIDIA "), one["driver"][:3]): (one["verdict"], one["grade"])
        for one in found["hosts"]
    }
    assert rows == {
        ("RTX A5000", "535"): ("pass", "minor-version"),
        ("RTX A5000", "580"): ("pass", "native"),
        ("GeForce RTX 5090", "535"): ("fail", "impossible"),
        ("GeForce RTX 5090", "580"): ("fail", "impossible"),
    }
    assert found["hosts"][3]["findings"][0]["id"] == "torch-lacks-new-gpu-sm"


def test_text_and_markdown_tell_the_same(torch_26: Path) -> None:
    host = ["--driver", "580", "--gpu", "RTX 5090"]
    text = gpudoctor("image", torch_26, *host)
    markdown = gpudoctor("image", torch_26, *host, "--format", "markdown")
    assert text.returncode == markdown.returncode == 1
    for words in (b"2.6.0+cu124", b"PyTorch 2.6.0+cu124 does not support your RTX 5090", b"--index-url", b"impossible"):
        assert words in text.stdout.replace(b"\n    ", b" ")
    assert b"does not support your RTX 5090" in markdown.stdout


def test_without_a_host_it_says_what_the_image_needs(torch_26: Path) -> None:
    done = gpudoctor("image", torch_26)
    assert done.returncode == 0
    assert b"needs: driver 525.60.13 or newer (torch 2.6.0+cu124, built with CUDA 12.4)" in done.stdout
    assert b"No host to judge against" in done.stdout


def test_an_attestation_decides_where_the_config_does_not(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    one = layout.image(config(env={"CUDA_VERSION": "12.8.0"}))
    spdx = {"packages": [{"name": "numpy", "versionInfo": "2.0"}, {"name": "torch", "versionInfo": "2.8.0+cu128"}]}
    layout.tag("latest", layout.index([one, layout.attestation(one, {SPDX: spdx})]))
    image = answer(layout.folder, "--driver", "580", "--gpu", "H100", code=0)["image"]
    assert (image["torch"], image["torch_source"]) == ("2.8.0+cu128", "the SPDX attestation from its build")


def test_a_requirement_that_is_stricter_than_the_truth_is_named(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    layout.tag("latest", layout.image(config(env={"CUDA_VERSION": "12.8.0", "NVIDIA_REQUIRE_CUDA": "cuda>=12.8"})))
    (host,) = answer(layout.folder, "--driver", "535.183.01", "--gpu", "RTX 4090", code=1)["hosts"]
    assert (host["grade"], host["label"], host["hook"]) == ("minor-version", "stricter", False)
    assert [one["id"] for one in host["findings"]] == ["container-require-cuda-unsatisfied"]


def test_secrets_of_the_history_are_masked(tmp_path: Path) -> None:
    line = "RUN /bin/sh -c pip install torch==2.8.0 --index-url https://ann:hunter2secret@pypi.example.com/whl/cu128"
    layout = Layout(tmp_path / "image")
    layout.tag("latest", layout.image(config(history=[line])))
    for arguments in ([], ["--format", "json"], ["--format", "markdown"]):
        done = gpudoctor("image", layout.folder, "--driver", "580", "--gpu", "H100", *arguments)
        assert done.returncode == 0 and b"2.8.0+cu128" in done.stdout
        assert b"hunter2secret" not in done.stdout


@pytest.mark.slow
def test_what_cannot_be_judged_is_refused_in_one_line(torch_26: Path, tmp_path: Path) -> None:
    for arguments, words in (
        ([torch_26, "--gpu", "H100"], "--gpu requires the host's driver"),
        ([torch_26, "--driver", "none", "--gpu", "H100"], "cannot run on a host without a driver"),
        ([torch_26, "--platform", "linux/s390x"], "is only for linux/amd64, not for linux/s390x"),
        ([f"{torch_26}:nope"], "has no image named nope; it has latest"),
        ([tmp_path / "absent"], "no such file or folder"),
        (["bad-.example/x:1"], "is not a valid registry"),
        (["nvidia/CUDA:12"], "must be lowercase"),
        (["a b"], "is not a valid image name"),
        (["x@sha256:12"], "is not a valid digest"),
        ([""], "is not a valid image name"),
        ([torch_26, "--against", tmp_path / "none.json"], "cannot read"),
        (["127.0.0.1:9/a", "--ca", tmp_path / "none.pem"], "none.pem: No such file"),
    ):
        assert words in one_line(gpudoctor("image", *arguments)), arguments
    unlisted = gpudoctor("image", torch_26, "--driver", "580", "--gpu", "RX 7900")
    assert "is not listed in this matrix" in one_line(unlisted, code=3)
    assert "connection refused" in one_line(gpudoctor("image", "127.0.0.1:9/a/b:1"), code=3)


def test_the_json_is_as_its_schema_says(torch_26: Path) -> None:
    schema = json.loads(gpudoctor("schema", "image").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    for hosts in ([], ["--driver", "535.183.01", "--driver", "570", "--gpu", "RTX 5090", "--gpu", "A100"]):
        done = gpudoctor("image", torch_26, *hosts, "--format", "json")
        jsonschema.validate(json.loads(done.stdout), schema, cls=jsonschema.Draft202012Validator)
    assert "hosts" in schema["$defs"]["Preflight"]["required"]


def test_where_it_runs_the_lines_that_start_it(torch_26: Path, tmp_path: Path) -> None:
    (host,) = answer(torch_26, "--driver", "580", "--gpu", "H100", code=0)["hosts"]
    start = dict(host["start"])
    assert start["docker"] == "docker run --rm --gpus all IMAGE"
    assert "--device nvidia.com/gpu=all" in start["podman"] and "nvidia.com/gpu: 1" in start["kubernetes"]
    assert "capabilities: [gpu]" in start["compose"]
    layout = Layout(tmp_path / "strict")
    layout.tag("latest", layout.image(config(env={"CUDA_VERSION": "12.8.0", "NVIDIA_REQUIRE_CUDA": "cuda>=12.8"})))
    (host,) = answer(layout.folder, "--driver", "535.183.01", "--gpu", "RTX 4090", code=1)["hosts"]
    assert "-e NVIDIA_DISABLE_REQUIRE=1" in dict(host["start"])["docker"]
    text = gpudoctor("image", layout.folder, "--driver", "535.183.01", "--gpu", "RTX 4090").stdout.decode()
    assert "checked by: docker --gpus" in text and "not with CDI" in " ".join(text.split())
    assert "To skip the check of the image's requirement:" in text


def test_an_image_that_leaves_libcuda_out(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    env = {"PYTORCH_VERSION": "2.8.0+cu128", "NVIDIA_DRIVER_CAPABILITIES": "utility,graphics"}
    layout.tag("latest", layout.image(config(env=env)))
    (host,) = answer(layout.folder, "--driver", "580", "--gpu", "H100", code=1)["hosts"]
    (finding,) = host["findings"]
    assert finding["id"] == "container-driver-capabilities-missing"
    assert "compute,utility" in finding["fixes"][0]["steps"][0]["command"]


def test_reports_are_hosts_and_a_provider_is_named(torch_26: Path, tmp_path: Path) -> None:
    pod = healthy("a100", driver="470.256.02", cuda="11.4", container=True).replace({"host.provider": "runpod"})
    reports = [save(tmp_path, pod, name="pod.json"), save(tmp_path, healthy("rtx4090"), name="desk.json")]
    done = answer(torch_26, *(word for path in reports for word in ("--against", path)), code=1)
    assert [(one["driver"], one["verdict"]) for one in done["hosts"]] == [("470.256.02", "fail"), ("580.82.07", "pass")]
    words = json.dumps(done["hosts"][0]["findings"])
    assert "On RunPod" in words and "CUDA Versions" in words


def test_tags_of_the_same_line_nearest_first() -> None:
    tags = ["12.8.1-base-ubuntu22.04", "12.4.1-base-ubuntu22.04", "11.8.0-base-ubuntu22.04", "13.0.0-base-ubuntu22.04"]
    others = ["12.4.1-base-ubuntu24.04", "12.4.1-devel-ubuntu22.04", "latest", "12.4.1-base-rockylinux8"]
    assert nearest(tags[0], [*others, *tags]) == [tags[1], tags[2], tags[3]]
    assert nearest(
        "2.8.0-cuda12.8-cudnn9-runtime", ["2.8.0-cuda12.6-cudnn9-runtime", "2.8.0-cuda12.8-cudnn9-devel"]
    ) == ["2.8.0-cuda12.6-cudnn9-runtime"]
    assert nearest("25.10-py3", ["24.12-py3", "25.09-py3", "25.09-py2"]) == ["25.09-py3", "24.12-py3"]
    assert nearest("latest", ["1", "2"]) == []


def torch_of(m: Matrix, *history: str) -> tuple[str, str]:
    """(torch, verdict on an RTX A5000 with driver 580) of an image with this history."""
    image = Image("x/y:1", "", config(history=history), ())
    found = evidence(image, m)
    host = described(m, "580.65.06", "RTX A5000", "x86_64")[1]
    s = snapshot_of(image, found)
    return about(image, "registry", found, s, m).torch, preflight(s, host, "host", m, POLICY)[0].verdict


def test_what_the_history_tells_of_torch() -> None:
    """The last install counts; without a version all builds of its index must have code; vLLM's pin is known."""
    plain, cu126 = "RUN /bin/sh -c pip install torch", "--index-url https://download.pytorch.org/whl/cu126"
    rows = (
        (("RUN pip install torch==2.6.0 # buildkit",), "2.6.0+cu124", "pass"),
        (("RUN pip install torch==2.8.0", "RUN pip install --no-cache-dir 'torch==2.6.0+cu118'"), "2.6.0+cu118", "pass"),
        ((plain,), "unknown version", "unknown"),
        ((f"{plain} {cu126}",), "unknown version", "pass"),
        (("RUN pip install vllm==0.10.2",), "2.8.0+cu128", "pass"),
        (("RUN pip install vllm==0.0.1",), "unknown version", "unknown"),
        (("RUN conda install -y pytorch==2.5.1 pytorch-cuda=12.4 -c pytorch -c nvidia",), "2.5.1+cu124", "pass"),
        (("RUN conda install -y pytorch=2.4 cpuonly -c pytorch",), "2.4+cpu", "fail"),
        (("ARG T=2.7.1", "RUN |1 T=2.7.1 /bin/sh -c uv pip install torch==${T} --torch-backend=cu128"), "2.7.1+cu128", "pass"),
        (("RUN pip install https://download.pytorch.org/whl/cu121/torch-2.3.1%2Bcu121-cp310-cp310-linux_x86_64.whl",), "2.3.1+cu121", "pass"),
        (("RUN echo pip install torch && pip install torchvision",), "", "unknown"),
    )  # fmt: skip
    m = Matrix.load()
    answers = [(history, *torch_of(m, *history)) for history, _, _ in rows]
    assert [one for one, row in zip(answers, rows, strict=True) if one != row] == []


def test_an_image_of_vllm_has_the_torch_that_it_pins(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    layout.tag("x", layout.image(config(env={"CUDA_VERSION": "12.8.1"})))
    source = LayoutSource(str(layout.folder))
    image = replace(source.image(""), name="docker.io/vllm/vllm-openai:v0.10.2")
    found = evidence(image, Matrix.load()).torch
    assert (found.version, found.cuda) == ("2.8.0+cu128", "12.8") and "vllm 0.10.2 pins this torch" in found.source
    assert evidence(replace(image, name="docker.io/vllm/vllm-openai:nightly"), Matrix.load()).torch.version == ""


def test_without_the_extra_the_line_that_installs_it(torch_26: Path) -> None:
    """`requests` is not there; layouts are read all the same."""
    code = "import sys; sys.modules['requests'] = None\nfrom doctor.__main__ import dispatch\nsys.exit(dispatch(sys.argv[1:]))"
    python = [sys.executable, "-c", code, "image"]
    done = subprocess.run([*python, "127.0.0.1:9/a:1"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gpudoctor: image needs the requests package: {extra_line('image')}\n"
    done = subprocess.run([*python, str(torch_26)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "2.6.0+cu124" in done.stdout


def test_an_archive_and_an_unpacked_root(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    layout.tag("latest", layout.image(TORCH_26))
    packed = tmp_path / "image.tar.gz"
    packed.write_bytes(gzip.compress(layout.to_tar(tmp_path / "image.tar").read_bytes()))
    host = ["--driver", "580", "--gpu", "RTX A5000"]
    for path in (tmp_path / "image.tar", packed):
        assert answer(path, *host, code=0)["image"]["torch"] == "2.6.0+cu124"
    site = tmp_path / "root/usr/local/lib/python3.11/site-packages"
    (site / "torch").mkdir(parents=True)
    (site / "torch/version.py").write_text("__version__ = '2.8.0+cpu'\ncuda = None\nhip = None\n")
    (site / "torch/__init__.py").touch()
    (site / "torch-2.8.0+cpu.dist-info").mkdir()
    (site / "torch-2.8.0+cpu.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0+cpu\n")
    (tmp_path / "root/usr/local/bin").mkdir()
    (tmp_path / "root/usr/local/bin/python3").symlink_to("python3.11")
    (tmp_path / "root/usr/local/bin/python3.11").write_bytes(b"")
    found = answer(tmp_path / "root", *host, code=1)
    assert (found["image"]["source"], found["image"]["torch"]) == ("folder", "2.8.0+cpu")
    assert found["hosts"][0]["findings"][0]["id"] == "cpu-only-torch"


@pytest.mark.slow
def test_what_nobody_said_of_the_host_leaves_it_open(tmp_path: Path) -> None:
    """Without the GPU's brand nobody knows whether the label lets the image start; a processor must be the same."""
    layout = Layout(tmp_path / "image")
    layout.tag("latest", IMAGES["cuda:12.8.1"](layout))
    for gpu, code in (([], 3), (["--gpu", "8.9"], 3), (["--gpu", "L40S"], 0), (["--gpu", "RTX 4090"], 1)):
        (host,) = answer(layout.folder, "--driver", "535.183.01", *gpu, code=code)["hosts"]
        assert ("depends on the GPU's brand" in host["why"]) == (code == 3)
    (host,) = answer(layout.folder, "--driver", "580", "--gpu", "GH200", code=1)["hosts"]
    assert (host["grade"], host["why"]) == ("impossible", "the image is for x86_64, but this host is aarch64")
    both = Layout(tmp_path / "both")
    both.tag("latest", IMAGES["cuda:multi"](both))
    assert answer(both.folder, "--driver", "580", "--gpu", "GH200", code=0)["image"]["platform"] == "linux/arm64"


def test_provenance_alone_says_what_it_was_built_from(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    one = layout.image(config(env={"CUDA_VERSION": "12.8.1"}))
    base = "pkg:docker/nvidia/cuda@12.8.1-base-ubuntu22.04?platform=linux%2Famd64"
    materials = [{"uri": base}, {"uri": "https://example.com/x.git"}, {"uri": 3}, 7]
    layout.tag("latest", layout.index([one, layout.attestation(one, {PROVENANCE: {"materials": materials}})]))
    labels = dict(answer(layout.folder, code=0)["image"]["labels"])
    assert labels == {"built from": "nvidia/cuda@12.8.1-base-ubuntu22.04?platform=linux%2Famd64"}


def test_verbose_has_both_evaluators(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    layout.tag("latest", IMAGES["cuda:12.8.1"](layout))
    host = ["--driver", "535.183.01", "--gpu", "H100"]
    words = " ".join(gpudoctor("image", layout.folder, *host, "-v").stdout.decode().split())
    assert "Its requirement: met according to libnvidia-container, not met according to Jetson's csv mode" in words
    assert "nvidia.com/gpu: 1" in words  # -v has every engine's lines
    assert "csv mode" not in gpudoctor("image", layout.folder, *host).stdout.decode()
