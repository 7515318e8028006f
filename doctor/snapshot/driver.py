"""Facts about the driver: kernel side (host) and user-space side (image), each with its own field."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .fact import NOT_ASKED, Missing, Section

NodeKind = Literal["gpu", "ctl", "uvm", "uvm-tools", "modeset", "caps", "nvswitch", "fabric", "dxg", "tegra", "other"]


class DeviceNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node such as /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-caps/*, /dev/dxg."""

    path: str
    kind: NodeKind
    mode: int = 0
    """Permission bits, as in stat (0o666)."""
    uid: int = 0
    gid: int = 0
    readable: bool | Missing = NOT_ASKED
    """Whether open(O_RDWR)-style access is allowed to this user (access(2); device cgroups show only on opening)."""
    writable: bool | Missing = NOT_ASKED
    character_device: bool = True
    major: int | Missing = NOT_ASKED
    minor: int | Missing = NOT_ASKED


class PciDevice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A display-class PCI device (class 0x03xxxx, any vendor) or any NVIDIA function of class 0x03 or 0x0680."""

    address: str
    """0000:65:00.0, lower case."""
    vendor: str
    """Four lower-case hex digits: 10de is NVIDIA, 1002 AMD, 8086 Intel."""
    device: str
    subsystem_vendor: str | Missing = NOT_ASKED
    subsystem_device: str | Missing = NOT_ASKED
    class_code: str = ""
    """Six hex digits: 030000 VGA, 030200 3D controller, 068000 NVSwitch."""
    driver: str | Missing | None = NOT_ASKED
    """Kernel driver bound to it (nvidia, nouveau, vfio-pci); None if none is bound."""


class PciePath(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a GPU or an RDMA card hangs on the PCIe tree, by sysfs."""

    address: str
    bridges: tuple[str, ...] = ()
    """From the host bridge (pci0000:00) down to the last bridge above the device, by address."""
    nic: str = ""
    """An RDMA card's name (mlx5_0); empty for a GPU."""
    numa_node: int | Missing = NOT_ASKED
    """Missing(absent) if the firmware names none (-1)."""
    cpus: str | Missing = NOT_ASKED
    """Cores near it, as the kernel lists them: 0-23,48-71."""
    iommu: str | Missing = NOT_ASKED
    """Type of its IOMMU group (DMA, DMA-FQ, identity); Missing(absent) if it is in none."""
    acs_redirects: tuple[str, ...] | Missing = NOT_ASKED
    """Which of these bridges send requests between devices up to the host bridge (ACS P2P Request Redirect);
    Missing(denied) if the registers of one could not be read: that takes root."""

    def shared(self, other: PciePath) -> int:
        """How many bridges both have above them, the host bridge among them."""
        pairs = enumerate(zip(self.bridges, other.bridges, strict=False))
        return next((at for at, (mine, its) in pairs if mine != its), min(len(self.bridges), len(other.bridges)))


class LibraryFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A driver library on disk."""

    soname: str
    path: str
    """As the loader finds it."""
    real_path: str = ""
    version: str | Missing = NOT_ASKED
    """Driver version from the real file's name, e.g. 535.261.03."""
    size: int = 0
    stub: bool = False
    """A link-time stub of the toolkit (folder stubs/, or a libcuda without the driver's internal symbols)."""
    found_by: str = ""
    """LD_LIBRARY_PATH, ld.so.cache, default, rpath, mapped, or elsewhere: in a driver folder that the loader does not
    search (/usr/local/nvidia/lib64, /usr/lib/wsl/lib)."""


Fault: TypeAlias = Literal["hang", "crash"]


class CallFault(Struct, frozen=True):
    """A driver call that did not come back: a fact of its own, see the check driver-not-answering."""

    library: Literal["nvml", "cuda"]
    call: str
    fault: Fault
    detail: str = ""
    stuck_pid: int = 0
    """The child that made the call and that even SIGKILL did not end (state D); 0 if it could be ended."""
    stuck_in: str = ""
    """The kernel function in which it sleeps, from /proc/PID/wchan; empty if that is hidden."""


