"""Keys that nobody agreed on: their words tell what they mean, and where the words leave a doubt nothing is read."""

from __future__ import annotations

from doctor.snapshot import Missing
from doctor.text import read
from doctor.text.grammar.words import kind_of

from ..rows import for_each

MEAN = {
    "driver": ("nvidia_driver", "driverVersion", "nvidia-driver-version", "Display driver", "driver (nvidia-smi)", "facts.driver",
               "NvidiaDriverVersion", "Graphics card driver", "versions.nvidia.driver"),
    "driver_cuda": ("cuda (nvidia-smi)", "smi_cuda", "cuda_from_smi", "cuda_driver_version", "cudaDriverVersion", "max CUDA"),
    "torch": ("pytorch", "torch.__version__", "installed_torch", "PyTorchVersion", "packages.torch", "version of torch"),
    "torch_cuda": ("torch.version.cuda", "built_with_cuda", "torchCuda", "torch built with CUDA", "CUDA (torch)"),
    "gpu_name": ("GPU(s)", "graphics_card", "gpus[0].name", "facts.gpus.0.name", "cards", "gpuModel", "Video card", "device_name"),
    "capability": ("cc", "sm", "compute-capability", "gpus[1].sm", "cudaCapability"),
    "kernel": ("uname -r", "kernelRelease", "host_kernel", "running kernel"),
    "cuda_available": ("torch.cuda.is_available()", "is_cuda_available", "cudaAvailable", "CUDA available?"),
    "secure_boot": ("SecureBoot", "secure_boot_enabled", "Secure Boot state"),
    "module_version": ("kernel module version", "nvidia.ko version", "loaded_kernel_module"),
    "": ("cuda", "cuda_version", "version", "old torch", "required driver version", "driver before", "driver model", "runtime",
         "gpu memory", "previous_torch", "name", "gpu driver status", "expected.driver", "nvidia version"),
}  # fmt: skip


@for_each(("kind", "key"), [(kind, key) for kind, keys in MEAN.items() for key in keys])
def test_a_key_is_read_by_its_words(kind: str, key: str) -> None:
    assert kind_of(key).replace("gpus_line", "gpu_name") == kind


def test_blanks_and_signs_of_mail_and_other_keyboards() -> None:
    s = read(
        "GPU\uff1aRTX\u00a04090\n\u201cdriver\u201d: 550.54.14\nPyTorch\u00a0version:\u202f2.4.0+cu121\nRuntimeError\uff1a libfoo\u2019s error"
    )
    assert s.fact("driver.nvml_driver_version") == "550.54.14" and s.fact("torch.version") == "2.4.0+cu121"
    assert not isinstance(s.gpus, Missing) and s.gpus[0].name == "RTX 4090"


@for_each("version", ["2.4.13.0", "1.2.5.0", "0.70.5.0"])
def test_a_version_of_the_wsl_package_is_no_generation(version: str) -> None:
    assert read(f"wsl_version: {version}").fact("host.wsl") == 2, "what a distribution is where nothing else is said"
    assert read(f"wsl_version: {version}\nkernel: 4.4.0-19041-Microsoft").fact("host.wsl") == 1
    assert read("wsl: WSL2").fact("host.wsl") == 2
