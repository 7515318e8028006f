"""Where the machine is rented, which scheduler runs it, and what virtualises it: by variables and DMI strings."""

from __future__ import annotations

from ..formats.proc import is_wsl, parse_cpuinfo
from ..snapshot import Missing
from .raw import Raw

_BY_VARIABLE = (
    ("RUNPOD_POD_ID", "runpod"), ("VAST_CONTAINERLABEL", "vast"), ("VAST_TCP_PORT_22", "vast"),
    ("MODAL_TASK_ID", "modal"), ("COLAB_RELEASE_TAG", "colab"), ("COLAB_BACKEND_VERSION", "colab"),
    ("COLAB_GPU", "colab"), ("KAGGLE_KERNEL_RUN_TYPE", "kaggle"), ("KAGGLE_CONTAINER_NAME", "kaggle"),
    ("PAPERSPACE_METRIC_WORKLOAD_ID", "paperspace"), ("SAGEMAKER_REGION", "aws"), ("SM_CURRENT_HOST", "aws"),
    ("AWS_BATCH_JOB_ID", "aws"), ("ECS_CONTAINER_METADATA_URI_V4", "aws"), ("ECS_CONTAINER_METADATA_URI", "aws"),
    ("AWS_EXECUTION_ENV", "aws"), ("AZUREML_RUN_ID", "azure"), ("AZ_BATCH_NODE_ID", "azure"), ("K_SERVICE", "gcp"),
    ("CLOUD_ML_PROJECT_ID", "gcp"), ("GOOGLE_CLOUD_WORKSTATIONS", "gcp"), ("LAMBDA_CLOUD", "lambda"),
    ("LIGHTNING_CLOUD_PROJECT_ID", "lightning"), ("SPACE_ID", "huggingface"), ("CODESPACES", "codespaces"),
    ("BEAM_POD_ID", "beam"), ("CEREBRIUM_ENV", "cerebrium"),
)  # fmt: skip
_BY_DMI = (
    ("amazon ec2", "aws"), ("amazon", "aws"), ("google", "gcp"), ("7783-7084-3265-9085-8269-3286-77", "azure"),
    ("oraclecloud.com", "oracle"), ("digitalocean", "digitalocean"), ("hetzner", "hetzner"), ("vultr", "vultr"),
    ("scaleway", "scaleway"), ("alibaba cloud", "alibaba"), ("coreweave", "coreweave"), ("nebius", "nebius"),
    ("lambda", "lambda"), ("crusoe", "crusoe"), ("ovh", "ovh"), ("linode", "akamai"), ("akamai", "akamai"),
)  # fmt: skip
_HYPERVISORS = (
    ("kvm", "kvm"), ("qemu", "kvm"), ("vmware", "vmware"), ("virtualbox", "virtualbox"), ("innotek", "virtualbox"),
    ("xen", "xen"), ("parallels", "parallels"), ("bhyve", "bhyve"), ("openstack", "kvm"),
    ("google compute engine", "kvm"), ("digitalocean", "kvm"), ("alibaba cloud", "kvm"), ("amazon ec2", "amazon"),
)  # fmt: skip
_CHASSIS = {
    "desktop": (3, 4, 5, 6, 7, 13, 15, 16, 24, 35, 36), "laptop": (8, 9, 10, 14, 30, 31, 32),
    "server": (17, 23, 28, 29),
}  # fmt: skip
"""Chassis types of the System Management BIOS specification (DSP0134, 7.4.1)."""
_AGENTS = (("/var/spool/slurmd", "slurm"), ("/var/lib/slurm/slurmd", "slurm"), ("/var/lib/kubelet", "kubernetes"))
_DMI = ("sys_vendor", "product_name", "board_vendor", "chassis_asset_tag", "bios_vendor")


def provider(raw: Raw) -> str | Missing:
    """runpod, vast, aws ...; Missing(absent) if nothing shows."""
    env = raw.env()
    if isinstance(env, dict):
        for name, value in _BY_VARIABLE:
            if name in env:
                return value
    if raw.exists("/kaggle") is True and raw.exists("/content/sample_data") is not True and isinstance(env, dict):
        return "kaggle"
    dmi = " ".join(_dmi(raw)).lower()
    return next((value for words, value in _BY_DMI if words in dmi), Missing("absent"))


def scheduler(raw: Raw) -> str | Missing:
    """kubernetes, slurm ...; Missing(absent) if nothing shows."""
    env = raw.env()
    names = env if isinstance(env, dict) else {}
    if "SLURM_JOB_ID" in names:
        return "slurm"
    if "KUBERNETES_SERVICE_HOST" in names or raw.exists("/var/run/secrets/kubernetes.io") is True:
        return "kubernetes"
    if "PBS_JOBID" in names:
        return "pbs"
    if "LSB_JOBID" in names:
        return "lsf"
    return env if isinstance(env, Missing) else Missing("absent")


def cluster_node(raw: Raw) -> str | Missing:
    """slurm or kubernetes: whose agent keeps its folder here; Missing(absent) if there is none."""
    found = [(raw.exists(path), name) for path, name in _AGENTS]
    named = next((name for there, name in found if there is True), None)
    unread = next((there for there, _ in found if isinstance(there, Missing)), None)
    return named or unread or Missing("absent")


def chassis(raw: Raw) -> str | Missing:
    """desktop, laptop, server or other."""
    text = raw.text("/sys/class/dmi/id/chassis_type")
    if isinstance(text, Missing):
        return text
    number = text.strip()
    kinds = (kind for kind, types in _CHASSIS.items() if number.isdecimal() and int(number[:4]) in types)
    return next(kinds, "other")


def virtualization(raw: Raw) -> str | Missing:
    """none, kvm, vmware, hyperv, xen, amazon ...; `vm` where only the processor says that there is a hypervisor."""
    version = raw.text("/proc/version")
    if isinstance(version, str) and is_wsl(version):
        return "hyperv"
    dmi = _dmi(raw)
    words = " ".join(dmi).lower()
    if "microsoft corporation" in words and "virtual machine" in words:
        return "hyperv"
    if ".metal" in words:
        return "none"
    for part, name in _HYPERVISORS:
        if part in words:
            return name
    cpuinfo = raw.text("/proc/cpuinfo")
    if isinstance(cpuinfo, str) and parse_cpuinfo(cpuinfo).hypervisor:
        return "vm"
    if dmi and isinstance(cpuinfo, str):
        return "none"
    return cpuinfo if isinstance(cpuinfo, Missing) else Missing("absent", "no DMI strings that identify the provider")


def _dmi(raw: Raw) -> list[str]:
    texts = [raw.text(f"/sys/class/dmi/id/{name}") for name in _DMI]
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]