class CudaDevice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What libcuda itself says of one device (in CUDA's order, after CUDA_VISIBLE_DEVICES)."""

    ordinal: int
    name: str | Missing = NOT_ASKED
    uuid: str | Missing = NOT_ASKED
    compute_capability: str | Missing = NOT_ASKED
    """`8.9`."""
    pci_address: str | Missing = NOT_ASKED
    memory_total_mib: int | Missing = NOT_ASKED
    integrated: bool | Missing = NOT_ASKED
    """Shares the system's memory (CU_DEVICE_ATTRIBUTE_INTEGRATED)."""
    peers: tuple[int, ...] | Missing = NOT_ASKED
    """Ordinals of the devices whose memory it may read (cuDeviceCanAccessPeer)."""


class UnlistedGpu(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A GPU that the driver holds and NVML does not list, as the kernel speaks of it."""

    pci_address: str
    node: str | Missing = NOT_ASKED
    """/dev/nvidiaN, by the minor number in /proc/driver/nvidia/gpus/ADDRESS/information."""
    opening: str | Missing = NOT_ASKED
    """The result of open(2) on it: ok, or the error's name (EPERM, EIO); Missing(absent) if there is no node,
    Missing(timeout) if it did not return."""
    excluded: bool | Missing = NOT_ASKED
    """Left out by the module's option NVreg_ExcludedGpus."""
    fell_off_in_log: bool | Missing = NOT_ASKED
    """Whether the kernel log says that it has fallen off the bus."""


class Driver(Section, frozen=True, kw_only=True, omit_defaults=True):
    """The driver, by every witness that can be asked."""

    kernel_version: str | Missing = NOT_ASKED
    """Loaded module, from /proc/driver/nvidia/version or /sys/module/nvidia/version (host)."""
    kernel_flavour: Literal["open", "proprietary"] | Missing = NOT_ASKED
    modules: tuple[str, ...] | Missing = NOT_ASKED
    """Names among nvidia, nvidia_uvm, nvidia_modeset, nvidia_drm, nvidia_peermem, nvidia_fs, nouveau, vfio_pci."""
    device_file_mode: int | Missing = NOT_ASKED
    """The mode that the module gives its device nodes (DeviceFileMode in /proc/driver/nvidia/params): 0o666, unless the
    option NVreg_DeviceFileMode says otherwise."""
    nouveau_loaded: bool | Missing = NOT_ASKED
    module_built: bool | Missing = NOT_ASKED
    """Whether modprobe would find an nvidia module for the running kernel; Missing(absent) if this system has no
    modules of that kernel (a container)."""
    mps_pipe: str | Missing = NOT_ASKED
    """Folder with the control pipe of the MPS daemon that this user can open (CUDA_MPS_PIPE_DIRECTORY, else
    /tmp/nvidia-mps); Missing(absent) if there is none, Missing(denied) if it cannot be opened."""
    device_nodes: tuple[DeviceNode, ...] | Missing = NOT_ASKED
    """Read before any NVIDIA library was loaded; an empty tuple is 'looked, none'."""
    pci_devices: tuple[PciDevice, ...] | Missing = NOT_ASKED
    """Missing(absent) if the PCI list itself is not there or empty (gVisor): it proves nothing."""
    pcie_paths: tuple[PciePath, ...] | Missing = NOT_ASKED
    """Of the NVIDIA GPUs and the RDMA cards, where there are two of them at least."""
    proc_gpus: int | Missing = NOT_ASKED
    """Entries in /proc/driver/nvidia/gpus."""
    unlisted_gpus: tuple[UnlistedGpu, ...] | Missing = NOT_ASKED
    """GPUs that the driver holds and NVML does not list; asked only where there are such."""

    nvml_library_path: str | Missing = NOT_ASKED
    """Real path of the libnvidia-ml.so.1 that is loaded (or that the loader would take)."""
    nvml_library_version: str | Missing = NOT_ASKED
    """Driver version in that file's name."""
    nvml_init: int | Missing = NOT_ASKED
    """NVML return code of nvmlInit_v2; 0 is success."""
    nvml_init_text: str | Missing = NOT_ASKED
    nvml_driver_version: str | Missing = NOT_ASKED
    """nvmlSystemGetDriverVersion."""
    nvml_cuda_version: str | Missing = NOT_ASKED
    """nvmlSystemGetCudaDriverVersion: the highest CUDA that the driver supports, not what is installed."""
    nvml_gpu_count: int | Missing = NOT_ASKED

    libcuda_path: str | Missing = NOT_ASKED
    """Real path of the libcuda.so.1 that is loaded (or that the loader would take)."""
    libcuda_version: str | Missing = NOT_ASKED
    """Driver version in that file's name (a compat libcuda has its own, newer one)."""
    libcuda_stub: bool | Missing = NOT_ASKED
    """The loaded libcuda is the toolkit's link-time stub."""
    libcuda_candidates: tuple[LibraryFile, ...] | Missing = NOT_ASKED
    """Every libcuda.so.1 or libcuda.so on the loader's path, stubs included, in the loader's order."""
    cu_init: int | Missing = NOT_ASKED
    """cuInit result; 0 is success, 100 no device, 803 mismatch ..."""
    cu_init_name: str | Missing = NOT_ASKED
    """CUDA_ERROR_NO_DEVICE ..."""
    cuda_version: str | Missing = NOT_ASKED
    """cuDriverGetVersion as `13.0`: the highest CUDA that this libcuda supports, not what is installed."""
    cuda_devices: tuple[CudaDevice, ...] | Missing = NOT_ASKED
    faults: tuple[CallFault, ...] = ()
    """Driver calls that hung or crashed."""

    @property
    def version(self) -> str | Missing:
        """The driver version to judge by: loaded kernel module first, else NVML's, else libcuda's file.

        The kernel module is the host's; a user-space library alone does not prove that a driver runs.
        """
        if not isinstance(self.kernel_version, Missing):
            return self.kernel_version
        if not isinstance(self.nvml_driver_version, Missing):
            return self.nvml_driver_version
        return self.kernel_version
