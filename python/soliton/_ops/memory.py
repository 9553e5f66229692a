"""Reads and writes, places of them, atomics, and memory of a workgroup."""

from __future__ import annotations

import enum
import numbers

from .. import _lanes, _native, _places
from .._errors import error
from .._symbols import to_expr
from .._trace import Element, Handle, Value, current
from .._types import DataType, MemoryType, dtype_name
from ._given import _also, _memory, _name, _tile
from .mappings import (
    _along_its_values,
    _elsewhere,
    _from_places,
    _in_order,
    _indices_of,
    _mapping,
    _moved,
    _needs_mapping,
    _with_set_symbols,
    _without,
    _written_dims,
)


class MemoryAccessFlags(enum.Flag):
    """How a memory is accessed. VOLATILE reads anew each time, as every read here does; a memory that is so accessed, read and
    written may be waited for by other workgroups, on the emulator."""

    NONE = 0
    VOLATILE = 1
    NONTEMPORAL = 2


def _entries(entries):
    return [each.handle if isinstance(each, Value) else to_expr(each) for each in entries]


def _access(memory: Handle, is_read, elements_per_thread, mapping, mapping_dynamic_vals, bounds, source, target, tag, tile_dims=None):
    trace = current()
    options: dict = {"tag": _name(tag)}
    mapping, mapping_dynamic_vals = _with_set_symbols(mapping, mapping_dynamic_vals, is_read)
    if _needs_mapping(memory) and mapping is None and source is None and target is None:
        options["mapping"] = _in_order(memory, is_read)
    if elements_per_thread is not None:
        options["elements_per_thread"] = to_expr(elements_per_thread)
    if mapping is not None:
        options["mapping"] = _mapping(mapping, memory, is_read, tile_dims)
    if trace.places and "mapping" in options:
        options["mapping"] = _moved(options["mapping"], is_read)
    if isinstance(mapping_dynamic_vals, Value):
        mapping_dynamic_vals = (mapping_dynamic_vals,)
    if mapping_dynamic_vals:
        native, place = options.get("mapping"), _places.here()
        own = [] if native is None else native.outputs if is_read else native.inputs
        options["mapping_dynamic_vals"] = [_indices_of(each, n, mapping, own, place) for n, each in enumerate(mapping_dynamic_vals)]
    if bounds is not None:
        options["bounds"] = [(trace.dim(dim), to_expr(end)) for dim, end in bounds.items()]
    elif "mapping" in options:
        own = options["mapping"].outputs if is_read else options["mapping"].inputs
        # Wave checks no place along a dimension that follows the workgroups of another one: the mapping brings it inside.
        if any(trace.is_unchecked(dim) for dim, _ in own):
            options["bounds"] = [(dim, dim) for dim, _ in own if not trace.is_unchecked(dim)]
    if source is not None:
        options["source"] = _entries(source)
    if target is not None:
        options["target"] = _entries(target)
    return options


def read(
    memory,
    elements_per_thread=None,
    mapping=None,
    mapping_dynamic_vals=(),
    bounds=None,
    flags=MemoryAccessFlags.NONE,
    source=None,
    target=None,
    tag=None,
):
    """The workgroup's tile of a memory; elements outside of the tensor are 0.

    >>> a_reg = tkw.read(a)
    >>> b_reg = tkw.read(b, mapping=transposed, tag="read_b")
    """
    handle = _memory(memory, "read")
    if mapping is None and (made := _from_places(memory, True, source, target)) is not None:
        (mapping, mapping_dynamic_vals), source, target = made, None, None
    options, place = _access(memory, True, elements_per_thread, mapping, mapping_dynamic_vals, bounds, source, target, tag), _places.here()
    _note(handle, flags, is_read=True)
    if handle.name in current().polled:
        return _read_anew(memory, options, place)

    trace, before = current(), current().changes.get(handle.name, 0)

    def check():
        if trace.changes.get(handle.name, 0) != before:
            raise error("not-supported-here", f"a tile of `{handle.name}` whose elements are used elsewhere after the memory was written", "read it again, with a mapping")

    def without(dims):
        check()
        if any(dim in dims for each in options.get("mapping_dynamic_vals", ()) for dim in each.dims):
            return None  # where it is read depends on them
        return Value(_native.read(handle, _without(memory, options, dims), place))

    def read_at(at, tile):
        check()
        return Value(_native.read(handle, _elsewhere(memory, options, at, tile), place))

    if source is not None or target is not None:
        without = read_at = None
    if mapping_dynamic_vals:
        read_at = None
    return Value(_native.read(handle, options, place), without=without, read_at=read_at)


