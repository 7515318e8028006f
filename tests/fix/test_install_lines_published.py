"""The judge of install lines says no where it should: the tests over scenarios and cases lean on it."""

from __future__ import annotations

from ..install_lines import PYTORCH, unpublished
from ..rows import for_each


@for_each(
    ("line", "problem"),
    [
        (f"pip install torch==2.8.0 torchvision==0.23.0 --index-url {PYTORCH}cu126", ""),
        ("uv pip install torch==2.8.0", ""),
        (f"pip install torch==2.8.0+cu126 numpy --extra-index-url {PYTORCH}cu126", ""),
        ("conda install --yes -c conda-forge 'pytorch=2.8.0=cuda129*'", ""),
        ("pip install torch==2.8.7", "no release"),
        (f"pip install torch==2.8.0 --index-url {PYTORCH}cu124", "not on the index"),
        (f"pip install torch==2.8.0 --index-url {PYTORCH}cu999", "no row for the index"),
        (f"pip install torch==2.8.0+cu126 --index-url {PYTORCH}cu128", "from the index"),
        ("cd x && uv pip install torch==2.8.0 torchvision==0.22.0", "no companion"),
        ("conda install -c conda-forge 'pytorch=2.8.0=cuda126*'", "no row of conda-forge"),
        ("conda install -c pytorch pytorch-cuda=12.4", "no row of conda-forge"),
    ],
)
def test_what_is_no_line(line: str, problem: str) -> None:
    assert problem in " ".join(unpublished(line)) if problem else unpublished(line) == []
