"""What the layers of an image hold: one forward pass over each that is needed, nothing is written to disk."""

from .scan import LayerFacts, scan
from .snapshot import layers_snapshot

__all__ = ["LayerFacts", "layers_snapshot", "scan"]
