# ruff: noqa: F821
# Stands after fake_torch.py in the tests' wheels: the loader is asked as torch's import asks it, and cuDNN's version is
# that of the wheel that is installed.
def _load_libraries() -> None:
    library = os.path.join(os.path.dirname(__file__), "lib", "libtorch_cuda.so")
    if os.path.exists(library):
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)


def _installed_cudnn() -> int | None:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    compiled = _build.get("cudnn")
    for name in ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12"):
        try:
            major, minor, patch = map(int, installed(name).split(".")[:3])
        except PackageNotFoundError:
            continue
        found = major * 10000 + minor * 100 + patch
        if compiled and found < compiled:
            raise RuntimeError(
                f"cuDNN version incompatibility: PyTorch was compiled against {compiled} but found runtime version {found}"
            )
        return found
    return compiled


_load_libraries()
if version.cuda:
    backends.cudnn.version = _installed_cudnn
