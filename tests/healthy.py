"""Healthy machines as Snapshots: what every check's test starts from. Values are those of real machines."""

from __future__ import annotations

from doctor.snapshot import (
    ABSENT,
    Container,
    Cuda,
    CudaDevice,
    DeviceNode,
    Disk,
    Distribution,
    Driver,
    Environment,
    Gpu,
    Host,
    Missing,
    PciDevice,
    Python,
    Snapshot,
    Target,
    Torch,
    TorchRun,
)

NOT_SUPPORTED = Missing("absent", "not supported")

MODELS: dict[str, dict[str, object]] = {
    "h100": dict(name="NVIDIA H100 80GB HBM3", pci="2330", subsystem="16c110de", cc="9.0", mib=81559, brand=14, watt=700.0),
    "a100": dict(name="NVIDIA A100-SXM4-80GB", pci="20b2", subsystem="147f10de", cc="8.0", mib=81920, brand=14, watt=400.0),
    "l4": dict(name="NVIDIA L4", pci="27b8", subsystem="16ee10de", cc="8.9", mib=23034, brand=14, watt=72.0),
    "t4": dict(name="Tesla T4", pci="1eb8", subsystem="12a210de", cc="7.5", mib=15360, brand=2, watt=70.0),
    "v100": dict(name="Tesla V100-SXM2-16GB", pci="1db1", subsystem="121210de", cc="7.0", mib=16384, brand=2, watt=300.0),
    "rtx4090": dict(name="NVIDIA GeForce RTX 4090", pci="2684", subsystem="16f410de", cc="8.9", mib=24564, brand=5, watt=450.0),
    "rtx5090": dict(name="NVIDIA GeForce RTX 5090", pci="2b85", subsystem="205710de", cc="12.0", mib=32607, brand=5, watt=575.0),
    "rtx3060": dict(name="NVIDIA GeForce RTX 3060", pci="2504", subsystem="881d1043", cc="8.6", mib=12288, brand=5, watt=170.0),
    "gtx1080": dict(name="NVIDIA GeForce GTX 1080", pci="1b80", subsystem="119e10de", cc="6.1", mib=8192, brand=5, watt=180.0),
}  # fmt: skip


def gpu(model: str = "h100", index: int = 0) -> Gpu:
    """One healthy, idle GPU of a known model."""
    facts = MODELS[model]
    uuid = f"GPU-{index:08x}-0000-4000-8000-{facts['pci']}00000000"
    return Gpu(
        key=uuid,
        index=index,
        uuid=uuid,
        name=facts["name"],  # type: ignore[arg-type]
        brand_id=facts["brand"],  # type: ignore[arg-type]
        pci_address=f"0000:{0x10 + index:02x}:00.0",
        pci_device_id=facts["pci"],  # type: ignore[arg-type]
        pci_subsystem_id=facts["subsystem"],  # type: ignore[arg-type]
        compute_capability=facts["cc"],  # type: ignore[arg-type]
        memory_total_mib=facts["mib"],  # type: ignore[arg-type]
        memory_used_mib=4,
        compute_mode="default",
        persistence_mode=True,
        mig_enabled=NOT_SUPPORTED,
        mig_instances=(),
        power_limit_w=facts["watt"],  # type: ignore[arg-type]
        power_default_w=facts["watt"],  # type: ignore[arg-type]
        temperature_c=34,
        clock_event_reasons=1,  # idle
        pcie_width=16,
        pcie_width_max=16,
        pcie_gen=1,
        pcie_gen_max=4,
        processes=(),
    )


def nodes(count: int = 1) -> tuple[DeviceNode, ...]:
    """Device nodes of a host or container that was given `count` GPUs."""
    rw = {"mode": 0o666, "readable": True, "writable": True}
    return (
        *(DeviceNode(path=f"/dev/nvidia{i}", kind="gpu", major=195, minor=i, **rw) for i in range(count)),
        DeviceNode(path="/dev/nvidiactl", kind="ctl", major=195, minor=255, **rw),
        DeviceNode(path="/dev/nvidia-uvm", kind="uvm", major=510, minor=0, **rw),
    )


