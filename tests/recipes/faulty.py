"""Recipes with one planted fault each: the rule, and the line that it is to be found at (marked by `<-`)."""

from __future__ import annotations

CUDA = "nvidia/cuda:12.4.1-devel-ubuntu22.04"
PIP = "https://download.pytorch.org/whl"

DOCKERFILES: dict[str, str] = {
    "image-not-published": "FROM nvidia/cuda  # <-\nRUN echo\n",
    "image-not-published:old": "FROM nvidia/cuda:11.0-base  # <-\nRUN echo\n",
    "image-not-published:patch": "FROM nvidia/cuda:12.4.2-devel-ubuntu22.04  # <-\nRUN echo\n",
    "image-not-published:system": "FROM nvidia/cuda:12.1.1-runtime-ubuntu24.04  # <-\nRUN echo\n",
    "image-not-published:old system": "FROM nvidia/cuda:12.8.1-runtime-ubuntu18.04  # <-\nRUN echo\n",
    "image-not-published:registry": "FROM nvcr.io/nvidia/cuda:11.8.1-base-ubuntu22.04  # <-\nRUN echo\n",
    "image-not-published:cudnn": "FROM nvidia/cuda:12.6.3-cudnn9-devel-ubuntu22.04  # <-\nRUN echo\n",
    "image-not-published:cudnn of old": "FROM nvidia/cuda:11.8.0-cudnn-devel-ubuntu22.04  # <-\nRUN echo\n",
    "image-not-published:torch": "FROM pytorch/pytorch:2.5.1-cuda12.6-cudnn9-devel  # <-\nRUN echo\n",
    "apt-key-rotated": "FROM pytorch/pytorch:1.9.0-cuda10.2-cudnn7-devel\nRUN pip list\nRUN export A=1 && \\\n  apt-get update && apt-get install -y git  # <-\n",
    "apt-key-rotated:tensorflow": "FROM tensorflow/tensorflow:2.8.0-gpu\nRUN apt -y update  # <-\nRUN apt-key adv --fetch-keys https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2004/x86_64/3bf863cc.pub\n",
    "apt-key-rotated:late": "FROM pytorch/pytorch:1.11.0-cuda11.3-cudnn8-devel\nRUN apt-get update && rm /etc/apt/sources.list.d/cuda.list  # <-\n",
    "torch-cpu-build": f"FROM {CUDA}\nRUN apt-get update \\\n && pip install torch --index-url {PIP}/cpu  # <-\n",
    "torch-cpu-build:local": f"FROM {CUDA}\nRUN pip install torch==2.6.0+cpu -f {PIP}/torch_stable.html  # <-\n",
    "torch-build-not-published": f"FROM python:3.11\nENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility\nRUN pip install torch==2.6.0 --index-url {PIP}/cu121  # <-\n",
    "torch-build-not-published:index": f"FROM {CUDA}\nRUN pip install torch --index-url {PIP}/cu124x/cu999  # <-\n",
    "nightly-index-ended": f"FROM nvidia/cuda:12.1.1-devel-ubuntu22.04\nRUN pip install --pre torch \\\n  --index-url {PIP}/nightly/cu121  # <-\n",
    "torch-cpu-build:by extra index": f"FROM {CUDA}\nRUN pip install torch --extra-index-url {PIP}/cpu  # <-\n",
    "toolkit-of-other-major:today": f"FROM {CUDA}\nENV TORCH_CUDA_ARCH_LIST=8.0\nRUN pip3 install torch\nRUN git clone https://x/nvdiffrast && cd nvdiffrast && python setup.py install --cuda_ext  # <-\n",
    "torch-newer-than-base-promises:ngc": f"FROM nvcr.io/nvidia/tensorflow:22.03-tf2-py3\nRUN pip install torch==2.8.0 --index-url {PIP}/cu128  # <-\n",
    "torch-newer-than-base-promises:today": f"FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nRUN pip3 install torch torchaudio --extra-index-url {PIP}/cu118  # <-\n",
    "torch-without-wheel-for-python": "FROM python:3.13-slim\nENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility\nRUN pip install torch==2.2.0  # <-\n",
    "torch-on-musl": f"FROM python:3.11-alpine\nRUN pip install torch --index-url {PIP}/cpu  # <-\n",
    "torch-companion-of-other-release": f"FROM {CUDA}\nRUN pip install \\\n    torch==2.6.0 \\\n    torchvision==0.20.0 \\  # <-\n    --index-url {PIP}/cu124\n",
    "torch-replaced-later": f"FROM {CUDA}\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN pip install torch==2.4.0 numpy  # <-\n",
    "torch-replaced-later:requirements": f"FROM {CUDA}\nCOPY requirements.txt /tmp/\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN pip install -r /tmp/requirements.txt  # <-\n",
    "torch-replaced-later:upgrade": f"FROM {CUDA}\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN pip install -U torch --index-url {PIP}/cu126  # <-\n",
    "torch-replaced-later:ngc": "FROM nvcr.io/nvidia/pytorch:25.08-py3\nRUN pip install torch==2.6.0  # <-\n",
    "torch-newer-than-base-promises": f"FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN pip install torch==2.8.0 --index-url {PIP}/cu128  # <-\n",
    "toolkit-of-other-major": f"FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=8.0\nRUN pip install torch==2.8.0 --index-url {PIP}/cu128\nRUN git clone https://x/nvdiffrast && cd nvdiffrast && python setup.py install --cuda_ext  # <-\n",
    "compiler-not-in-image": f"FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=8.0 FORCE_CUDA=1\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN pip install 'git+https://github.com/facebookresearch/detectron2.git'  # <-\n",
    "arch-list-not-set": f"FROM {CUDA}\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN pip install --no-build-isolation git+https://github.com/graphdeco-inria/diff-gaussian-rasterization  # <-\n",
    "arch-list-not-set:forced": f"FROM {CUDA}\nENV FORCE_CUDA=1\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN pip install --no-build-isolation git+https://github.com/facebookresearch/pytorch3d.git  # <-\n",
    "arch-list-not-set:own variable": f"FROM {CUDA}\nENV TORCH_CUDA_ARCH_LIST=8.6\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN pip install git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch  # <-\n",
    "arch-list-not-set:setup.py": f"FROM {CUDA}\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN cd csrc/ops && python setup.py install  # <-\n",
    "extension-without-cuda": f"FROM {CUDA}\nENV TORCH_CUDA_ARCH_LIST=8.6\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN pip install --no-build-isolation git+https://github.com/facebookresearch/pytorch3d.git@stable  # <-\n",
    "extension-without-cuda:source": f"FROM {CUDA}\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN pip install git+https://github.com/rusty1s/pytorch_scatter.git  # <-\n",
    "extension-without-cuda:zero": f"FROM {CUDA}\nENV FORCE_CUDA=0\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN MMCV_WITH_OPS=1 pip install git+https://github.com/open-mmlab/mmcv.git@v2.2.0  # <-\n",
    "extension-without-cuda:use": f"FROM {CUDA}\nENV TORCH_CUDA_ARCH_LIST=8.6\nRUN git clone https://github.com/x/cuda-ops && cd cuda-ops && USE_CUDA=0 python setup.py install  # <-\n",
    "compiler-not-in-image:deepspeed": f"FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124\nRUN DS_BUILD_OPS=1 pip install deepspeed  # <-\n",
    "arch-list-wrong": f"FROM {CUDA}\nENV TORCH_CUDA_ARCH_LIST=8.0,8.6  # <-\n",
    "arch-list-wrong:sm": f'FROM {CUDA}\nENV TORCH_CUDA_ARCH_LIST="sm_80 sm_90"  # <-\n',
    "arch-list-wrong:too new": 'FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\nENV A=1 \\\n    TORCH_CUDA_ARCH_LIST="8.0;12.0"  # <-\n',
    "driver-installed-in-image": f"FROM {CUDA}\nRUN apt-get update && \\\n    apt-get install -y git \\\n      nvidia-utils-535  # <-\n",
    "driver-installed-in-image:meta": "FROM ubuntu:22.04\nRUN apt-get install -y cuda-12-4  # <-\n",
    "driver-installed-in-image:lib": f"FROM {CUDA}\nRUN apt install -y libnvidia-compute-550  # <-\n",
    "nvidia-variables-not-set": f"FROM python:3.11-slim\nRUN pip install torch==2.6.0 --index-url {PIP}/cu124  # <-\n",
    "gpu-hidden-by-variable": f"FROM {CUDA}\nENV NVIDIA_VISIBLE_DEVICES=none  # <-\n",
    "gpu-hidden-by-variable:cuda": f"FROM {CUDA}\nENV CUDA_VISIBLE_DEVICES=-1  # <-\n",
    "gpu-fixed-by-variable": f"FROM {CUDA}\nENV CUDA_VISIBLE_DEVICES=0  # <-\n",
    "driver-capabilities-incomplete": f"FROM {CUDA}\nENV NVIDIA_DRIVER_CAPABILITIES=graphics,video  # <-\n",
    "requirement-not-checked": f"FROM {CUDA}\nENV NVIDIA_DISABLE_REQUIRE=1  # <-\n",
    "requirement-not-readable": f'FROM {CUDA}\nENV NVIDIA_REQUIRE_CUDA="cuda=>12.4"  # <-\n',
    "compat-on-library-path": f"FROM {CUDA}\nENV LD_LIBRARY_PATH=/usr/local/cuda/compat:$LD_LIBRARY_PATH  # <-\n",
    "stub-on-library-path": f"FROM {CUDA}\nENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs  # <-\n",
    "gpu-used-in-build": f"FROM {CUDA}\nRUN nvidia-smi  # <-\n",
    "gpu-used-in-build:assert": "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\nRUN python -c 'import torch; assert torch.cuda.is_available()'  # <-\n",
    "healthcheck-by-nvidia-smi": f"FROM {CUDA}\nHEALTHCHECK --interval=30s \\\n  CMD nvidia-smi || exit 1  # <-\n",
}
"""By rule; what stands behind the colon tells two of one rule apart. The mark is taken out before it is judged."""

