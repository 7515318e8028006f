"""Environment variables that break or slow down CUDA. Rows: name, values that count, level, effect."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ANY: Literal["*"] = "*"
ON = ("1", "true", "yes", "on", "y", "t")


class Bad(Struct, frozen=True):
    """`values`: lower-case values that have the effect; ANY: every non-empty one. `level`: warn or remark."""

    name: str
    values: tuple[str, ...] | Literal["*"]
    level: Literal["warn", "remark"]
    effect: str


VARIABLES = (
    Bad("CUDA_LAUNCH_BLOCKING", ON, "warn", "each launch waits for its kernel, which is several times slower"),
    Bad("CUDA_MODULE_LOADING", ("eager",), "remark", "all kernels load at startup, which costs time and GPU memory"),
    Bad("PYTORCH_NO_CUDA_MEMORY_CACHING", ANY, "warn", "allocations go to the driver, which is many times slower"),
    Bad("CUDA_FORCE_PTX_JIT", ON, "warn", "all code is recompiled from PTX, so startup is slow or fails (error 209)"),
    Bad("CUDA_DISABLE_PTX_JIT", ON, "warn", "code that exists only as PTX cannot run (error 209 or 218)"),
    Bad("CUDA_FORCE_JIT", ON, "warn", "machine code is ignored, and everything is compiled at startup"),
    Bad("CUDA_DISABLE_JIT", ON, "warn", "code that must be compiled at startup cannot run"),
    Bad("CUDA_CACHE_DISABLE", ON, "warn", "code compiled from PTX is not cached, so every start recompiles it"),
    Bad("CUDA_DEVICE_WAITS_ON_EXCEPTION", ON, "warn", "after a fault, the program hangs, waiting for a debugger"),
    Bad("CUDA_INJECTION64_PATH", ANY, "warn", "a profiler's library is loaded into every CUDA program"),
    Bad("CUDA_INJECTION32_PATH", ANY, "warn", "a profiler's library is loaded into every 32-bit CUDA program"),
    Bad("NSIGHT_CUDA_DEBUGGER", ON, "warn", "the debugger's hooks are active in every CUDA program"),
    Bad("CUDA_PROFILE", ON, "warn", "the old command-line profiler is on"),
    Bad("COMPUTE_PROFILE", ON, "warn", "the old command-line profiler is on"),
    Bad("OPENCL_PROFILE", ON, "warn", "the old OpenCL profiler is on"),
    Bad("TORCH_DISTRIBUTED_DEBUG", ("detail",), "warn", "extra consistency checks on each collective slow training"),
    Bad("NCCL_DEBUG", ("trace",), "warn", "NCCL logs a line for each operation, which is slow and makes enormous logs"),
    Bad("NCCL_P2P_DISABLE", ON, "warn", "GPUs exchange data through system memory, not directly"),
    Bad("NCCL_SHM_DISABLE", ON, "warn", "within a machine, GPUs that cannot copy directly use the network"),
    Bad("NCCL_P2P_LEVEL", ("loc", "0"), "warn", "GPUs exchange data through system memory, not directly"),
    Bad("NCCL_IB_DISABLE", ON, "remark", "NCCL uses plain TCP even if InfiniBand or RoCE is available"),
    Bad("CUDA_AUTO_BOOST", ("0",), "remark", "older boards do not boost their clocks"),
    Bad("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", ON, "remark", "on a GPU fault, CUDA writes all GPU memory to a core file"),
    Bad("CUDA_COREDUMP_FILE", ANY, "remark", "if GPU core files are turned on, they are written to this path"),
    Bad("PYTORCH_NVML_BASED_CUDA_CHECK", ON, "remark",
        "is_available() asks NVML, so it can return True even if CUDA cannot start"),
    Bad("NVIDIA_TF32_OVERRIDE", ("0",), "remark", "float32 matmuls do not use TF32 tensor cores"),
    Bad("TORCHDYNAMO_DISABLE", ON, "remark", "torch.compile does nothing"),
)  # fmt: skip

SEVERAL_GPUS = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_P2P_LEVEL", "NCCL_IB_DISABLE", "TORCH_DISTRIBUTED_DEBUG")
"""They have no effect on a program that uses one GPU."""
PEER = ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL")
"""They have no effect if the GPUs cannot copy directly anyway."""