# ---- Memories that workgroups wait for -------------------------------------------------------------------------------------------


def _note(handle, flags, is_read: bool) -> None:
    """Remembers how a memory is accessed; which of them are polled is known at the end of the text."""
    trace = current()
    if is_read:
        trace.read.add(handle.name)
    if flags is not None and getattr(flags, "value", flags) & MemoryAccessFlags.VOLATILE.value:
        trace.volatile.add(handle.name)


def _read_anew(memory: Handle, options: dict, place) -> Value:
    """What a memory holds now, while others write it: an atomic that changes nothing."""
    handle, trace = memory.handle, current()
    if handle.type not in ("i32", "i64", "f32", "f64"):
        raise error("not-supported-here", f"`VOLATILE` on `{handle.name}`, whose elements are `{handle.type}`", "wait for elements of 32 or 64 bits")
    mapping = options.get("mapping")
    dims = [dim for dim, _ in mapping.outputs] if mapping is not None else list(memory.dims)
    nothing = trace.kernel.fill(dims, handle.type, -0.0 if handle.type.startswith("f") else 0, "", place)
    return Value(_native.atomic("atomic_add", nothing, handle, options, place))


def _write_for_others(value, memory: Handle, options: dict, mask, place) -> None:
    """A write that others wait for: behind all that the waves of this workgroup have done, by an atomic."""
    if mask is not None:
        raise error("not-supported-here", f"a write to `{memory.handle.name}`, which workgroups wait for, in a branch that some elements take", "take a branch of the workgroup")
    given = options.get("mapping")
    if given is not None:  # atomics name places as reads do
        options = {**options, "mapping": _native.IndexMapping(given.num_iterators, given.outputs, given.inputs, [])}
    current().kernel.workgroup_barrier(place)
    _native.atomic("atomic_exchange", value, memory.handle, options, place)


def write(
    register_,
    memory,
    elements_per_thread=None,
    mapping=None,
    mapping_dynamic_vals=(),
    bounds=None,
    flags=MemoryAccessFlags.NONE,
    source=None,
    target=None,
    tag=None,
):
    """Writes a tile, in the memory's element type; elements outside of the tensor are dropped.

    >>> tkw.write(repeat, c)
    """
    handle, place = _memory(memory, "write"), _places.here()
    value = _as_written(register_, handle)
    if mapping is None and (made := _from_places(memory, False, source, target)) is not None:
        (mapping, mapping_dynamic_vals), source, target = made, None, None
    if source is None and target is None:
        value = _as_named(value, _written_dims(mapping, memory), is_mapped=mapping is not None or _needs_mapping(memory), place=place)
    options = _access(memory, False, elements_per_thread, mapping, mapping_dynamic_vals, bounds, source, target, tag, value.dims)
    mask = current().mask_for(value.dims, place)
    current().changed(handle)
    _note(handle, flags, is_read=False)
    if handle.name in current().polled:
        _write_for_others(value, memory, options, mask, place)
    elif mask is None:
        _native.write(value, handle, options, place)
    else:
        _change_some("write", mask, value, memory, options, False, place)


def _change_some(what: str, mask, value, memory: Handle, options: dict, is_read: bool, place):
    """What `write` and the atomics do in a branch that is for some elements only: each says for itself where it goes."""
    trace, dims = current(), value.dims
    if not all(dim in dims for dim in mask.dims) or any(dim.kind != "symbol" for dim in dims):
        raise error(
            "simt-value",
            f"`{what}` of a tile with the dimensions `[{', '.join(map(str, dims))}]` in a branch whose condition has `[{', '.join(map(str, mask.dims))}]`",
            "give the tile the dimensions of the condition: `broadcast`, or a mapping",
        )
    if options.get("source") or options.get("target") or "bounds" in options:
        raise error("not-supported-here", f"`{what}` with `source`, `target` or `bounds` in a branch that some elements take", "take a mapping")
    mapping = options.get("mapping") or _in_order(memory, is_read)
    own, inside = (mapping.outputs, mapping.inputs) if is_read else (mapping.inputs, mapping.outputs)
    places = dict(inside)
    names = [(place_, _native.coordinate(dim)) for dim, place_ in own]
    if memory.is_allocated:  # whose places are counted from the workgroup's part
        starts = [trace.start_of(dim) for dim, _ in own]
        if not all(start is not None for start in starts):
            raise error("not-supported-here", f"`{what}` to shared memory in a branch that some elements take, along a `SymbolicAlias`")
        names = [(place_, coordinate - start) for (place_, coordinate), start in zip(names, starts)]
    values = options.get("mapping_dynamic_vals") or []
    scopes = [_native.elements(value, place), _native.when(mask, True, place)]
    at = [_place_of(trace, places[dim], names, values, place) for dim in memory.handle.shape]
    try:
        if what == "write":
            return _native.store(value, memory.handle, at, options["tag"], place)
        return _native.lane_atomic(what, value, memory.handle, at, options["tag"], place)
    finally:
        for scope in reversed(scopes):
            scope.close()