REQUIREMENTS = "numpy\ntorch==2.4.1  # pinned by somebody\n"

_RESERVED = "    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}\n"
COMPOSE: dict[str, str] = {
    "service-without-gpu": "services:\n  a:\n    image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime  # <-\n",
    "gpu-reservation-incomplete": "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    ipc: host\n    deploy:\n      resources:\n        reservations:\n          devices:\n            - driver: nvidia  # <-\n              count: 1\n",
    "gpu-reservation-incomplete:ids": "services:\n  a:\n    image: x\n    deploy:\n      resources:\n        reservations:\n          devices:\n            - {driver: nvidia, device_ids: [0], capabilities: [gpu]}  # <-\n",
    "gpu-reservation-incomplete:both": "services:\n  a:\n    image: x\n    deploy:\n      resources:\n        reservations:\n          devices:\n            - {driver: nvidia, count: 1, device_ids: ['0'], capabilities: [gpu]}  # <-\n",
    "shared-memory-small": f"services:\n  a:  # <-\n    image: me/x\n    command: torchrun train.py\n{_RESERVED}",
    "shared-memory-small:size": f"services:\n  a:\n    image: me/x\n    shm_size: 128m  # <-\n{_RESERVED}",
    "gpu-hidden-by-variable": f"services:\n  a:\n    image: me/x\n    environment:\n      - A=1\n      - NVIDIA_VISIBLE_DEVICES=void  # <-\n{_RESERVED}",
    "driver-mounted-by-hand": "services:\n  a:\n    image: me/x\n    volumes:\n      - ./data:/data\n      - /usr/lib/x86_64-linux-gnu/libcuda.so.1:/usr/lib/libcuda.so.1:ro  # <-\n",
    "driver-mounted-by-hand:long": "services:\n  a:\n    image: me/x\n    volumes:\n      - {type: bind, source: /usr/lib/nvidia, target: /x}  # <-\n",
    "image-not-published": f"services:\n  a:\n    image: nvidia/cuda:latest  # <-\n{_RESERVED}",
    "more-gpus-than-given": f"services:\n  a:  # <-\n    image: vllm/vllm-openai:v0.10.0\n    ipc: host\n    command: --model m --tensor-parallel-size 4\n{_RESERVED}",
    "more-gpus-than-given:ids": "services:\n  a:  # <-\n    image: me/x\n    ipc: host\n    command: [torchrun, --nproc-per-node=4, train.py]\n    deploy: {resources: {reservations: {devices: [{driver: nvidia, device_ids: ['0', '1'], capabilities: [gpu]}]}}}\n",
    "more-gpus-than-given:gpus": "services:\n  a:  # <-\n    image: me/x\n    ipc: host\n    command: [torchrun, --nproc-per-node=4, train.py]\n    gpus: [{driver: nvidia, count: 2}]\n",
    "healthcheck-by-nvidia-smi": f"services:\n  a:\n    image: me/x\n    healthcheck:\n      test: [CMD, nvidia-smi]  # <-\n{_RESERVED}",
}

_POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  runtimeClassName: nvidia\n  containers:\n    - name: a\n"
)
KUBERNETES: dict[str, str] = {
    "image-not-published": "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: a\n      image: nvidia/cuda:12.8.1-base  # <-\n      resources: {limits: {nvidia.com/gpu: 1}}\n",
    "container-without-gpu": f"{_POD}      image: nvcr.io/nvidia/pytorch:25.08-py3  # <-\n",
    "gpu-quantity-wrong": f"{_POD}      image: me/x\n      resources:\n        limits:\n          nvidia.com/gpu: 0.5  # <-\n",
    "gpu-quantity-wrong:requests": f"{_POD}      image: me/x\n      resources:\n        requests:\n          nvidia.com/gpu: 1  # <-\n",
    "gpu-quantity-wrong:differ": f"{_POD}      image: me/x\n      resources:\n        limits: {{nvidia.com/gpu: 2}}\n        requests:\n          nvidia.com/gpu: 1  # <-\n      volumeMounts: [{{name: shm, mountPath: /dev/shm}}]\n",
    "liveness-by-doctor": f"{_POD}      image: me/x\n      livenessProbe:  # <-\n        exec: {{command: [gpudoctor, healthcheck]}}\n",
    "gpus-beside-the-scheduler": f"{_POD}      image: me/x\n      env:\n        - name: NVIDIA_VISIBLE_DEVICES  # <-\n          value: all\n",
    "gpus-beside-the-scheduler:daemonset": "apiVersion: apps/v1\nkind: DaemonSet\nspec:\n  template:\n    spec:\n      containers:\n        - name: a\n          image: me/x\n          resources: {limits: {nvidia.com/gpu: 1}}\n          env:\n            - name: NVIDIA_VISIBLE_DEVICES  # <-\n              value: all\n",
    "shared-memory-small": "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      runtimeClassName: nvidia\n      containers:\n        - name: a  # <-\n          image: me/x\n          command: [torchrun, train.py]\n          resources: {limits: {nvidia.com/gpu: 4}}\n",
    "runtime-class-not-set": "apiVersion: v1\nkind: Pod\nspec:\n  restartPolicy: Never\n  containers:  # <-\n    - image: me/x\n      resources: {limits: {nvidia.com/gpu: 1}}\n---\napiVersion: v1\nkind: Pod\nspec: {runtimeClassName: nvidia, containers: [{name: b, image: me/y, resources: {limits: {nvidia.com/gpu: 1}}}]}\n",
    "more-gpus-than-given": f"{_POD.replace('name: a', 'name: a  # <-').replace('metadata: {name: a  # <-}', 'metadata: {name: a}')}      image: vllm/vllm-openai:v0.10.0\n      args: [--tensor-parallel-size, '2']\n      volumeMounts: [{{name: shm, mountPath: /dev/shm}}]\n      resources: {{limits: {{nvidia.com/gpu: 1}}}}\n",
    "more-gpus-than-given:torchrun": "apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    spec:\n      containers:\n        - name: a  # <-\n          image: me/x\n          command: [torchrun, --nproc_per_node=8, train.py]\n          volumeMounts: [{name: shm, mountPath: /dev/shm}]\n          resources: {limits: {nvidia.com/gpu: 4}}\n",
    "more-gpus-than-given:product": "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n        - name: a  # <-\n          image: lmsysorg/sglang:v0.5.3\n          args: ['--tp=4 --pp-size 2']\n          volumeMounts: [{name: shm, mountPath: /dev/shm}]\n          resources: {limits: {nvidia.com/gpu: 4}}\n",
    "driver-mounted-by-hand": f"{_POD}      image: me/x\n  volumes:\n    - name: driver  # <-\n      hostPath: {{path: /usr/lib/nvidia}}\n",
}

