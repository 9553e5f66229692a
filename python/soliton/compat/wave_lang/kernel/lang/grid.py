"""Grids by their symbolic shape."""


class Grid:
    """How many workgroups there are along each dimension; `Grid[M, N]` is one of that shape, whose numbers `subs` gives."""

    symbolic_shape: tuple = ()
    rank = 0

    def __class_getitem__(cls, shape):
        shape = shape if isinstance(shape, tuple) else (shape,)
        return type(cls.__name__, (cls,), {"symbolic_shape": shape, "rank": len(shape)})

    def __init__(self, subs=()):
        bound = dict(subs)
        self.dims = [int(each.subs(bound)) if hasattr(each, "subs") else int(each) for each in self.symbolic_shape]

    @property
    def shape(self) -> tuple:
        return tuple(self.dims)

    def __getitem__(self, index: int) -> int:
        return self.dims[index]

    def __len__(self) -> int:
        return len(self.dims)

    def __iter__(self):
        return iter(self.dims)


__all__ = ["Grid"]
