"""Packages that are known to carry GPU code or to depend on torch's build: where to look, whose metadata to read."""

from __future__ import annotations

# (file or folder below site-packages, distribution)
PACKAGES = (
    ("bitsandbytes", "bitsandbytes"), ("torchvision", "torchvision"), ("torchaudio/lib", "torchaudio"),
    ("torchaudio/_extension", "torchaudio"), ("torchao", "torchao"), ("xformers", "xformers"), ("vllm", "vllm"),
    ("sgl_kernel", "sgl-kernel"), ("deepspeed/ops", "deepspeed"), ("flash_attn_3", "flash-attn-3"),
    ("onnxruntime/capi/libonnxruntime_providers_cuda.so", "onnxruntime-gpu"), ("fbgemm_gpu", "fbgemm-gpu"),
    ("natten", "natten"), ("pytorch3d", "pytorch3d"), ("detectron2", "detectron2"), ("mmcv", "mmcv"),
    ("torch_scatter", "torch-scatter"), ("torch_sparse", "torch-sparse"), ("torch_cluster", "torch-cluster"),
    ("torch_spline_conv", "torch-spline-conv"), ("pyg_lib", "pyg-lib"), ("dgl", "dgl"), ("deep_ep", "deep-ep"),
    ("transformer_engine", "transformer-engine"), ("llama_cpp/lib", "llama-cpp-python"),
    ("ctranslate2.libs", "ctranslate2"), ("jax_cuda12_plugin", "jax-cuda12-plugin"),
    ("jax_cuda13_plugin", "jax-cuda13-plugin"), ("torchcodec", "torchcodec"), ("nvidia/nccl/lib", "nvidia-nccl"),
    ("nvidia/cudnn/lib/libcudnn_ops.so.9", "nvidia-cudnn"),
    ("nvidia/cudnn/lib/libcudnn_ops_infer.so.8", "nvidia-cudnn"),
    ("nvidia/cu13/lib/libnccl.so.2", "nvidia-nccl"), ("nvidia/cu13/lib/libcudnn_ops.so.9", "nvidia-cudnn"),
    ("sageattention", "sageattention"), ("vllm_flash_attn", "vllm-flash-attn"), ("nunchaku", "nunchaku"),
    ("gptqmodel_exllamav2_kernels", "gptqmodel"),
)  # fmt: skip

# Libraries of these are told even without GPU code: what they link shows whether they are CPU or CUDA builds.
COMPANIONS = ("torchvision", "torchaudio", "torchcodec")

# (start of a library's name directly in site-packages, distribution)
TOP_LEVEL = (
    ("flash_attn_2_cuda", "flash-attn"), ("flash_attn_3_cuda", "flash-attn-3"), ("causal_conv1d_cuda", "causal-conv1d"),
    ("selective_scan_cuda", "mamba-ssm"), ("exllamav2_ext", "exllamav2"), ("exllamav3_ext", "exllamav3"),
    ("autogptq_", "auto-gptq"), ("awq_", "autoawq-kernels"), ("amp_C", "apex"), ("grouped_gemm", "grouped-gemm"),
    ("transformer_engine_torch", "transformer-engine"), ("dropout_layer_norm", "flash-attn"),
    ("fused_", "flash-attn"), ("rotary_emb", "flash-attn"), ("deep_ep_cpp", "deep-ep"),
    ("MultiScaleDeformable", "deformable-attention"),
)  # fmt: skip

# Distributions (normalised names) whose metadata header, installer and origin are read.
CODE_DISTRIBUTIONS = frozenset(
    """
    torch torchvision torchaudio torchtext torchao torchcodec torchdata triton pytorch-triton pytorch-triton-rocm
    pytorch-triton-xpu intel-extension-for-pytorch torch-tensorrt torchrec functorch
    bitsandbytes flash-attn flash-attn-3 xformers vllm sgl-kernel sglang deepspeed onnxruntime onnxruntime-gpu
    causal-conv1d mamba-ssm fbgemm-gpu natten pytorch3d detectron2 mmcv mmcv-full torch-scatter torch-sparse
    torch-cluster torch-spline-conv pyg-lib dgl deep-ep transformer-engine transformer-engine-torch
    transformer-engine-cu12 transformer-engine-cu13 llama-cpp-python ctranslate2 faster-whisper exllamav2 exllamav3
    auto-gptq autoawq autoawq-kernels apex flashinfer-python nvidia-nccl-cu11 nvidia-nccl-cu12 nvidia-nccl-cu13
    jax jaxlib jax-cuda12-plugin jax-cuda13-plugin jax-cuda12-pjrt jax-cuda13-pjrt tensorflow tensorflow-cpu
    tensorflow-gpu tensorrt numpy lightning flash-attn-4 sglang-kernel sageattention vllm-flash-attn nunchaku
    gptqmodel flashinfer flashinfer-jit-cache unsloth cuda-toolkit
    pytorch-lightning accelerate peft transformers
    """.split()
)
