"""Fixes for which libcuda the loader uses: stubs, forward-compatibility libraries, driver libraries in images."""

from __future__ import annotations

import shlex
from typing import Any

from msgspec.structs import replace

from ..findings import Fix, Step
from ..snapshot import EnvVar, LibraryFile, Missing, Snapshot, known
from .where import RECHECK, batch_job, container_kind, cuda_changes, library_changes, start_changes, sudo

_APPTAINER = "/.singularity.d/libs"
_NVML = ("library_path", "library_version", "init", "driver_version", "cuda_version", "gpu_count")


def folder_of(path: str) -> str:
    """The folder part of a path."""
    return path.rpartition("/")[0]


def library_path(s: Snapshot) -> list[str]:
    """Folders of LD_LIBRARY_PATH, in order; empty where it is unset or not known."""
    value = known(s.host.env("LD_LIBRARY_PATH")) or ""
    return [folder for folder in value.split(":") if folder]


def without_folders(word: str) -> str:
    """LD_LIBRARY_PATH, whose value is unknown, without the folders whose names contain a word."""
    return f"export LD_LIBRARY_PATH=$(printf %s \"$LD_LIBRARY_PATH\" | tr : '\\n' | grep -v {word} | paste -sd:)"


def _now_loads(s: Snapshot, then: LibraryFile | None, folders: list[str] | None = None) -> dict[str, Any]:
    """What changes once the loader uses `then` (None: unknown which) and LD_LIBRARY_PATH is `folders`."""
    changes = cuda_changes(
        driver__libcuda_path=(then.real_path or then.path) if then else RECHECK,
        driver__libcuda_version=then.version if then else RECHECK,
        driver__libcuda_stub=False if then else RECHECK,
        driver__libcuda_candidates=(then,) if then else RECHECK,
        driver__cuda_version=RECHECK,
    )
    for path in ("gpus", *(f"driver.nvml_{name}" for name in _NVML)):
        if isinstance(s.fact(path), Missing) or s.driver.nvml_init != 0:
            changes[path] = RECHECK
    compat = s.container.compat
    if not isinstance(compat, Missing):
        loaded = changes["driver.libcuda_path"]
        changes["container.compat"] = tuple(replace(c, loads=c.path == loaded) for c in compat)
    if folders is not None:
        changes["cuda.ld_library_path"] = tuple(folders)
        changes["cuda.stub_directories"] = tuple(f for f in known(s.cuda.stub_directories) or () if f in folders)
        if not isinstance(s.host.environment, Missing):
            kept = tuple(v for v in s.host.environment if v.name != "LD_LIBRARY_PATH")
            value = (EnvVar("LD_LIBRARY_PATH", ":".join(folders)),) if folders else ()
            changes["host.environment"] = (*kept, *value)
    return changes


def prefer_folder(s: Snapshot, file: LibraryFile, title: str = "") -> Fix:
    """Put the folder of a good libcuda first on LD_LIBRARY_PATH."""
    folder = folder_of(file.path)
    folders = [folder, *(f for f in library_path(s) if f != folder)]
    found = replace(file, found_by="LD_LIBRARY_PATH")
    return Fix(
        id="prefer-driver-folder",
        title=title or "Make the loader find the right libcuda first",
        steps=(
            Step(
                text="Put the folder with the driver's libraries first; add the line to the image or job script, too.",
                command=f"export LD_LIBRARY_PATH={shlex.quote(folder)}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}",
                where="shell",
                changes=_now_loads(s, found, folders),
            ),
        ),
    )


