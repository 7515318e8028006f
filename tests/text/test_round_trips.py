"""Facts written in each layout that people and tools use, and read back: names, counts, versions, paths, line numbers."""

from __future__ import annotations

import json
from collections.abc import Callable

from doctor.snapshot import Snapshot, known
from doctor.text import read

from ..rows import for_each

NAME, COUNT, DRIVER, TORCH, PYTHON = "NVIDIA H100 80GB HBM3", 4, "570.86.10", "2.6.0+cu124", "3.11.9"
VARIABLES = {
    "CUDA_HOME": "/opt/cuda-12.4",
    "LD_LIBRARY_PATH": "/opt/cuda-12.4/lib64:/srv/my-libs/lib",
    "CUDA_VISIBLE_DEVICES": "0,2",
    "NCCL_P2P_DISABLE": "1",
}
FACTS = {"driver": DRIVER, "torch": TORCH, "python": PYTHON}
GPUS = [{"index": index, "name": NAME, "driver_version": DRIVER} for index in range(COUNT)]


def sentence() -> str:
    text = f"We have {COUNT}x {NAME} with driver {DRIVER}, torch {TORCH} and Python {PYTHON}."
    return f"{text}\n$ {' '.join(f'{name}={value}' for name, value in VARIABLES.items())} python train.py --gpus 4"


def nested_json(indent: int | None = 2) -> str:
    return json.dumps({"machine": {"gpus": GPUS}, "versions": FACTS, "environment": VARIABLES}, indent=indent)


def lists_in_lists() -> str:
    return json.dumps({"nodes": [{"gpus": GPUS, "software": [FACTS], "env": VARIABLES}]}, indent=1)


def wide_table() -> str:
    columns = ["node", "gpus", "driver", "torch", "python", *VARIABLES]
    row = ["gpu-node", f"{COUNT} x {NAME}", DRIVER, TORCH, PYTHON, *VARIABLES.values()]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), row))


def exports() -> str:
    listed = "\n".join(
        f"GPU {gpu['index']}: {NAME} (UUID: GPU-0000000{gpu['index']}-1111-2222-3333-444444444444)" for gpu in GPUS
    )
    lines = [f'export {name}="{value}"' for name, value in VARIABLES.items()]
    return "\n".join(["$ nvidia-smi -L", listed, *lines, *(f"{key}: {value}" for key, value in FACTS.items())])


def markdown() -> str:
    lines = [f"- **GPUs**: {COUNT} x {NAME}", *(f"- **{key}**: `{value}`" for key, value in FACTS.items())]
    return "\n".join(["## Environment", "", *lines, "", "```", *(f"{k}={v}" for k, v in VARIABLES.items()), "```"])


def yaml() -> str:
    gpus = "\n".join(f"  - index: {gpu['index']}\n    name: {NAME}" for gpu in GPUS)
    return "\n".join(["gpus:", gpus, "versions:", *(f"  {k}: {v}" for k, v in FACTS.items()),
                      "env:", *(f'  {k}: "{v}"' for k, v in VARIABLES.items())])  # fmt: skip


def csv() -> str:
    rows = [f"{gpu['index']}, {NAME}, {DRIVER}" for gpu in GPUS]
    facts = [f"{key} = {value}" for key, value in FACTS.items()]
    return "\n".join(["index, name, driver_version", *rows, "", *facts, *(f"{k}={v}" for k, v in VARIABLES.items())])


LAYOUTS: dict[str, Callable[[], str]] = {
    "sentence": sentence, "nested JSON": nested_json, "JSON in one line": lambda: nested_json(None),
    "lists in lists": lists_in_lists, "wide table": wide_table, "exports": exports, "Markdown": markdown, "YAML": yaml,
    "CSV": csv,
}  # fmt: skip


def facts_of(s: Snapshot) -> dict[str, object]:
    gpus = known(s.gpus) or ()
    return {
        "gpus": [known(gpu.name) for gpu in gpus],
        "driver": known(s.driver.version),
        "torch": known(s.torch.version),
        "python": known(s.python.patient.version),
        **{name: s.host.env(name) for name in VARIABLES},
    }


WANTED = {"gpus": [NAME] * COUNT, "driver": DRIVER, "torch": TORCH, "python": PYTHON, **VARIABLES}


@for_each("layout", LAYOUTS)
def test_what_is_written_is_read(layout: str) -> None:
    told = facts_of(read(LAYOUTS[layout]()))
    assert {key: value for key, value in told.items() if value != WANTED[key]} == {}, LAYOUTS[layout]()


@for_each(
    ("line", "value"),
    [
        ("CUDA_HOME=/opt/cuda", "/opt/cuda"),
        ("$ export CUDA_HOME=/opt/cuda", "/opt/cuda"),
        ("CUDA_HOME=/opt/cuda python train.py", "/opt/cuda"),
        ("CUDA_HOME=/opt/cuda ./train.sh --x", "/opt/cuda"),
        ("NCCL_DEBUG=INFO CUDA_HOME=/opt/cuda torchrun train.py", "/opt/cuda"),
        ("CUDA_HOME=/opt/cuda is what we set", "/opt/cuda"),
        (r"set CUDA_HOME=C:\Program Files\CUDA\v12.4", r"C:\Program Files\CUDA\v12.4"),
    ],
)
def test_a_value_ends_where_a_command_begins(line: str, value: str) -> None:
    assert read(line).host.env("CUDA_HOME") == value


@for_each(
    ("name", "value"),
    [
        ("NVIDIA_REQUIRE_CUDA", "cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=nvidia"),
        ("TORCH_CUDA_ARCH_LIST", "5.2 6.0 9.0+PTX"),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:128"),
    ],
)
def test_values_with_blanks_stay_whole(name: str, value: str) -> None:
    assert read(f"{name}={value}").host.env(name) == value


@for_each("before", [0, 1, 7, 40])
def test_a_fact_is_shown_with_the_number_of_its_line(before: int) -> None:
    """Lines that say nothing come first; the witness of each fact names the line that it stands on."""
    text = "\n".join([*["a line that says nothing"] * before, f"Nvidia driver version: {DRIVER}", f"torch: {TORCH}"])
    lines = read(text).witnesses
    assert lines["driver.nvml_driver_version"] == (f"line {before + 1}: Nvidia driver version: {DRIVER}",)
    assert lines["torch.version"] == (f"line {before + 2}: torch: {TORCH}",)
