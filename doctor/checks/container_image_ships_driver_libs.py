"""The container image contains its own driver libraries, which hide the host's.

What is wrong: in a container, libcuda and libnvidia-ml must come from the host; the container toolkit mounts them at
startup. This image also contains a copy of a different version, and the loader picks that copy.

Symptoms: `Driver/library version mismatch` or CUDA error 803 only in this container, while others on the same host
work; `nvidia-container-cli: mount error: file creation failed ... file exists` at startup.

Why it happens: a package installed while the image was built pulled the driver in (nvidia-driver-*,
libnvidia-compute-*, libcuda1, nvidia-utils-*, some OpenCL and ffmpeg packages), or libraries were copied from a host.

How to fix it: remove those packages from the image. Until then, make the loader find the host's libraries first.

Source: NVIDIA Container Toolkit documentation: driver libraries are mounted from the host.
"""

from __future__ import annotations

from ..findings import Check, Finding, Findings, Matrix, Policy, Skip
from ..fixes.libcuda import prefer_folder, purge_image_driver
from ..fixes.where import container_kind
from ..snapshot import NOT_ASKED, LibraryFile, Missing, Snapshot, known, need
from ._seen import is_wsl, real_libcudas, same_version

CHECK = Check(
    __name__,
    title="The image contains its own driver libraries",
    sound="No driver library in the image hides the host's",
    severity="critical",
    layer="container",
    tags=("driver", "container"),
    downstream_of=("driver-not-answering",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Decidable if both are on the loader's path: a libcuda of the module's version and, before it, a different one.

    For an image that was not started, only its own can be on that path.
    """
    if not container_kind(s):
        need("container.kind", s.container.kind)
        raise Skip("not in a container")
    if is_wsl(s):
        raise Skip("WSL: the libraries come from the Windows driver")
    module = known(s.driver.kernel_version)
    if module is None:
        if isinstance(s.driver.kernel_version, Missing) and s.driver.kernel_version.reason == "absent":
            raise Skip("no kernel module to compare with", without="gpu")
        need("driver.kernel_version", s.driver.kernel_version)
        return
    need("driver.libcuda_candidates", s.driver.libcuda_candidates)
    files = real_libcudas(s)
    verdicts = [(f, same_version(module, known(f.version) or "")) for f in files]
    hosts = next((f for f, same in verdicts if same), None)
    if hosts is None and verdicts and s.driver.libcuda_path == NOT_ASKED:
        yield _before_the_start(files[0], module)
    if hosts is None or not verdicts or verdicts[0][1] is not False:
        return
    first = verdicts[0][0]
    yield CHECK.fail(
        "Driver libraries inside the image hide the host's",
        f"The loader picks {first.real_path or first.path} (version {known(first.version)}), but the host's kernel "
        f"module is version {module}. The matching library is {hosts.real_path or hosts.path}.",
        facts={
            "kernel_version": module,
            "loaded": first.path,
            "loaded_version": known(first.version),
            "fitting": hosts.path,
        },
        subject=first.path,
        fixes=(prefer_folder(s, hosts), purge_image_driver()),
    )


def _before_the_start(library: LibraryFile, module: str) -> Finding:
    path, version = library.real_path or library.path, known(library.version)
    return CHECK.warn(
        f"The image contains a driver library, {path.rpartition('/')[2]}",
        f"{path} is part of the image, and the host's driver is {module}. The host's libraries are mounted next to it, "
        "so the loader may pick the image's, or the container may fail to start with 'file exists'.",
        facts={"kernel_version": module, "in_image": path, "in_image_version": version},
        subject=library.path,
        direct=False,
        fixes=(purge_image_driver(),),
    )