def drop_folder(s: Snapshot, folder: str, what: str, then: LibraryFile | None = None) -> Fix:
    """Take a folder off LD_LIBRARY_PATH. `then`: the libcuda that is found instead, where it is known."""
    left = [f for f in library_path(s) if f.rstrip("/") != folder.rstrip("/")]
    command = f"export LD_LIBRARY_PATH={shlex.quote(':'.join(left))}" if left else "unset LD_LIBRARY_PATH"
    return Fix(
        id="drop-library-folder",
        title=f"Remove {what} from the library path",
        steps=(
            Step(
                text=f"Remove {folder} from LD_LIBRARY_PATH.",
                command=command,
                where="shell",
                changes=_now_loads(s, then, left),
            ),
        ),
        note="Also remove it wherever it was added: Dockerfile ENV, ~/.bashrc, module file or job script.",
    )


def remove_compat(s: Snapshot, path: str, then: LibraryFile | None = None) -> tuple[Fix, ...]:
    """Stop the forward-compatibility libcuda from being loaded: here, and in the image."""
    root, folder = sudo(s), folder_of(path)
    package = Fix(
        id="remove-compat-package",
        title="Build the image without cuda-compat",
        steps=(
            Step(
                text="Add this line to the Dockerfile, or use an image whose CUDA is not newer than the host driver's.",
                command="RUN apt-get purge -y 'cuda-compat-*' && ldconfig",
                where="dockerfile",
                changes=start_changes(container__compat=()),
            ),
        ),
    )
    # LD_LIBRARY_PATH may name it by a link: /usr/local/cuda/compat for /usr/local/cuda-13.0/compat
    names = {folder, *(folder_of(f.path) for f in known(s.driver.libcuda_candidates) or () if f.real_path == path)}
    named = next((f for f in library_path(s) if f.rstrip("/") in names), "")
    if named:
        return (drop_folder(s, named, "the forward-compatibility libraries", then), package)
    if container_kind(s) == "apptainer":  # its image cannot be written to
        step = Step(
            text="--nv puts the host's libraries into this folder: make the loader find them first.",
            command=f"export LD_LIBRARY_PATH={_APPTAINER}:$LD_LIBRARY_PATH",
            where="shell",
            changes=_now_loads(s, then),
        )
        return (
            Fix(id="prefer-driver-folder", title="Make the loader find the host's libcuda first", steps=(step,)),
            package,
        )
    if batch_job(s):
        text = "Also remove it wherever it is set: a module, ~/.bashrc, the job script."
        changes = _now_loads(s, then)
        step = Step(text=text, command=without_folders("compat"), where="shell", changes=changes)
        title = "Remove the forward-compatibility libraries from the library path"
        return (Fix(id="drop-library-folder", title=title, steps=(step,)),)
    unread = isinstance(s.cuda.ld_library_path, Missing)  # a text that does not tell it
    off_path = Step(
        text="Remove it from LD_LIBRARY_PATH, if it is listed there (also in ~/.bashrc or a service's unit file).",
        command=without_folders("compat"),
        where="shell",
    )
    from_loader = Fix(
        id="remove-compat-from-loader",
        title="Remove the forward-compatibility libraries from the loader's configuration",
        steps=(
            *((off_path,) if unread else ()),
            Step(
                text="Remove the loader's entry for the compat folder, then rebuild its cache.",
                command=f"grep -ls compat /etc/ld.so.conf.d/*.conf | {root}xargs -r rm && {root}ldconfig",
                where="shell",
                needs_root=True,
                destructive=True,
                changes=_now_loads(s, then),
            ),
        ),
    )
    return (from_loader, package)


def purge_image_driver() -> Fix:
    """Remove driver packages from the image."""
    return Fix(
        id="remove-driver-from-image",
        title="Remove the driver's packages from the image",
        steps=(
            Step(
                text="Add this line to the Dockerfile after the last install, rebuild the image, and recreate the "
                "container.",
                # By what is installed: apt-get refuses a pattern that its lists do not match, and images have none.
                command="RUN apt-get purge -y $(dpkg-query -W -f '${Package}\\n' 'nvidia-driver-*' "
                "'libnvidia-compute-*' 'nvidia-utils-*' libcuda1 2>/dev/null) && apt-get autoremove -y && ldconfig",
                where="dockerfile",
                changes=library_changes(),
            ),
        ),
    )