def _place_of(trace, index, names, values, place):
    """An index of a mapping as an element names it: an expression of its coordinates, or its own integer."""
    index = index._substitute(names)
    if not any(_native.dynamic_val(k) in index.free_symbols for k in range(len(values))):
        return index
    # What the coordinates say is one more integer of the element's.
    operands, known = list(values), [(_native.dynamic_val(k), _native.symbol(f"$APPLY_EXPR_ARG_{k}")) for k in range(len(values))]
    for coordinate in [each for each in index.free_symbols if each.name.startswith("$AT_")]:
        known.append((coordinate, _native.symbol(f"$APPLY_EXPR_ARG_{len(operands)}")))
        operands.append(_native.per_lane(trace.kernel, coordinate, "i32", "", place))
    widest = max(operands, key=lambda each: len(each.dims))
    operands = [_native.rearrange("broadcast", each, widest.dims, "", place) if each.dims != widest.dims else each for each in operands]
    wanted = index._substitute(known)
    return _native.apply_expr(operands, lambda _: wanted, "", place)


def _as_named(tile, wanted: list, is_mapped: bool, place):
    """Dimensions go by their names: a tile that lists them in another order is the same tile. Those of one place may be
    missing."""
    dims = list(tile.dims)
    if tile.is_poisoned or dims == wanted or not all(dim in wanted for dim in dims):
        return tile
    if len(dims) < len(wanted) and is_mapped:
        missing = [dim for dim in wanted if dim not in dims]
        if all(current().has_one_place(dim) for dim in missing):
            return _native.rearrange("broadcast", tile, wanted, "", place)
        return tile
    if is_mapped:
        return tile  # the mapping is put into the tile's order
    trace = current()
    followed = {trace.dim(each.source) for each in trace.constraints if getattr(each, "source", None) is not None}
    single = [dim for dim in wanted if dim not in dims and dim in followed and trace.has_one_place(dim)]
    if single:
        dims += single
        tile = _native.rearrange("broadcast", tile, dims, "", place)
    order = [dim for dim in wanted if dim in dims]
    return tile if order == dims else _native.rearrange("permute", tile, order, "", place)


def _as_written(value, memory):
    """A write converts as `cast` would; between floats the builder does."""
    tile = _tile(value, "write")
    if tile.is_poisoned or tile.type == memory.type:
        return tile
    if tile.type.startswith("i") or memory.type.startswith("i"):
        return _native.cast(tile, memory.type, "", _places.here())
    return tile


def _define_atomic(name: str, doc: str):
    @_also(rhs_memory="rhs", memory="rhs")
    def atomic(lhs, rhs, elements_per_thread=None, mapping=None, mapping_dynamic_vals=(), tag=None):
        if isinstance(rhs, Element):
            return _lanes.lane_atomic(name, lhs, rhs, tag)
        handle = _memory(rhs, name)
        lhs, mapping = _along_its_values(lhs, mapping, mapping_dynamic_vals)
        options = _access(rhs, True, elements_per_thread, mapping, mapping_dynamic_vals, None, None, None, tag)
        tile, place = _tile(lhs, name), _places.here()
        mask = current().mask_for(tile.dims, place)
        current().changed(handle)
        if mask is not None:
            return Value(_change_some(name, mask, tile, rhs, options, True, place))
        return Value(_native.atomic(name, tile, handle, options, place))

    atomic.__name__ = atomic.__qualname__ = name
    atomic.__doc__ = f"{doc} in one step, and gives what was there.\n\n    >>> old = tkw.{name}(value, memory)\n    "
    return atomic


