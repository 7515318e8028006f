"""Registries for the tests of images."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .registries import Running, TokenServer, registry


@pytest.fixture(scope="session")
def plain_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """docker-registry that anybody may read and write."""
    with registry(tmp_path_factory.mktemp("registry") / "plain") as running:
        yield running


@pytest.fixture(scope="session")
def token_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    server = TokenServer(tmp_path_factory.mktemp("tokens"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def token_registry(tmp_path_factory: pytest.TempPathFactory, token_server: TokenServer) -> Iterator[Running]:
    """docker-registry that wants a token."""
    folder = tmp_path_factory.mktemp("registry") / "tokens"
    with registry(folder, token_server.realm, str(token_server.certificate)) as running:
        yield running
