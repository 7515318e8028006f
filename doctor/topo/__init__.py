"""What lies between GPUs, as `nvidia-smi topo -m` shows it, and what it costs each way of splitting a training."""

from .costs import Answer, answer
from .matrix import Gap, Table
from .pasted import Garbled, parse_table
from .peers import Peers, parse_peers
from .seen import of_snapshot

__all__ = ["Answer", "Gap", "Garbled", "Peers", "Table", "answer", "of_snapshot", "parse_peers", "parse_table"]