def healthy(
    *models: str, driver: str = "580.82.07", cuda: str = "13.0", torch: bool = True, container: bool = False
) -> Snapshot:
    """A healthy Linux machine: GPUs of these models (default one H100), driver 580, torch 2.8.0+cu128 in a venv."""
    gpus = tuple(gpu(model, i) for i, model in enumerate(models or ("h100",)))
    site = "/opt/venv/lib/python3.11/site-packages"
    return Snapshot(
        target=Target(kind="live", name="test", gathered_at="2026-11-20T00:00:00Z"),
        host=Host(
            system="linux",
            os_name="Ubuntu 22.04.4 LTS",
            os_id="ubuntu",
            os_version="22.04",
            kernel="6.8.0-45-generic",
            architecture="x86_64",
            libc="glibc 2.35",
            wsl=0,
            virtualization="none",
            cpu_cores=32,
            cpu_quota_cores=ABSENT,
            memory_total_mib=515000,
            memory_limit_mib=ABSENT,
            shm_mib=64000,
            disks=(Disk(role="environment", path="/opt/venv", free_mib=200000),),
            memlock_kib=-1,
            open_files=1048576,
            provider=ABSENT,
            scheduler=ABSENT,
            user_is_root=True,
            environment=(),
        ),
        container=Container(
            kind="docker" if container else "none",
            visible_devices="all" if container else None,
            driver_capabilities="compute,utility" if container else None,
            requirements=(),
            require_disabled=False,
            image_cuda=None,
            image_torch=None,
            compat=(),
        ),
        driver=Driver(
            kernel_version=driver,
            kernel_flavour="open",
            modules=("nvidia", "nvidia_uvm", "nvidia_modeset"),
            nouveau_loaded=False,
            device_nodes=nodes(len(gpus)),
            proc_gpus=len(gpus),
            pci_devices=tuple(
                PciDevice(
                    address=str(g.pci_address),
                    vendor="10de",
                    device=str(g.pci_device_id),
                    class_code="030200",
                    driver="nvidia",
                )
                for g in gpus
            ),
            nvml_library_path=f"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.{driver}",
            nvml_library_version=driver,
            nvml_init=0,
            nvml_driver_version=driver,
            nvml_cuda_version=cuda,
            nvml_gpu_count=len(gpus),
            libcuda_path=f"/usr/lib/x86_64-linux-gnu/libcuda.so.{driver}",
            libcuda_version=driver,
            libcuda_stub=False,
            libcuda_candidates=(),
            cu_init=0,
            cuda_version=cuda,
            cuda_devices=tuple(
                CudaDevice(
                    ordinal=i,
                    name=g.name,
                    uuid=g.uuid,
                    compute_capability=g.compute_capability,
                    pci_address=g.pci_address,
                    memory_total_mib=g.memory_total_mib,
                )
                for i, g in enumerate(gpus)
            ),
        ),
        gpus=gpus,
        gpu_pairs=(),
        cuda=Cuda(
            toolkits=(),
            cuda_home=None,
            nvcc_on_path=None,
            nvcc_version=ABSENT,
            gcc_version=ABSENT,
            libraries=(),
            ld_library_path=(),
            stub_directories=(),
        ),
        python=Python(
            patient=Environment(
                prefix="/opt/venv",
                executable="/opt/venv/bin/python",
                version="3.11.9",
                implementation="cpython",
                kind="venv",
                free_threaded=False,
                site_packages=(site,),
                torch_version="2.8.0+cu128" if torch else ABSENT,
                externally_managed=False,
                writable=True,
                starts=True,
            ),
            chosen_because="VIRTUAL_ENV",
            others=(),
            distributions=_distributions(site) if torch else (Distribution(name="pip", version="26.3", location=site),),
            extensions=(),
            changed_libraries=(),
        ),
        torch=_torch(site) if torch else Torch(version=ABSENT),
        torch_run=_torch_run(gpus, site) if torch else TorchRun(),
    )


_PINS = {
    "nvidia-cublas-cu12": "12.8.4.1", "nvidia-cuda-runtime-cu12": "12.8.90", "nvidia-cudnn-cu12": "9.10.2.21",
    "nvidia-nccl-cu12": "2.27.3", "nvidia-nvjitlink-cu12": "12.8.93", "nvidia-cusparse-cu12": "12.5.8.93",
}  # fmt: skip


def _requires() -> tuple[str, ...]:
    marker = 'platform_system == "Linux" and platform_machine == "x86_64"'
    return (*(f"{name}=={version}; {marker}" for name, version in _PINS.items()), f"triton==3.4.0; {marker}")


def _distributions(site: str) -> tuple[Distribution, ...]:
    rest = {"numpy": "2.2.6", "pip": "26.3", "triton": "3.4.0", **_PINS}
    return (
        Distribution(
            name="torch",
            version="2.8.0",
            location=site,
            installer="pip",
            requires=_requires(),
            requires_python=">=3.9.0",
        ),
        Distribution(name="torchvision", version="0.23.0", location=site, installer="pip", requires=("torch==2.8.0",)),
        Distribution(name="torchaudio", version="2.8.0", location=site, installer="pip", requires=("torch==2.8.0",)),
        *(Distribution(name=name, version=version, location=site, installer="pip") for name, version in rest.items()),
    )


def _torch(site: str) -> Torch:
    archs = ("7.0", "7.5", "8.0", "8.6", "9.0", "10.0", "12.0")
    return Torch(
        version="2.8.0+cu128",
        location=f"{site}/torch",
        build="cuda",
        cuda="12.8",
        hip=ABSENT,
        debug=False,
        git_version="a1cb3cc05d46d198467bebbb6e8fba50a325d4e7",
        installer="pip",
        requires_python=">=3.9.0",
        requires=_requires(),
        sass=archs,
        ptx=(),
        arch_text=tuple("sm_" + a.replace(".", "") for a in archs),
        libraries=(),
        linked_libraries=("libcudart.so.12", "libcudnn.so.9", "libnccl.so.2"),
        missing_libraries=(),
        cudnn_bundled="9.10.2",
        cudnn_path=f"{site}/nvidia/cudnn/lib/libcudnn.so.9",
        cudnn_shadow=ABSENT,
        nccl_bundled="2.27.3",
        nccl_path=f"{site}/nvidia/nccl/lib/libnccl.so.2",
    )


def _torch_run(gpus: tuple[Gpu, ...], site: str) -> TorchRun:
    return TorchRun(
        imported=True,
        import_error=ABSENT,
        import_fault=ABSENT,
        import_seconds=2.1,
        file=f"{site}/torch/__init__.py",
        version="2.8.0+cu128",
        cuda="12.8",
        python_version="3.11.9",
        cuda_available=True,
        device_count=len(gpus),
        arch_list=("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
        cudnn_version="9.10.2",
        cudnn_error=ABSENT,
        nccl_version="2.27.3",
        first_call_code=0,
        first_call_error=ABSENT,
        kernel_ran=True,
        kernel_error=ABSENT,
        device_names=tuple(str(g.name) for g in gpus),
        device_capabilities=tuple(str(g.compute_capability) for g in gpus),
        libraries_loaded=(),
    )
