"""gpudoctor: the doctor for NVIDIA GPU + PyTorch environments."""

__version__ = "0.1.0"
