"""Importers: rows of the matrix made anew from what publishers publish. For maintainers: gpudoctor runs none of them.

    python -m compat_matrix.importers torch --last 10              # by pip, from the package index
    python -m compat_matrix.importers torch --report report.json   # what `pip install --dry-run --report` wrote
    python -m compat_matrix.importers packages --package vllm      # every release of vllm, jax, cupy ...
    python -m compat_matrix.importers all                          # both: all that needs no file
    python -m compat_matrix.importers torch-notes RELEASE.md       # pytorch's release compatibility matrix
    python -m compat_matrix.importers toolkit redistrib_13.0.2.json
    python -m compat_matrix.importers pci pci.ids
    python -m compat_matrix.importers wheels benchmarks/wheels.jsonl

Each prints what differs from the shipped rows; `--write` puts it into the data files. A row of higher confidence is
never overwritten without `--force`.
"""
