"""The tables of a matrix: read from a folder on first use, then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from .rows_meta import Meta
from .tables import DATA, MatrixError, decode, row_type

if TYPE_CHECKING:
    from typing_extensions import Self

    from .rows_code import BinaryRule, Capability, PtxTarget
    from .rows_driver import CompatNote, CudaMajor, DriverBranch, ForwardCompat, ForwardCompatRule, Toolkit
    from .rows_gpu import Board, Gpu, GpuSpec
    from .rows_library import CudaError, Cudnn, Framework, Nccl, NvmlError
    from .rows_more import (
        Cpu,
        Extension,
        ExtensionIndex,
        ExtensionWheel,
        Image,
        MigProfile,
        NgcImage,
        NvLink,
        Pcie,
        Performance,
        Publisher,
        Rocm,
    )
    from .rows_torch import Companion, CondaBuild, IndexUrl, Preload, TorchBuild, TorchRelease, TorchRequires

T = TypeVar("T")
SCHEMA_VERSION, SCHEMA_MINOR = 1, 2


class Table(Generic[T]):
    """An attribute of the store that reads its file when first touched."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, matrix: None, owner: type) -> Table[T]: ...
    @overload
    def __get__(self, matrix: Store, owner: type) -> tuple[T, ...]: ...
    def __get__(self, matrix: Store | None, owner: type) -> Table[T] | tuple[T, ...]:
        return self if matrix is None else matrix.rows(self.name)


class Store:
    """Tables as attributes. Made by `load`; a table is decoded when first touched (MatrixError if it cannot be)."""

    __slots__ = ("_directory", "_memo", "differs", "schema_minor", "schema_version", "version")

    # Tables the check path may open.
    drivers: Table[DriverBranch] = Table("drivers")
    toolkits: Table[Toolkit] = Table("toolkits")
    cuda_majors: Table[CudaMajor] = Table("cuda_majors")
    compat_packages: Table[ForwardCompat] = Table("forward_compat")
    capabilities: Table[Capability] = Table("compute_capability")
    ptx_targets: Table[PtxTarget] = Table("ptx_portability")
    binary_rules: Table[BinaryRule] = Table("binary_rules")
    releases: Table[TorchRelease] = Table("torch_releases")
    builds: Table[TorchBuild] = Table("torch_builds")
    index_urls: Table[IndexUrl] = Table("index_urls")
    companion_rows: Table[Companion] = Table("companions")
    preload_rows: Table[Preload] = Table("preloads")
    gpus: Table[Gpu] = Table("gpus")
    boards: Table[Board] = Table("boards")
    cudnn_rows: Table[Cudnn] = Table("cudnn")
    nccl_rows: Table[Nccl] = Table("nccl")
    frameworks: Table[Framework] = Table("frameworks")
    cuda_errors: Table[CudaError] = Table("cuda_errors")
    nvml_errors: Table[NvmlError] = Table("nvml_errors")
    conda_rows: Table[CondaBuild] = Table("conda")
    # Tables for other work.
    gpu_specs: Table[GpuSpec] = Table("gpu_specs")
    forward_compat_rules: Table[ForwardCompatRule] = Table("forward_compat_rules")
    compat_notes: Table[CompatNote] = Table("compat_notes")
    images: Table[Image] = Table("images")
    ngc_images: Table[NgcImage] = Table("ngc_images")
    requires_rows: Table[TorchRequires] = Table("torch_requires")
    extensions: Table[Extension] = Table("extensions")
    extension_wheels: Table[ExtensionWheel] = Table("extension_wheels")
    extension_indexes: Table[ExtensionIndex] = Table("extension_indexes")
    mig_profiles: Table[MigProfile] = Table("mig")
    performance: Table[Performance] = Table("performance")
    nvlinks: Table[NvLink] = Table("nvlink")
    pcie: Table[Pcie] = Table("pcie")
    cpus: Table[Cpu] = Table("cpus")
    rocm: Table[Rocm] = Table("rocm")
    publishers: Table[Publisher] = Table("publishers")

    def __init__(self, directory: str, meta: Meta) -> None:
        self._directory = directory
        self._memo: dict[str, Any] = {}
        self.schema_version = meta.schema_version
        self.schema_minor = meta.schema_minor
        self.version = meta.version
        self.differs = ""
        """For a matrix other than the built-in one: in one line, how it differs from it."""

    @classmethod
    def load(cls, dir: str | None = None) -> Self:
        """The matrix of this package, or of another folder of the same layout. Raises MatrixError."""
        directory = dir or DATA
        return cls(directory, readable(decode(directory, "meta", Meta)))

    def rows(self, table: str) -> tuple[Any, ...]:
        """All rows of a table by its file name (see tables.TABLES). Raises MatrixError, KeyError."""
        key = "table " + table
        found: tuple[Any, ...] | None = self._memo.get(key)  # asked for hundreds of times in a run
        if found is None:
            found = self._memo[key] = self.file(table, tuple[row_type(table), ...])  # type: ignore[misc]
        return found

    def file(self, name: str, kind: Any) -> Any:
        """One file of this matrix (`name`: a table, or sources) decoded as `kind`. Raises MatrixError."""
        return decode(self._directory, name, kind)

    def memo(self, key: str, make: Callable[[], T]) -> T:
        """A value worked out once per matrix (a table, an index over one)."""
        if key not in self._memo:
            self._memo[key] = make()
        return cast("T", self._memo[key])

    @property
    def directory(self) -> str:
        """The folder this matrix reads."""
        return self._directory

    def source(self, key: str) -> str:
        """The full text of a row's source; the key itself when it is not listed."""
        texts: dict[str, str] = self.memo("sources", lambda: self.file("sources", dict[str, str]))
        return texts.get(key, key)


def readable(meta: Meta) -> Meta:
    """`meta`, if this program can read such a matrix. Raises MatrixError."""
    if meta.schema_version > SCHEMA_VERSION:
        raise MatrixError(f"matrix schema {meta.schema_version} is newer than this program ({SCHEMA_VERSION})")
    return meta
