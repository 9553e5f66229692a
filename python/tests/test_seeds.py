"""Listings of Wave's own documents on every target's emulator; listings.py has them."""

import pytest

pytest.importorskip("sympy")

import listings  # noqa: E402

ARRAYS = listings.Arrays()


def test_schedule_of_the_prefetched_product(target):
    listings.prefetched_product(target, ARRAYS)


@pytest.mark.parametrize("dynamic_dims", [False, True])
def test_product(target, dynamic_dims):
    listings.product(target, ARRAYS, dynamic_dims)


@pytest.mark.parametrize("shape", [(1, 27), (111, 81), (64, 64)])
def test_copy(target, monkeypatch, shape):
    monkeypatch.setenv("WAVE_DEFAULT_ARCH", target)
    listings.copy(target, ARRAYS, shape)


def test_convolution(target):
    listings.convolution(target, ARRAYS)


@pytest.mark.parametrize("keys", [64, 70])
def test_attention(target, keys):
    listings.attention(target, ARRAYS, keys)
