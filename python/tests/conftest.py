"""What the tests of the Python package share."""

import pytest

TARGETS = ["gfx942", "gfx950", "sm_90a"]


@pytest.fixture(params=TARGETS)
def target(request):
    """Each chip in turn, on the emulator."""
    return request.param