VARIABLES = {
    "gpu-hidden-by-variable": ("CUDA_VISIBLE_DEVICES", "NoDevFiles"),
    "driver-capabilities-incomplete": ("NVIDIA_DRIVER_CAPABILITIES", "graphics, video"),
    "requirement-not-checked": ("NVIDIA_DISABLE_REQUIRE", "t"),
    "requirement-not-readable": ("NVIDIA_REQUIRE_CUDA", "cuda=>12.4"),
    "compat-on-library-path": ("LD_LIBRARY_PATH", "/usr/local/cuda/compat:/usr/lib"),
    "stub-on-library-path": ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64/stubs"),
}
"""By rule: a variable that breaks it wherever it is set."""

_GPU = "          resources: {limits: {nvidia.com/gpu: 1}}\n"
SET_IN = {
    "Dockerfile": f'FROM {CUDA}\nENV NAME="VALUE"  # <-\n',
    "compose.yaml": f"services:\n  a:\n    image: me/x\n    environment:\n      NAME: 'VALUE'  # <-\n{_RESERVED}",
    "list.compose.yaml": f"services:\n  a:\n    image: me/x\n    environment:\n      - NAME=VALUE  # <-\n{_RESERVED}",
    "pod.yaml": "apiVersion: v1\nkind: Pod\nspec:\n    containers:\n        - image: me/x\n          env:\n            - {name: NAME, value: 'VALUE'}  # <-\n"
    + _GPU,
    "deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n        - image: me/x\n          env:\n            - name: NAME  # <-\n              value: 'VALUE'\n"
    + _GPU,
}
"""By file: where a variable is set; a Dockerfile, both forms of compose, a Pod and a Deployment."""
