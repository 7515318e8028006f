"""Causes, each applied to a healthy Snapshot with every fact that it changes. Shared by the checks' tests."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import ABSENT, CompatLibrary, EnvVar, LibraryFile, Missing, Snapshot, TorchRun

COMPAT = "/usr/local/cuda-13.0/compat/libcuda.so.580.65.06"


def cuda_says(s: Snapshot, code: int) -> Snapshot:
    """cuInit answers an error: no devices, and torch sees the same."""
    run = s.torch_run
    if run != TorchRun():
        run = run.with_(
            cuda_available=False,
            device_count=0,
            first_call_code=code,
            first_call_error=f"CUDA error {code}",
            kernel_ran=ABSENT,
            device_names=ABSENT,
            device_capabilities=ABSENT,
            cudnn_version=ABSENT,
        )
    return s.replace({"driver.cu_init": code, "driver.cuda_devices": ABSENT, "torch_run": run})


def without_libcuda(s: Snapshot) -> Snapshot:
    """No libcuda is found: torch's first call answers 35."""
    s = cuda_says(s, 35)
    return s.replace(
        {
            "driver.libcuda_path": ABSENT,
            "driver.libcuda_version": ABSENT,
            "driver.libcuda_stub": ABSENT,
            "driver.cu_init": ABSENT,
            "driver.cuda_version": ABSENT,
        }
    )


def without_nvml(s: Snapshot) -> Snapshot:
    """No libnvidia-ml is found."""
    names = ("library_path", "library_version", "init", "driver_version", "cuda_version", "gpu_count")
    return s.replace({**{f"driver.nvml_{name}": ABSENT for name in names}, "gpus": ABSENT})


def nvml_says(s: Snapshot, code: int) -> Snapshot:
    """nvmlInit answers an error."""
    lost = Missing("error", f"NVML code {code}")
    names = ("driver_version", "cuda_version", "gpu_count")
    return s.replace({"driver.nvml_init": code, **{f"driver.nvml_{name}": lost for name in names}, "gpus": lost})


def without_module(s: Snapshot) -> Snapshot:
    """The nvidia kernel module is not loaded; cards are bound to nothing."""
    cards = s.driver.pci_devices
    if not isinstance(cards, Missing):
        from msgspec.structs import replace

        cards = tuple(replace(card, driver=None) for card in cards)
    return s.replace(
        {
            "driver.kernel_version": ABSENT,
            "driver.kernel_flavour": ABSENT,
            "driver.modules": (),
            "driver.device_nodes": (),
            "driver.proc_gpus": ABSENT,
            "driver.pci_devices": cards,
        }
    )


def not_installed(s: Snapshot) -> Snapshot:
    """A GPU and no driver at all."""
    return without_module(without_nvml(without_libcuda(s)))


def not_loaded(s: Snapshot) -> Snapshot:
    """Libraries, but no module."""
    return without_module(nvml_says(cuda_says(s, 100), 9))


def bound_to(s: Snapshot, driver: str) -> Snapshot:
    """Another kernel driver holds every card."""
    from msgspec.structs import replace

    s = not_loaded(s)
    assert not isinstance(s.driver.pci_devices, Missing)
    cards = tuple(replace(card, driver=driver) for card in s.driver.pci_devices)
    return s.replace({"driver.pci_devices": cards, "driver.nouveau_loaded": driver == "nouveau"})


def env(s: Snapshot, **variables: str) -> Snapshot:
    """Environment variables set, beside those that are there."""
    now = () if isinstance(s.host.environment, Missing) else s.host.environment
    kept = tuple(v for v in now if v.name not in variables)
    return s.replace({"host.environment": (*kept, *(EnvVar(name, value) for name, value in variables.items()))})


def gvisor(s: Snapshot) -> Snapshot:
    """A sandbox without PCI list, kernel facts or driver: nothing proves anything."""
    s = not_installed(s)
    return s.replace(
        {
            "container.kind": "gvisor",
            "driver.pci_devices": ABSENT,
            "driver.modules": Missing("absent", "no /proc/modules"),
        }
    )


def not_given(s: Snapshot) -> Snapshot:
    """A container on a GPU host, started without the GPU: the kernel side shows, nothing else."""
    return without_nvml(without_libcuda(s)).replace(
        {
            "driver.device_nodes": (),
            "container.visible_devices": None,
            "container.driver_capabilities": None,
        }
    )


def compat_loaded(s: Snapshot, path: str = COMPAT, **note: Any) -> Snapshot:
    """The forward-compatibility libcuda of the image is the one that loads."""
    version = path.rpartition(".so.")[2]
    library = CompatLibrary(path=path, version=version, loads=True, **{"cuda_version": "13.0", **note})
    real = LibraryFile(
        soname="libcuda.so.1",
        path="/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        real_path=f"/usr/lib/x86_64-linux-gnu/libcuda.so.{s.driver.version}",
        version=str(s.driver.version),
        found_by="ld.so.cache",
    )
    first = LibraryFile(soname="libcuda.so.1", path=path, real_path=path, version=version, found_by="LD_LIBRARY_PATH")
    folder = path.rpartition("/")[0]
    return env(
        s.replace(
            {
                "driver.libcuda_path": path,
                "driver.libcuda_version": version,
                "driver.libcuda_candidates": (first, real),
                "container.compat": (library,),
                "cuda.ld_library_path": (folder,),
            }
        ),
        LD_LIBRARY_PATH=folder,
    )


def unlisted(s: Snapshot) -> Snapshot:
    """The driver runs, and lists no GPU: the card is only on the PCI bus."""
    return cuda_says(s, 100).replace({"driver.nvml_gpu_count": 0, "gpus": ()})
