"""Grids of kernels without constraints, which this version does not have."""

from soliton._errors import error


class Grid:
    """`Grid[M, N]` of Wave's thread kernels."""

    def __class_getitem__(cls, _):
        raise error("not-supported-here", "`Grid[…]` of kernels without constraints", "take `@tkw.wave(constraints)`")


__all__ = ["Grid"]
