"""Facts under keys that no table knows, and names of GPUs as people type them."""

from __future__ import annotations

from doctor.snapshot import known
from doctor.text import read
from doctor.text.names import typed

from ..rows import for_each

NAMES = {
    "1080ti": "GTX 1080 Ti", "RTX4090": "RTX 4090", "4080 RTX": "RTX 4080", "rtx3080ti": "RTX 3080 Ti",
    "3090": "RTX 3090", "1660 SUPER 6GB": "GTX 1660 SUPER", "RTX 4090 24GB": "RTX 4090", "MX150": "MX150",
    "NVIDIA A100-SXM4-80GB": "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3": "NVIDIA H100 80GB HBM3",
    "7900 XTX": "7900 XTX", "NVIDIA GeForce RTX 3080 Laptop GPU": "NVIDIA GeForce RTX 3080 Laptop GPU",
}  # fmt: skip


@for_each("name", NAMES)
def test_a_typed_name_is_the_boards(name: str) -> None:
    assert typed(name).name == NAMES[name]


@for_each("name", ["2x RTX 3090", "RTX 3090 x2", "2*3090 24G", "dual RTX 3090"])
def test_how_many(name: str) -> None:
    assert typed(name)[:2] == ("RTX 3090", 2)


@for_each(
    "text",
    [
        "hardware: RTX 4090\nstack: torch=2.1.0+cu118, driver=525.60.13",
        "rig: name=x, gpu=RTX4090, nvidia_driver=525.60.13\npytorch: version=2.1.0+cu118, cuda=11.8",
        "gpu_info: model=NVIDIA GeForce RTX 4090, vram=24GB\nversions: torch=2.1.0+cu118\nhost: driver=525.60.13",
        "my box: RTX 4090 under driver 525.60.13 with torch 2.1.0+cu118",
        "显卡: RTX4090\n驱动 driver 525.60.13\nPyTorch: 2.1.0+cu118",
    ],
)
def test_the_value_tells_what_an_unknown_key_holds(text: str) -> None:
    s = read(text)
    names = [known(gpu.name) for gpu in known(s.gpus) or ()]
    assert [name and name.removeprefix("NVIDIA GeForce ") for name in names] == ["RTX 4090"]
    assert (known(s.driver.nvml_driver_version), known(s.torch.version)) == ("525.60.13", "2.1.0+cu118")


@for_each("key", ["before", "works_on", "expected", "requirement", "tested with", "previous gpu"])
def test_a_key_of_something_else_tells_nothing(key: str) -> None:
    s = read(f"{key}: RTX 4090, driver 525.60.13, torch 2.1.0+cu118\n{key} 2: torch=2.1.0, driver=525.60.13")
    assert known(s.gpus) is known(s.driver.nvml_driver_version) is known(s.torch.version) is None


def test_lists_of_packages_and_boards() -> None:
    s = read(
        "uv_installed: numpy==2.2.3, onnxruntime==1.20.1, onnxruntime-gpu==1.20.1\n"
        "conda_packages: cudatoolkit=10.0.130, torchvision=0.16.0\ndevices: Tesla K80, 2x Tesla K40c\n"
    )
    assert {(d.name, d.version) for d in known(s.python.distributions) or ()} >= {
        ("onnxruntime-gpu", "1.20.1"),
        ("cudatoolkit", "10.0.130"),
        ("torchvision", "0.16.0"),
    }
    assert [known(gpu.name) for gpu in known(read("gpus: Tesla K80, 2x Tesla K40c").gpus) or ()] == [
        "Tesla K80",
        "Tesla K40c",
        "Tesla K40c",
    ]


def test_a_variable_in_a_list_is_a_variable() -> None:
    assert read("environment: CUDA_VISIBLE_DEVICES=0, HF_TOKEN=abc").host.env("CUDA_VISIBLE_DEVICES") == "0"


def test_one_board_in_two_spellings_is_one() -> None:
    s = read("mine: RTX 3090\nNVIDIA GeForce RTX 3090 with CUDA capability sm_86 is not compatible with it\n")
    assert [known(gpu.name) for gpu in known(s.gpus) or ()] == ["NVIDIA GeForce RTX 3090"]
