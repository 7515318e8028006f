"""The Dockerfile, built for real."""
