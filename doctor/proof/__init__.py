"""Proofs on the GPU: which measurements are made, by which child, and until when."""
