"""Shared by all tests: what is installed decides what is skipped, with a reason."""

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

DEVICE = os.environ.get("QW_TEST_DEVICE", "cpu")


@pytest.fixture
def device():
    """Where tensors live: cpu, or what QW_TEST_DEVICE says."""
    return torch.device(DEVICE)


@pytest.fixture(autouse=True)
def seeds():
    torch.manual_seed(0)
