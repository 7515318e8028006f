"""The fix that a row of the catalogue has reaches its reader, and no fix is for a program that nothing names."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from doctor.findings import Finding
from doctor.fixes.where import guest
from doctor.text import read
from doctor.text.messages import catalogue

from ..judging import report
from ..rows import Faults, for_each, quickly, share
from .test_catalogue import builder  # noqa: F401

PROGRAMS = (
    "TensorFlow", "JAX", "Numba", "CuPy", "bitsandbytes", "CTranslate2", "DGL", "faiss", "LightGBM", "XGBoost", "Paddle",
    "ONNX Runtime", "flash-attn", "xformers", "Ollama", "llama", "DeepSpeed", "vLLM",
)  # fmt: skip
ALSO = {"TensorFlow": ("tf-", "tf.", "tf_", "xla"), "JAX": ("xla",), "Numba": ("nvvm", "libdevice"),
        "bitsandbytes": ("bnb",), "ONNX Runtime": ("onnxruntime", "ort"), "llama": ("gguf", "ggml", "gpu offload"),
        "flash-attn": ("flash",), "faiss": ("gpuresources",), "LightGBM": ("gpu tree learner",)}  # fmt: skip
"""Other words that name a program: its prefix, its own libraries."""


def proven(text: str) -> list[Finding]:
    return [found for found in report(read(text)).findings if found.status in ("fail", "warn")]


@lru_cache(maxsize=1)
def exact() -> frozenset[str]:
    return frozenset(message.id for message in catalogue() if message.exact)


@pytest.mark.parametrize("part", quickly(range(15), 15))
def test_an_exact_fix_is_printed_and_no_fix_is_for_another_program(builder: Any, part: int) -> None:  # noqa: F811
    with Faults() as faults:
        for row in share(builder.rows(), part, 15):
            about = json.dumps(row.fields, ensure_ascii=False).lower()
            for text, _ in row.examples("says") if "decides" in row.fields else ():
                with faults.of(f"{row.id}: {text[:80]}"):
                    found = proven(text)
                    if row.id in exact():
                        of_others = "where" not in row.fields and guest(report(read(text)).snapshot)  # not their host
                        own = [f for f in found if f.facts.get("message") == row.id and not of_others]
                        assert not own or own[0].fixes[0].id == f"by-{row.id}", own[0].fixes[0].title
                    for one in found:
                        named = [p for fix in one.fixes for p in PROGRAMS if p.lower() in fix.title.lower()]
                        for name in named:
                            words = (name.lower(), *ALSO.get(name, ()))
                            assert any(word in f"{about}\n{text.lower()}\n{row.id}" for word in words), name
        faults.rows += 1


def test_every_exact_row_has_a_fix() -> None:
    assert exact() and not [m.id for m in catalogue() if m.exact and not (m.fix and m.decides)]


@for_each("text, fix", [
    ("libc.musl-x86_64.so.1: cannot open shared object file: No such file or directory", "by-musl-binary"),
    ("container: docker\nImportError: libc.musl-x86_64.so.1: cannot open shared object file: No such file", "by-musl-binary"),
    ("/var/lib/dkms/nvidia/470.223.02/build/nvidia/nv-mmap.c:456:5: error: implicit declaration of function 'x'",
     "install-driver"),
    ('avc:  denied  { read } for  pid=9 comm="python3" name="nvidia-uvm" dev="devtmpfs"', "by-selinux-denies-nvidia"),
    ('error: cannot open source file "curand_kernel.h"', "by-edg-cuda-header"),
    ("OSError: libnvinfer.so.10: cannot open shared object file: No such file or directory", "by-toolkit-library-missing"),
    ("ERROR: No matching distribution found for mmcv-full==latest+torch1.13.0+cu117", "by-no-tagged-wheel"),
    ("power cap: active, 480 of 500 samples", "release-clocks"),
    ("throttle reasons: SW Thermal Slowdown active in 95 % of samples", "cool-gpu"),
    ("System.DllNotFoundException: Unable to load DLL 'cublas64_12' or one of its dependencies", "install-cuda-library"),
    ("RuntimeError: Missing libdevice file.", "install-numba"),
])  # fmt: skip
def test_the_first_fix_is_for_what_the_message_is_about(text: str, fix: str) -> None:
    assert [one.fixes[0].id for one in proven(text) if one.fixes] == [fix]


DKMS = "dkms autoinstall\nError! Could not locate dkms.conf file.\n"


@for_each("line, folder", [
    ("File: /var/lib/dkms/nvidia/390.48/source/dkms.conf does not exist.", "/var/lib/dkms/nvidia/390.48"),
    ("File: /var/lib/dkms/nvidia-srv/535.129.03/source/dkms.conf does not exist.", "/var/lib/dkms/nvidia-srv/535.129.03"),
    ("File: /var/lib/dkms/nvidia-current/535.183.01/source/dkms.conf does not exist.",
     "/var/lib/dkms/nvidia-current/535.183.01"),
    ("File: /var/lib/dkms/nvidia-legacy-390xx/390.157/source/dkms.conf does not exist.",
     "/var/lib/dkms/nvidia-legacy-390xx/390.157"),
    ("File: /var/lib/dkms/nvidia/../../source/dkms.conf does not exist.", "/var/lib/dkms/NAME/OLD_RELEASE"),
    ("nvidia-dkms-535: the build failed", "/var/lib/dkms/NAME/OLD_RELEASE"),
])  # fmt: skip
def test_the_release_to_remove_is_the_one_that_dkms_names(line: str, folder: str) -> None:
    (found,) = [one for one in proven(DKMS + line) if one.id == "kernel-module-not-built-for-kernel"]
    (command,) = [step.command for step in found.fixes[0].steps]
    assert command.startswith(f"sudo rm -r {folder} && ")


TORCH = ("c10", "torch", "torch_cpu", "torch_python")


@for_each("missing", [(), *((name,) for name in TORCH), TORCH])
def test_a_linker_without_torchs_folder_says_nothing_of_its_build(missing: tuple[str, ...]) -> None:
    lines = [f"/usr/bin/ld: cannot find -l{name}" for name in (*missing, "c10_cuda", "torch_cuda")]
    found = [one.id for one in proven("\n".join(lines)) if one.id == "cpu-only-torch" and one.status == "fail"]
    assert found == ([] if missing else ["cpu-only-torch"])


@for_each("refused", ["privilege change failed", "change root failed"])
def test_refused_privileges_prove_no_device_rule(refused: str) -> None:
    told = report(read(f"nvidia-container-cli: initialization error: {refused}: operation not permitted"))
    assert told.exit_code == 3 and "container-device-permission-denied" in (told.likely, *told.possible)
    steps = [step for found in told.findings for fix in found.fixes for step in fix.steps]
    assert not [step for step in steps if "no-cgroups" in step.command or "nvidia-modprobe" in step.command]


KERNEL = re.compile(r"^(?:NVRM:|pci |pcieport |nvidia(?!.smi)[-_]?\w{0,12}: |modprobe: )|\bXid\b")
MANUALS = sorted(Path(__file__).parents[2].glob("doctor/checks/[a-z]*.py")) + sorted(
    Path(__file__).parents[2].glob("doctor/text/causes/*.txt")
)


def test_a_line_of_the_kernel_log_that_a_page_quotes_is_found_as_its_cause() -> None:
    with Faults() as faults:
        for path in MANUALS:
            text = path.read_text("utf-8")
            page = text.split('"""')[1] if path.suffix == ".py" and text.startswith('"""') else text
            for quote in re.findall(r"`([^`]+)`", page if path.suffix == ".txt" or '"""' in text else ""):
                line = " ".join(quote.split())
                if KERNEL.search(line):
                    with faults.of(f"{path.name}: {line}"):
                        assert path.stem.replace("_", "-") in {found.id for found in proven(line)}


def test_what_nccl_cannot_do_between_mig_instances_is_said_with_its_release() -> None:
    folder = Path(__file__).parents[2] / "doctor"
    pieces = [text for message in catalogue() for text in (message.means, message.fix)]
    pieces += [row.get("text", "") for row in json.loads((folder / "text/fixes.json").read_text("utf-8"))]
    pieces += [page for path in MANUALS for page in path.read_text("utf-8").split('"""')[:2]]
    of_both = [text for text in pieces if re.search(r"\bNCCL\b", text) and "MIG instance" in " ".join(text.split())]
    of_both += [text for text in pieces if "MIG user guide" in text and "NCCL" in text]
    assert len(of_both) >= 3 and not [text for text in of_both if "2.31" not in text]
