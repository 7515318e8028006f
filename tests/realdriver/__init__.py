"""NVIDIA's own user-space libraries of driver 535, from Debian, on a machine without the hardware."""
