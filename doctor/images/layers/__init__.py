"""What an image's layers contain: one forward pass over each that is needed; nothing is written to disk."""

from .merged import with_layers
from .scan import LayerFacts, scan
from .snapshot import layers_snapshot

__all__ = ["LayerFacts", "layers_snapshot", "scan", "with_layers"]
