"""Environment variables that break or slow CUDA, with what each does. Rows: name, values that count, level, effect."""

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
    Bad("CUDA_LAUNCH_BLOCKING", ON, "warn", "every kernel launch waits for its end: several times slower"),
    Bad("CUDA_MODULE_LOADING", ("eager",), "remark", "all kernels load at the start: slow starts, more GPU memory"),
    Bad("PYTORCH_NO_CUDA_MEMORY_CACHING", ANY, "warn", "torch asks the driver for memory each time: many times slower"),
    Bad("CUDA_FORCE_PTX_JIT", ON, "warn", "all code is compiled from PTX again: slow starts, or error 209"),
    Bad("CUDA_DISABLE_PTX_JIT", ON, "warn", "code that is only there as PTX cannot run (error 209 or 218)"),
    Bad("CUDA_FORCE_JIT", ON, "warn", "machine code is ignored and all is compiled at the start"),
    Bad("CUDA_DISABLE_JIT", ON, "warn", "code that must be compiled at the start cannot run"),
    Bad("CUDA_CACHE_DISABLE", ON, "warn", "what was compiled from PTX is not kept: every start compiles again"),
    Bad("CUDA_DEVICE_WAITS_ON_EXCEPTION", ON, "warn", "after a fault the program waits for a debugger: it hangs"),
    Bad("CUDA_INJECTION64_PATH", ANY, "warn", "a profiler's library is loaded into every CUDA program"),
    Bad("CUDA_INJECTION32_PATH", ANY, "warn", "a profiler's library is loaded into every 32-bit CUDA program"),
    Bad("NSIGHT_CUDA_DEBUGGER", ON, "warn", "the debugger's hooks are on in every CUDA program"),
    Bad("CUDA_PROFILE", ON, "warn", "the old command line profiler is on"),
    Bad("COMPUTE_PROFILE", ON, "warn", "the old command line profiler is on"),
    Bad("OPENCL_PROFILE", ON, "warn", "the old OpenCL profiler is on"),
    Bad("TORCH_DISTRIBUTED_DEBUG", ("detail",), "warn", "collectives are checked by others: slow training"),
    Bad("NCCL_DEBUG", ("trace",), "warn", "NCCL writes a line for each operation: slow, and enormous logs"),
    Bad("NCCL_P2P_DISABLE", ON, "warn", "GPUs exchange data through the machine's memory, not directly"),
    Bad("NCCL_SHM_DISABLE", ON, "warn", "GPUs of one machine that cannot copy directly talk over the network"),
    Bad("NCCL_P2P_LEVEL", ("loc", "0"), "warn", "GPUs exchange data through the machine's memory, not directly"),
    Bad("NCCL_IB_DISABLE", ON, "remark", "NCCL uses plain TCP where InfiniBand or RoCE would be there"),
    Bad("CUDA_AUTO_BOOST", ("0",), "remark", "clocks of old boards are not raised"),
    Bad("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", ON, "remark", "a fault writes a core file as large as its memory"),
    Bad("CUDA_COREDUMP_FILE", ANY, "remark", "core files of the GPU go there, where they are switched on"),
    Bad("PYTORCH_NVML_BASED_CUDA_CHECK", ON, "remark", "is_available() asks NVML: True even where CUDA cannot start"),
    Bad("NVIDIA_TF32_OVERRIDE", ("0",), "remark", "matrix products in float32 do without TF32 tensor cores"),
    Bad("TORCHDYNAMO_DISABLE", ON, "remark", "torch.compile does nothing"),
)  # fmt: skip

SEVERAL_GPUS = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_P2P_LEVEL", "NCCL_IB_DISABLE", "TORCH_DISTRIBUTED_DEBUG")
"""Without effect on a program of one GPU."""
PEER = ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL")
"""Without effect where the GPUs cannot copy directly in any case."""
