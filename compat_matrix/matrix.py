"""The Matrix: the tables, and every question about them bound to them, so that `m.gpu(name)` is `gpus.gpu(m, name)`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .store import Store

if TYPE_CHECKING:
    from . import branches as _branches
    from . import builds as _builds
    from . import code as _code
    from . import companions as _companions
    from . import conda as _conda
    from . import drivers as _drivers
    from . import extension_wheels as _wheels
    from . import forward as _forward
    from . import frameworks as _frameworks
    from . import gpus as _gpus
    from . import images as _images
    from . import libraries as _libraries
    from . import lint as _lint
    from . import models as _models
    from . import performance as _performance
    from . import performance_clock as _performance_clock
    from . import performance_peer as _performance_peer
    from . import torchs as _torchs
else:

    class _Subject:
        """A module of questions, imported when one of them is first asked: a run asks only a few of them."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, question: str) -> _Question:
            return _Question(self._module, question)

    class _Question:
        def __init__(self, module: str, function: str) -> None:
            self._where = module, function

        def __set_name__(self, owner: type, name: str) -> None:
            self._owner, self._name = owner, name

        def __get__(self, matrix: Matrix | None, owner: type) -> Any:
            module, function = self._where
            found = getattr(import_module(f".{module}", __package__), function)
            setattr(self._owner, self._name, found)  # from now on a method like any other
            return found if matrix is None else found.__get__(matrix)

    _branches = _Subject("branches")
    _builds, _code, _companions = _Subject("builds"), _Subject("code"), _Subject("companions")
    _conda, _drivers, _forward = _Subject("conda"), _Subject("drivers"), _Subject("forward")
    _frameworks = _Subject("frameworks")
    _gpus, _libraries, _lint = _Subject("gpus"), _Subject("libraries"), _Subject("lint")
    _models, _images = _Subject("models"), _Subject("images")
    _performance, _torchs, _wheels = _Subject("performance"), _Subject("torchs"), _Subject("extension_wheels")
    _performance_peer, _performance_clock = _Subject("performance_peer"), _Subject("performance_clock")


class Matrix(Store):
    """Facts about compatibility. Create one with `Matrix.load()`; tables are decoded on first use."""

    __slots__ = ()

    driver_branch = _drivers.driver_branch
    driver_for_cuda = _drivers.driver_for_cuda
    driver_for_gpu = _drivers.driver_for_gpu
    branch_to_install = _branches.branch_to_install
    toolkit_versions = _drivers.toolkit_versions
    toolkit_of_driver = _drivers.toolkit_of_driver
    branches_for = _branches.branches_for
    newest_of_branch = _drivers.newest_of_branch
    forward_compat = _forward.forward_compat

    gpu = _gpus.gpu
    gpus_like = _gpus.gpus_like
    gpu_by_capability = _gpus.gpu_by_capability
    is_model = _models.is_model
    lists_model = _models.lists_model
    nearest_models = _models.nearest_models
    compute_capability = _code.compute_capability
    code_for_gpu = _code.code_for_gpu
    expected = _performance.expected
    peer_expected = _performance_peer.peer_expected
    usual_clock = _performance_clock.usual_clock

    torch_release = _torchs.torch_release
    torch_builds = _torchs.torch_builds
    torch_build = _torchs.torch_build
    torch_preloads = _torchs.torch_preloads
    pypi_tag = _torchs.pypi_tag
    torch_for = _torchs.torch_for
    python_for_torch = _torchs.python_for_torch
    torch_for_python = _torchs.torch_for_python
    index_url = _torchs.index_url
    companions = _companions.companions
    companion_matches = _companions.companion_matches
    best_builds = _builds.best_builds
    conda_builds = _conda.conda_builds
    extension_wheel = _wheels.extension_wheel

    framework = _frameworks.framework
    cudnn = _libraries.cudnn
    cudnn_wheel = _libraries.cudnn_wheel
    cudnn_for_gpu = _libraries.cudnn_for_gpu
    nccl = _libraries.nccl
    nccl_for_gpu = _libraries.nccl_for_gpu
    toolkit = _libraries.toolkit
    cuda_error = _libraries.cuda_error
    nvml_error = _libraries.nvml_error

    image_requirements = _images.image_requirements
    oldest_driver = _images.oldest_driver
    ngc_image = _images.ngc_image

    lint = _lint.lint
