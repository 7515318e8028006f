"""Whether a model fits on GPUs: rule tables as data, pure formulas, and readers of a model's own numbers."""

from .cards import Board, Unclear, boards, of_snapshot
from .config import read_model
from .layers import Unbuildable
from .safetensors import Unreadable
from .shape import typical
from .work import Work

__all__ = [
    "Board",
    "Unbuildable",
    "Unclear",
    "Unreadable",
    "Work",
    "boards",
    "of_snapshot",
    "read_model",
    "typical",
]
