"""A machine with an NVIDIA GPU and a working driver: run these on one that is lent, `pytest -m gpu`."""