atomic_add = _define_atomic("atomic_add", "Adds each element to the memory")
atomic_min = _define_atomic("atomic_min", "The memory becomes the lesser")
atomic_max = _define_atomic("atomic_max", "The memory becomes the larger")
atomic_exchange = _define_atomic("atomic_exchange", "The memory becomes the value")
atomic_and = _define_atomic("atomic_and", "The memory becomes the common bits")
atomic_or = _define_atomic("atomic_or", "The memory becomes the bits of either")
atomic_xor = _define_atomic("atomic_xor", "The memory becomes the bits that differ")


def atomic_cas(expected, value, memory, elements_per_thread=None, mapping=None, mapping_dynamic_vals=(), tag=None):
    """Where the memory holds `expected` it becomes `value`, in one step; gives what was there.

    >>> old = tkw.atomic_cas(zero, mine, lock)
    """
    handle = _memory(memory, "atomic_cas")
    options = _access(memory, True, elements_per_thread, mapping, mapping_dynamic_vals, None, None, None, tag)
    tile, place = _tile(value, "atomic_cas"), _places.here()
    if current().mask_for(tile.dims, place) is not None:
        raise error("not-supported-here", "`atomic_cas` in a branch that some elements take", "choose the value with `tkw.select`")
    current().changed(handle)
    return Value(_native.atomic_cas(_tile(expected, "atomic_cas"), tile, handle, options, place))


def scatter_add(register_src, register_idx, dim, memory, mapping=None, elements_per_thread=1, tag=None):
    """Adds each element to the memory, at `register_idx` along its dimension number `dim`; where it lies along the others
    the outputs of the mapping say, or its own place.

    >>> tkw.scatter_add(values, bins, 0, histogram, mapping=identity)
    """
    handle, place = _memory(memory, "scatter_add"), _places.here()
    along = memory.dims[dim] if isinstance(dim, numbers.Integral) else current().dim(dim)
    value, index = _tile(register_src, "scatter_add"), _tile(register_idx, "scatter_add")
    mask = current().mask_for(value.dims, place)
    current().changed(handle)
    if mapping is None and not memory.layout and mask is None:
        _native.scatter_add(value, index, along, handle, _name(tag), place)
        return
    given = _mapping(mapping, memory, is_read=False) if mapping is not None else _in_order(memory, is_read=False)
    inside = [(d, _native.dynamic_val(0) if d == memory.physical(along) else at) for d, at in given.outputs]
    wanted = _native.IndexMapping(given.num_iterators, inside, given.inputs, [])
    options = {"mapping": wanted, "mapping_dynamic_vals": [index], "tag": _name(tag)}
    if mask is None:
        _native.atomic("atomic_add", value, handle, options, place)
    else:
        _change_some("atomic_add", mask, value, memory, options, True, place)


def read_at(memory, at, tag=None):
    """One element, at a place that is the same for the whole workgroup, as a number.

    >>> length = tkw.read_at(lengths, [tkw.workgroup_id(0)])
    """
    places = [to_expr(each) for each in (at if isinstance(at, (list, tuple)) else (at,))]
    return Value(_native.read_at(_memory(memory, "read_at"), places, _name(tag), _places.here()))


def prefetch(memory, mapping=None, source=None, target=None, tag=None):
    """A hint that this tile will be read soon; results are the same without.

    >>> tkw.prefetch(b)
    """
    options = _access(memory, True, None, mapping, (), None, source, target, tag)
    _native.prefetch(_memory(memory, "prefetch"), options, _places.here())


def allocate(shape, distributed_shape=None, dtype=None, address_space=None, padding=0, parent=None, offset=None, tail_padding=0, tag=None):
    """A tile of these dimensions in the workgroup's shared memory; its physical extents are the compiler's choice.

    >>> scratch = tkw.allocate((M, N), (BLOCK_M, BLOCK_N), tkl.f32)
    """
    if isinstance(distributed_shape, DataType):
        distributed_shape, dtype = None, distributed_shape
    if parent is not None or offset is not None:
        raise error("not-supported-here", "`allocate` inside of another allocation", "leave `parent` and `offset` out")
    trace = current()
    trace.allocations += 1
    name = f"allocation_{trace.allocations}"
    handle = trace.kernel.allocate(name, trace.dims(shape), dtype_name(dtype), _places.here())
    return Handle(handle, MemoryType(tuple(shape), address_space, dtype), is_allocated=True)
