"""Containers: which kind, what they were given, and forward-compatibility libraries."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from doctor.snapshot import CompatLibrary, EnvVar, Missing

from .tree import Tree

OVERLAY = "1 0 0:50 / / rw - overlay overlay rw,lowerdir={folder}/l/AB,upperdir={folder}/x/diff\n"
IN_A_POD = (
    "1 0 0:50 / / rw - overlay overlay rw,lowerdir=/somewhere\n"
    "9 1 8:1 /var/lib/kubelet/pods/1f/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
)
HOST_OF_CONTAINERS = (
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "90 22 0:50 / /var/lib/docker/overlay2/1f/merged rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/AB\n"
    "91 22 0:51 / /run/containerd/x/rootfs rw - overlay overlay rw,upperdir=/x/io.containerd.snapshotter.v1/1/fs\n"
    "92 22 0:52 / /var/lib/kubelet/pods/1f/volumes/x rw - tmpfs tmpfs rw\n"
    "93 22 8:1 /var/lib/docker/containers/1f/mounts/shm /var/lib/docker/containers/1f/mounts/shm rw - ext4 /dev/sda1 rw\n"
)


@pytest.mark.parametrize(
    ("files", "env", "kind", "evidence"),
    [
        ({}, {}, "none", None),
        ({"/.dockerenv": ""}, {}, "docker", "/.dockerenv"),
        (
            {"/.dockerenv": "", "/proc/self/mountinfo": OVERLAY.format(folder="/var/lib/docker/overlay2")},
            {},
            "docker",
            "/proc/self/mountinfo",
        ),
        ({"/run/.containerenv": "engine=podman\n"}, {}, "podman", "/run/.containerenv"),
        ({"/proc/self/cgroup": "0::/kubepods/besteffort/pod1\n"}, {}, "kubernetes", "/proc/self/cgroup"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.1.0.1"}, "kubernetes", "KUBERNETES_SERVICE_HOST"),
        (
            {
                "/proc/self/mountinfo": OVERLAY.format(
                    folder="/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs"
                )
            },
            {},
            "containerd",
            "/proc/self/mountinfo",
        ),
        ({}, {"APPTAINER_CONTAINER": "/x.sif"}, "apptainer", "APPTAINER_CONTAINER"),
        ({}, {"SINGULARITY_NAME": "x.sif"}, "apptainer", "SINGULARITY_NAME"),
        ({}, {"container": "systemd-nspawn"}, "systemd-nspawn", "container"),
        ({"/proc/self/mountinfo": OVERLAY.format(folder="/somewhere")}, {}, "other", "/proc/self/mountinfo"),
        ({"/proc/self/mountinfo": IN_A_POD}, {}, "kubernetes", "/proc/self/mountinfo"),
        ({"/proc/self/mountinfo": HOST_OF_CONTAINERS}, {}, "none", None),
    ],
)
def test_kind(tree: Tree, files: dict[str, str], env: dict[str, str], kind: str, evidence: str | None) -> None:
    tree.kernel()
    for path, text in files.items():
        tree.file(path, text)
    container = tree.look(env).container
    assert container.kind == kind
    if evidence:
        assert container.evidence == evidence


def test_variables_of_the_runtime(tree: Tree) -> None:
    env = {
        "NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility", "CUDA_VERSION": "12.4.1",
        "NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "true", "PYTORCH_VERSION": "2.6.0",
    }  # fmt: skip
    container = tree.look(env).container
    assert (container.visible_devices, container.driver_capabilities) == ("all", "utility")
    assert container.requirements == (EnvVar("NVIDIA_REQUIRE_CUDA", "cuda>=12.4"),)
    assert container.require_disabled is True
    assert (container.image_cuda, container.image_torch, container.image_torch_source) == (
        "12.4.1",
        "2.6.0",
        "PYTORCH_VERSION",
    )


def test_unset_is_not_unknown(tree: Tree) -> None:
    assert tree.look({}).container.visible_devices is None
    assert isinstance(tree.look(None).container.visible_devices, Missing)


@pytest.fixture(scope="module")
def compat_library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A libcuda with NVIDIA's note of allowed host branches and brands, assembled by gcc."""
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("compat")
    text = json.dumps({"format": 1, "CUDA version": "13.1", "driver": [535, 550, 570], "device": [2, 3]})
    name = "NVIDIA Corporation"
    source = (
        f'.section .note.cuda.fwd_compatibility,"a",@note\n.long {len(name) + 1}\n.long {len(text)}\n.long 1\n'
        f'.asciz "{name}"\n.balign 4\n.ascii {json.dumps(text)}\n.balign 4\n'
    )
    (folder / "note.s").write_text(source)
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", "libcuda.so", "note.s"], cwd=folder, check=True)
    return (folder / "libcuda.so").read_bytes()


def test_compat_library_with_its_note(tree: Tree, compat_library: bytes, tmp_path: Path) -> None:
    tree.file("/usr/local/cuda-13.1/compat/libcuda.so.590.44.01", compat_library)
    tree.link("/usr/local/cuda-13.1/compat/libcuda.so.1", "libcuda.so.590.44.01").link("/usr/local/cuda", "cuda-13.1")
    snapshot = tree.look({})
    expected = CompatLibrary(
        path="/usr/local/cuda/compat/libcuda.so.1",
        version="590.44.01",
        cuda_version="13.1",
        host_branches=(535, 550, 570),
        brand_ids=(2, 3),
        loads=False,
    )
    assert snapshot.container.compat == (expected,)
    assert snapshot.cuda.toolkits == (), "a folder with only compat/ is no toolkit"
    active = tree.look({"LD_LIBRARY_PATH": "/usr/local/cuda/compat"})
    assert not isinstance(active.container.compat, Missing)
    assert active.container.compat[0].loads is True
    assert active.driver.libcuda_version == "590.44.01"


def test_compat_library_without_a_note(tree: Tree) -> None:
    tree.file("/usr/local/cuda-12.4/compat/libcuda.so.550.54.15", "no elf")
    tree.link("/usr/local/cuda-12.4/compat/libcuda.so.1", "libcuda.so.550.54.15")
    compat = tree.look({}).container.compat
    assert not isinstance(compat, Missing)
    assert compat[0].version == "550.54.15"
    assert isinstance(compat[0].host_branches, Missing)
