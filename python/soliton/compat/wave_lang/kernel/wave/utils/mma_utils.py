"""How many elements of a matrix instruction a lane has."""

from soliton._constraints import MMAType, ScaledMMAType

_FOUR = {MMAType.F32_16x16x16_F16, MMAType.F32_32x32x8_F16, MMAType.I32_16x16x16_I8, MMAType.I32_32x32x8_I8}


def get_mfma_load_elems_per_thread(mfma_variant) -> int | None:
    """Of an operand."""
    if isinstance(mfma_variant, ScaledMMAType):
        return 32 if not mfma_variant.name.startswith("GFX1250") else None
    if mfma_variant in _FOUR:
        return 4
    return None if mfma_variant.name.startswith("GFX1250") else 8


def get_mfma_store_elems_per_thread(mfma_variant) -> int | None:
    """Of the accumulator."""
    if isinstance(mfma_variant, ScaledMMAType):
        return 32 if not mfma_variant.name.startswith("GFX1250") else None
    if mfma_variant.name.startswith("GFX1250"):
        return None
    if mfma_variant.name.startswith("RDNA4"):
        return 8
    return 4 if "_16x16x" in mfma_variant.name else 16
