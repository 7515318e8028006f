"""Importers: rows of the matrix made anew from what publishers publish. For maintainers: gpudoctor runs none of them.

    python -m compat_matrix.importers all                          # every source below, each from its address
    python -m compat_matrix.importers torch --last 10              # torch and the triton that it asks for
    python -m compat_matrix.importers torch report.json            # what `pip install --dry-run --report` wrote
    python -m compat_matrix.importers companions                   # torchvision, torchaudio
    python -m compat_matrix.importers packages --package vllm      # every release of vllm, jax, cupy ...
    python -m compat_matrix.importers libraries                    # wheels of cuDNN and NCCL
    python -m compat_matrix.importers flash-attn [releases.json]   # GitHub's answer about its releases
    python -m compat_matrix.importers conda [feedstock.tar.gz]     # the recipe of conda-forge's pytorch
    python -m compat_matrix.importers toolkit [redistrib_13.0.2.json]
    python -m compat_matrix.importers compat [page.html]           # NVIDIA's table of cuda-compat packages
    python -m compat_matrix.importers xids [page.html]             # NVIDIA's catalogue of Xid codes
    python -m compat_matrix.importers devices [README.md]          # NVIDIA's open kernel modules
    python -m compat_matrix.importers pci [pci.ids]
    python -m compat_matrix.importers torch-notes [RELEASE.md]     # pytorch's release compatibility matrix
    python -m compat_matrix.importers wheels benchmarks/wheels.jsonl

Each prints what was added, changed or contradicted; `--write` puts it into the data files. A row of higher confidence
that a source contradicts is never overwritten without `--force`.
"""
