"""The operations of the language, with Wave's names and signatures; each is one call of the builder.

Every function takes `tag="name"`, by which schedules find what it becomes.
"""

from __future__ import annotations

import enum
import functools
import numbers

from . import _lanes, _native, _places, _threads
from ._constraints import GenericDot, HardwareConstraint, IteratorBindings, mma_name
from ._errors import error
from ._symbols import is_expression, is_sympy, meanings, to_expr
from ._trace import Element, Handle, Loop, LoopsOverDimensions, Mask, Value, binary, can_drop, current, fitted, nested
from ._types import TYPES, DataType, IndexMapping, MemoryType, dtype_name


all_of, any_of, max_of, min_of = all, any, max, min  # Python's own: the language has functions of these names


class MemoryAccessFlags(enum.Flag):
    """How a memory is accessed. VOLATILE reads anew each time, as every read here does."""

    NONE = 0
    VOLATILE = 1
    NONTEMPORAL = 2


# ---- What functions are given ----------------------------------------------------------------------------------------------


def _also(**names):
    """Lets a function take arguments by the names that Wave's documents give them, too: `_also(src="arg")`."""

    def decorate(function):
        @functools.wraps(function)
        def renamed(*args, **given):
            if given:
                given = {names.get(name, name): value for name, value in given.items()}
            return function(*args, **given)

        return renamed

    return decorate


def _tile(value, what: str):
    if isinstance(value, Value):
        return value.handle
    if isinstance(value, (tuple, list)):
        raise error("undefined-value", f"`{what}` got {len(value)} values, expected one tile", "take one of them: `a, b = loop`")
    if isinstance(value, Handle):
        raise error("undefined-value", f"`{what}` got the memory `{value.handle.name}`, expected a tile", "take `tkw.read` first")
    raise error("undefined-value", f"`{what}` got `{value!r}`, expected a tile")


def _memory(value, what: str):
    if isinstance(value, Handle):
        return value.handle
    raise error("undefined-value", f"`{what}` got `{value!r}`, expected a memory: a parameter, or what `allocate` gave")


def _one_number(value, what: str):
    """The one number of a tile without dimensions, of one that repeats a number, or of one with a single place."""
    tile = _tile(value, what)
    if tile.is_poisoned or not tile.dims:
        return tile
    if value.scalar is not None:
        return value.scalar()
    trace, place = current(), _places.here()
    if not all_of(trace.has_one_place(dim) for dim in tile.dims):
        return tile  # the builder says what is wrong with it
    if tile.type == "i1":
        tile = _native.cast(tile, "i32", "", place)
    for dim in tile.dims:
        tile = _native.reduce("sum", tile, None, dim, False, "", place)
    return tile


def _name(tag) -> str:
    if tag is None:
        return ""
    if isinstance(tag, (set, frozenset, list, tuple)):
        if len(tag) > 1:
            raise error("not-supported-here", "an operation takes one tag", "add more with `tkw.tag(value, name)`")
        tag = next(iter(tag), "")
    current().tags.add(str(tag))
    return str(tag)


# ---- Memory ----------------------------------------------------------------------------------------------------------------


def _key(dim, shape):
    """The dimension of `shape` that a mapping's key means: itself, or `K/32` where the memory has that of `K`."""
    if dim in shape:
        return dim
    for each in shape:
        if each.kind == "exactDiv" and each.args[0] == dim:
            return each
    return None


def _mapping(mapping: IndexMapping, memory: Handle, is_read: bool, tile_dims=None) -> _native.IndexMapping:
    """Keys that the memory does not have mean nothing, and scaled dimensions go by the name of what they are of. The tile
    lists its dimensions in its own order, `tile_dims`."""
    trace = current()
    shape = memory.dims

    def side(entries, of_memory):
        made = []
        for dim, index in entries.items():
            named = trace.dim(dim)
            known = _key(named, shape)
            if of_memory and known is None:
                continue
            known = named if known is None else known
            made.append((memory.physical(known) if of_memory else known, to_expr(index)))
        return made

    inputs = side(mapping.input_mapping, of_memory=is_read)
    outputs = side(mapping.output_mapping, of_memory=not is_read)
    if tile_dims and not is_read and all_of(dim in tile_dims for dim, _ in inputs):
        inputs.sort(key=lambda entry: tile_dims.index(entry[0]))
    return _native.IndexMapping(mapping.num_iterators, inputs, outputs, [])


def _indices_of(value, position: int, mapping: IndexMapping | None, own, place):
    """A dynamic value as the tile indexes it: by its own dimensions, or where `dynamic_val_mappings` says."""
    tile, trace = _tile(value, "mapping_dynamic_vals"), current()
    said = mapping.dynamic_val_mappings[position] if mapping is not None and position < len(mapping.dynamic_val_mappings) else {}
    at = {trace.dim(dim): to_expr(index) for dim, index in said.items()}
    places = dict(own)
    is_own = all_of(dim in places and at.get(dim, places[dim]) == places[dim] for dim in tile.dims)
    if tile.is_poisoned or is_own:
        return tile
    if value.scalar is not None:
        return value.scalar()
    if value.read_at is not None and all_of(dim in at or dim in places for dim in tile.dims):
        return value.read_at({dim: at.get(dim, places.get(dim)) for dim in tile.dims}, own).handle
    extra = [dim for dim in tile.dims if dim not in places]
    if extra and can_drop(extra) and all_of(at.get(dim, places.get(dim)) == places.get(dim) for dim in tile.dims if dim in places):
        return fitted(tile, [dim for dim in tile.dims if dim in places], place)
    index = next((f"`{at[dim]}` along `{dim}`" for dim in tile.dims if dim in at and places.get(dim) != at[dim]), f"`{tile.dims}`")
    raise error(
        "not-supported-here",
        f"a dynamic value that is indexed by {index}, and was not read from memory for this",
        "read the indices with a mapping of their own",
    )


def _entries(entries):
    return [each.handle if isinstance(each, Value) else to_expr(each) for each in entries]


def _from_places(memory: Handle, is_read: bool, source, target):
    """`source` and `target` as a mapping and its dynamic values; None where they make none, which the builder says."""
    trace = current()
    bindings = [each for each in trace.constraints if isinstance(each, IteratorBindings)]
    if source is None or target is None or len(bindings) != 1:
        return None
    bound = {to_expr(symbol): trace.dim(dim) for symbol, dim in bindings[0].bindings.items()}
    tile_side, memory_side = (target, source) if is_read else (source, target)
    if len(memory_side) != len(memory.dims) or any_of(isinstance(each, Value) or to_expr(each) not in bound for each in tile_side):
        return None
    symbols = [to_expr(each) for each in tile_side]
    names = [(symbol, _native.iterator(k)) for k, symbol in enumerate(symbols)]
    tile = {bound[symbol]: place for symbol, place in names}
    inside: dict = {}
    values: list[Value] = []
    for dim, entry in zip(memory.dims, memory_side):
        if isinstance(entry, Value) and entry.symbol is None:
            inside[dim] = _native.dynamic_val(len(values))
            values.append(entry)
        else:
            inside[dim] = to_expr(entry)._substitute(names)
    if len(tile) != len(symbols) or len(inside) != len(memory.dims):
        return None
    return IndexMapping(len(symbols), *((inside, tile) if is_read else (tile, inside))), tuple(values)


def _in_order(memory: Handle, is_read: bool):
    """The mapping of a memory whose extents are not those of its dimensions (`MemoryLayout`), and that is accessed in order."""
    places = [_native.iterator(k) for k in range(len(memory.dims))]
    tile = list(zip(memory.dims, places))
    inside = [(memory.physical(dim), place) for dim, place in tile]
    return _native.IndexMapping(len(places), *((inside, tile) if is_read else (tile, inside)), [])


def _needs_mapping(memory: Handle) -> bool:
    """Is it accessed elsewhere than where a tile's places are: by its layout, or because a loop moves them?"""
    return bool(memory.layout) or any_of(dim in current().places for dim in memory.dims)


def _moved(mapping: _native.IndexMapping, is_read: bool) -> _native.IndexMapping:
    """The mapping with places along a dimension that a loop with a condition walks moved to where the loop is."""
    places, own = current().places, mapping.outputs if is_read else mapping.inputs
    names = [(place, place + places[dim]) for dim, place in own if dim in places]
    inside = [(dim, index._substitute(names)) for dim, index in (mapping.inputs if is_read else mapping.outputs)]
    return _native.IndexMapping(mapping.num_iterators, *((inside, own) if is_read else (own, inside)), [])


def _access(memory: Handle, is_read, elements_per_thread, mapping, mapping_dynamic_vals, bounds, source, target, tag, tile_dims=None):
    trace = current()
    options: dict = {"tag": _name(tag)}
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
        if any_of(trace.is_unchecked(dim) for dim, _ in own):
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

    trace, before = current(), current().changes.get(handle.name, 0)

    def check():
        if trace.changes.get(handle.name, 0) != before:
            raise error("not-supported-here", f"a tile of `{handle.name}` whose elements are used elsewhere after the memory was written", "read it again, with a mapping")

    def without(dims):
        check()
        if any_of(dim in dims for each in options.get("mapping_dynamic_vals", ()) for dim in each.dims):
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


def _elsewhere(memory: Handle, options: dict, at: dict, tile: list) -> dict:
    """The options of a read of the same elements, where each dimension of its own tile is at an expression of another tile's
    places: `tile` lists that one's dimensions and iterators."""
    mapping = options.get("mapping") or _in_order(memory, is_read=True)
    names = [(place, at[dim]) for dim, place in mapping.outputs]
    order = [(place, _native.iterator(k)) for k, (_, place) in enumerate(tile)]
    inside = [(dim, index._substitute(names)._substitute(order)) for dim, index in mapping.inputs]
    outside = [(dim, _native.iterator(k)) for k, (dim, _) in enumerate(tile)]
    made = {"tag": options["tag"], "mapping": _native.IndexMapping(len(tile), inside, outside, [])}
    return made


def _without(memory: Handle, options: dict, dims) -> dict:
    """The options of a read whose tile lacks dimensions of which it has one place: that of the workgroup or the iteration."""
    trace = current()
    mapping = options.get("mapping") or _in_order(memory, is_read=True)
    kept = [(dim, place) for dim, place in mapping.outputs if dim not in dims]
    names = [(place, _native.iterator(k)) for k, (_, place) in enumerate(kept)]
    names += [(place, trace.start_of(dim)) for dim, place in mapping.outputs if dim in dims]
    inside = [(dim, at._substitute(names)) for dim, at in mapping.inputs]
    made = {**options, "mapping": _native.IndexMapping(len(kept), inside, [(dim, place._substitute(names)) for dim, place in kept], [])}
    if "bounds" in made:
        made["bounds"] = [(dim, end) for dim, end in made["bounds"] if dim not in dims]
    return made


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
    if mask is None:
        _native.write(value, handle, options, place)
    else:
        _change_some("write", mask, value, memory, options, False, place)


def _change_some(what: str, mask, value, memory: Handle, options: dict, is_read: bool, place):
    """What `write` and the atomics do in a branch that is for some elements only: each says for itself where it goes."""
    trace, dims = current(), value.dims
    if not all_of(dim in dims for dim in mask.dims) or any_of(dim.kind != "symbol" for dim in dims):
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
        if not all_of(start is not None for start in starts):
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
    if not any_of(_native.dynamic_val(k) in index.free_symbols for k in range(len(values))):
        return index
    # What the coordinates say is one more integer of the element's.
    operands, known = list(values), [(_native.dynamic_val(k), _native.symbol(f"$APPLY_EXPR_ARG_{k}")) for k in range(len(values))]
    for coordinate in [each for each in index.free_symbols if each.name.startswith("$AT_")]:
        known.append((coordinate, _native.symbol(f"$APPLY_EXPR_ARG_{len(operands)}")))
        operands.append(_native.per_lane(trace.kernel, coordinate, "i32", "", place))
    widest = max_of(operands, key=lambda each: len(each.dims))
    operands = [_native.rearrange("broadcast", each, widest.dims, "", place) if each.dims != widest.dims else each for each in operands]
    wanted = index._substitute(known)
    return _native.apply_expr(operands, lambda _: wanted, "", place)


def _written_dims(mapping, memory: Handle) -> list:
    """The dimensions that a tile has to have."""
    if mapping is None:
        return memory.dims
    named = [current().dim(dim) for dim in mapping.input_mapping]
    return [dim if (known := _key(dim, memory.dims)) is None else known for dim in named]


def _as_named(tile, wanted: list, is_mapped: bool, place):
    """Dimensions go by their names: a tile that lists them in another order is the same tile. Those of one place may be
    missing."""
    dims = list(tile.dims)
    if tile.is_poisoned or dims == wanted or not all_of(dim in wanted for dim in dims):
        return tile
    if len(dims) < len(wanted) and is_mapped:
        missing = [dim for dim in wanted if dim not in dims]
        if all_of(current().has_one_place(dim) for dim in missing):
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


# ---- Registers -------------------------------------------------------------------------------------------------------------


def register(shape, dtype, value, tag=None):
    """A tile whose elements are all `value`: a number, a scalar of the kernel, or an expression of symbols.

    >>> zero = tkw.register((M, N), tkl.f32, 0.0)
    """
    trace, place = current(), _places.here()
    dims, kind = trace.dims(shape), dtype_name(dtype)
    if isinstance(value, Value):
        scalar_ = value.handle if value.handle.type == kind else _native.cast(value.handle, kind, "", place)
        if dims and not value.handle.dims:
            return Value(_spread(scalar_, dims, _name(tag), place), scalar=lambda: scalar_)
        return Value(scalar_)
    number = _number(value, kind)
    if number is not None:
        return Value(trace.kernel.fill(dims, kind, number, _name(tag), place), scalar=lambda: trace.kernel.fill([], kind, number, "", place))
    if _threads.speaks_of_threads(expr := to_expr(value)):
        return Value(_threads.tile(trace, expr, dims, kind, _name(tag), place))
    scalar_ = _from_expr(value, kind, place)
    return Value(_spread(scalar_, dims, _name(tag), place), scalar=lambda: scalar_)


def _spread(scalar_, dims, tag, place):
    return _native.rearrange("broadcast", scalar_, dims, tag, place) if dims else scalar_


def _number(value, kind: str):
    """The constant that it is, in the sort that the element type has; None for an expression."""
    if is_sympy(value) and value.is_number:
        value = float(value)
    elif isinstance(value, _native.Expr) and value.value is not None:
        value = value.value
    elif is_expression(value) and not isinstance(value, numbers.Number):
        return None
    if hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, (int, float)):
        raise error("undefined-value", f"a tile is filled with `{value!r}`, expected a number or an expression")
    return int(value) if kind.startswith("i") else float(value)


def _from_expr(value, kind: str, place):
    """A number of the kernel from an expression of its symbols."""
    trace = current()
    zero = trace.kernel.fill([], "i32", 0, "", place)
    expr = to_expr(value)
    made = _native.apply_expr([zero], lambda _: expr, "", place)
    return made if kind == "i32" else _native.cast(made, kind, "", place)


def scalar(value, dtype, tag=None):
    """A number of the kernel: from a number, or from an expression of its symbols.

    >>> one = tkw.scalar(1.0, tkl.f32)
    """
    return register((), dtype, value, tag=tag)


def self_index(dim, dtype=None, elements_per_thread=None, tag=None):
    """Each element's own index along `dim`.

    >>> column = tkw.self_index(N, tkl.i32)
    """
    trace = current()
    kind = "i32" if dtype is None else dtype_name(dtype)
    axis = trace.dim(dim)
    for loop in reversed(trace.loops):
        if loop.axis == axis:
            return scalar(loop.symbol, TYPES["i32"] if dtype is None else dtype)
    return Value(trace.kernel.self_index(axis, kind, _name(tag), _places.here()))


@_also(value="register_")
def apply_expr(register_, expr, tag=None):
    """Evaluates an expression on the elements of integer tiles.

    >>> doubled = tkw.apply_expr(index, lambda x: 2 * x + 1)
    >>> inside = tkw.apply_expr([row, column], lambda r, c: r >= c)
    """
    trace = current()
    values = list(register_) if isinstance(register_, (list, tuple)) else [register_]
    call = lambda arguments: to_expr(expr(*[trace.argument(each) for each in arguments]))  # noqa: E731
    place, tiles = _places.here(), [_tile(each, "apply_expr") for each in values]
    symbols = [_native.symbol(f"$APPLY_EXPR_ARG_{k}") for k in range(len(tiles))]
    if _threads.speaks_of_threads(call(symbols)):
        return Value(_threads.applied(trace, tiles, call, _name(tag), place))
    scalar_ = None
    if all_of(each.scalar is not None or not each.handle.dims for each in values):
        scalar_ = lambda: _native.apply_expr([_one_number(each, "apply_expr") for each in values], call, "", place)  # noqa: E731
    return Value(_native.apply_expr(tiles, call, _name(tag), place), scalar=scalar_)


@_also(value="register_")
def set_symbol(symbol, register_, tag=None):
    """From here on, to the end of the region, expressions mean by `symbol` the one integer of the value.

    >>> tkw.set_symbol(SEQ_LEN, tkw.read(lengths))
    """
    trace, place = current(), _places.here()
    axis, value = to_expr(symbol), _one_number(register_, "set_symbol")
    for loop in reversed(trace.loops):
        if loop.symbol == axis:
            loop.next = value
            break
    _native.set_symbol(axis, value, _name(tag), place)


# ---- Dimensions and types ----------------------------------------------------------------------------------------------------


@_also(src="arg")
def cast(arg, dtype, tag=None):
    """Converts every element: floats round to nearest even, float to integer towards zero.

    >>> p = tkw.cast(e_delta, tkl.f16)
    """
    tile, kind, place = _tile(arg, "cast"), dtype_name(dtype), _places.here()
    scalar_ = without = again = None
    if arg.scalar is not None:
        scalar_ = lambda: _native.cast(arg.scalar(), kind, "", place)  # noqa: E731
    if arg.without is not None:
        without = lambda dims: (made := arg.without(dims)) and Value(_native.cast(made.handle, kind, _name(tag), place))  # noqa: E731
    if arg.read_at is not None:
        again = lambda at, tile: Value(_native.cast(arg.read_at(at, tile).handle, kind, "", place))  # noqa: E731
    return Value(_native.cast(tile, kind, _name(tag), place), scalar=scalar_, without=without, read_at=again)


@_also(src="arg")
def bitcast(arg, dtype, tag=None):
    """Reads the bits of every element as another type; of a narrower one the last dimension has more.

    >>> fp4 = tkw.bitcast(tkw.read(packed), tkl.f4e2m1fn)
    """
    return Value(_native.bitcast(_tile(arg, "bitcast"), dtype_name(dtype), _name(tag), _places.here()))


def select(cond, if_true, if_false, tag=None):
    """`if_true` where the condition holds, otherwise `if_false`, element by element.

    >>> bias = tkw.select(mask, zero, minus_infinity)
    """

    def operand(value):
        return value.handle if isinstance(value, Value) else value

    return Value(_native.select(_tile(cond, "select"), operand(if_true), operand(if_false), _name(tag), _places.here()))


def _define_rearrange(name: str, doc: str):
    @_also(src="arg")
    def rearrange(arg, target_shape, tag=None):
        dims, tile = current().dims(target_shape), _tile(arg, name)
        scalar_ = arg.scalar or ((lambda: tile) if not tile.dims else None)
        return Value(_native.rearrange(name, tile, dims, _name(tag), _places.here()), scalar=scalar_)

    rearrange.__name__ = rearrange.__qualname__ = name
    rearrange.__doc__ = f"{doc}\n\n    >>> y = tkw.{name}(x, target_shape=[M, N])\n    "
    return rearrange


broadcast = _define_rearrange("broadcast", "Repeats a tile along further dimensions.")
permute = _define_rearrange("permute", "Lists the dimensions of a tile in another order.")
reshape = _define_rearrange("reshape", "The same elements in the same order under other dimensions.")


def slice(value, dim, into, start=0, stride=1, tag=None):  # noqa: A001 - the language's word
    """Some of the elements along `dim`, as many as a tile of `into` has, which takes its place.

    >>> upper = tkw.slice(x, N, H, start=16)
    """
    trace = current()
    handle = _tile(value, "slice")
    return Value(_native.slice(handle, trace.dim(dim), trace.dim(into), to_expr(start), to_expr(stride), _name(tag), _places.here()))


def extract(value, dim, at=None, tag=None):
    """The elements at one place along `dim`, counted from the beginning of the tile.

    >>> first = tkw.extract(x, N, 0)
    """
    if at is None:
        raise error("not-supported-here", "`extract` of one lane's registers", "`tkw.extract(x, N, 0)` takes an element along a dimension")
    return Value(_native.extract(_tile(value, "extract"), current().dim(dim), to_expr(at), _name(tag), _places.here()))


def concatenate(pieces, into, tag=None):
    """Tiles one behind the other along `into`.

    >>> both = tkw.concatenate([(a, N1), (b, N2)], N)
    """
    trace = current()
    made = [(_tile(value, "concatenate"), trace.dim(dim)) for value, dim in pieces]
    return Value(_native.concatenate(made, trace.dim(into), _name(tag), _places.here()))


# ---- Matrices, and what goes along a dimension ---------------------------------------------------------------------------------


def mma(lhs, rhs, acc, mma_type=None, tag=None):
    """acc[…, M, N] + the sum over K of lhs[…, M, K] · rhs[…, N, K].

    >>> acc = tkw.mma(a_reg, b_reg, acc)
    """
    name, place = mma_name(mma_type), _places.here()
    current().has_mma = True
    tiles = [_tile(each, "mma") for each in (lhs, rhs, acc)]
    extra = _single_batches(*tiles)
    for position, given in enumerate((lhs, rhs) if extra else ()):
        tiles[position] = _without_batches(given, [dim for dim in extra if dim in tiles[position].dims], place)
    if _is_dot(mma_type) and not _fits_matrices(tiles):
        return Value(_dot(tiles, place))
    return Value(_native.mma(*tiles, name, _name(tag), place))


def _is_dot(kind) -> bool:
    if kind is None:
        hardware = [each for each in current().constraints if isinstance(each, HardwareConstraint)]
        kind = hardware[0].mma_type if hardware else None
    return isinstance(kind, GenericDot)


def _fits_matrices(tiles) -> bool:
    """Has a wave whole matrices of rows and columns, as instructions take them?"""
    trace, dims = current(), tiles[2].dims
    sizes = [trace.known(trace.wave_tile(dim)) for dim in dims[-2:]] if not tiles[2].is_poisoned else []
    return all_of(size is not None and size % 16 == 0 for size in sizes)


def _dot(tiles, place):
    """`GenericDot`: products, and their sum along what both operands have and the accumulator lacks."""
    acc, kind = tiles[2], tiles[2].type
    contracted = [dim for dim in tiles[0].dims if dim in tiles[1].dims and dim not in acc.dims]
    if len(contracted) != 1:
        return _native.mma(*tiles, None, "", place)  # the builder says what is wrong
    wide = [*acc.dims, *contracted]
    factors = [each if each.type == kind else _native.cast(each, kind, "", place) for each in tiles[:2]]
    factors = [_native.rearrange("broadcast", each, wide, "", place) for each in factors]
    return _native.reduce("sum", _native.binary("mul", *factors, "", place), acc, contracted[0], False, "", place)


def _without_batches(value: Value, dims: list, place):
    """An operand without batches of which it has one place, and which the accumulator lacks."""
    if not dims:
        return value.handle
    trace = current()
    if value.without is not None and all_of(trace.start_of(dim) is not None for dim in dims):
        made = value.without(dims)
        if made is not None:
            return made.handle
    return fitted(value.handle, [dim for dim in value.handle.dims if dim not in dims], place)


def _single_batches(lhs, rhs, acc) -> list:
    """Dimensions that one operand has beside rows and K and the accumulator lacks, where a tile has one place along them."""
    if lhs.is_poisoned or rhs.is_poisoned or acc.is_poisoned:
        return []
    shared = [dim for dim in lhs.dims if dim in rhs.dims and dim not in acc.dims]
    one = current().has_one_place
    # Of several dimensions that both have, the last one that is more than a place is K.
    contracted = [dim for dim in shared if not one(dim)] or shared[-1:]
    return [
        dim
        for dim in dict.fromkeys([*lhs.dims, *rhs.dims])
        if dim not in acc.dims and dim not in contracted and one(dim)
    ]


def scaled_mma(lhs, lhs_scale, rhs, rhs_scale, acc, mma_type=None, tag=None):
    """`mma` on elements that share a power of two with 32 neighbours along K.

    >>> acc = tkw.scaled_mma(a_reg, a_scale, b_reg, b_scale, acc)
    """
    tiles = [_tile(each, "scaled_mma") for each in (lhs, lhs_scale, rhs, rhs_scale, acc)]
    return Value(_native.scaled_mma(*tiles, mma_name(mma_type), _name(tag), _places.here()))


def _along(dim, tile):
    if dim is None or (isinstance(dim, numbers.Integral) and not isinstance(dim, bool)):
        dims = tile.dims
        return dims[-1 if dim is None else dim] if dims else _native.constant(0)
    return current().dim(dim)


def _define_reduce(name: str, doc: str):
    @_also(src="arg", acc="init")
    def reduce(arg, init=None, dim=None, block=False, tag=None):
        if is_expression(init) and not isinstance(init, Value) and dim is None:
            init, dim = None, init
        tile, place = _tile(arg, name), _places.here()
        along = _along(dim, tile)
        start = None if init is None else fitted(_tile(init, name), [each for each in tile.dims if each != along], place)
        return Value(_native.reduce(name, tile, start, along, bool(block), _name(tag), place))

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"{doc}\n\n    >>> y = tkw.{name}(x, init, dim=N)\n    "
    return reduce


sum = _define_reduce("sum", "The sum along `dim`, starting from `init`.")  # noqa: A001
max = _define_reduce("max", "The largest along `dim`, and of `init`.")  # noqa: A001
min = _define_reduce("min", "The least along `dim`, and of `init`.")  # noqa: A001
prod = _define_reduce("prod", "The product along `dim`, starting from `init`.")
any = _define_reduce("any", "Whether one along `dim` is true.")  # noqa: A001
all = _define_reduce("all", "Whether all along `dim` are true.")  # noqa: A001
cumsum = _define_reduce("cumsum", "Each element plus those before it along `dim`.")
cumprod = _define_reduce("cumprod", "Each element times those before it along `dim`.")
cummax = _define_reduce("cummax", "The largest up to each element along `dim`.")
cummin = _define_reduce("cummin", "The least up to each element along `dim`.")


def _pair(made):
    return Value(made[0]), Value(made[1])


def _extreme(largest, name, arg, init, dim, tag):
    if init is not None and is_expression(init) and dim is None:
        init, dim = None, init
    tile = _tile(arg, name)
    start = None if init is None else (_tile(init[0], name), _tile(init[1], name))
    return _pair(_native.extreme(largest, tile, start, _along(dim, tile), _name(tag), _places.here()))


def argmax(arg, init=None, dim=None, tag=None):
    """The largest element along `dim`, and where it first occurs; `init` is one more candidate.

    >>> value, index = tkw.argmax(x, dim=N)
    """
    return _extreme(True, "argmax", arg, init, dim, tag)


def argmin(arg, init=None, dim=None, tag=None):
    """The least element along `dim`, and where it first occurs; `init` is one more candidate.

    >>> value, index = tkw.argmin(x, dim=N)
    """
    return _extreme(False, "argmin", arg, init, dim, tag)


def sort(arg, dim=None, descending=False, tag=None):
    """The elements along `dim` in order, and the index that each had.

    >>> values, indices = tkw.sort(x, N, descending=True)
    """
    tile = _tile(arg, "sort")
    return _pair(_native.sort(tile, _along(dim, tile), bool(descending), _name(tag), _places.here()))


def sort_by(keys, payloads, dim=None, descending=False, tag=None):
    """The keys along `dim` in order, and what they carry.

    >>> keys, values = tkw.sort_by(keys, [values], N)
    """
    tile, carried = _tile(keys, "sort_by"), [_tile(each, "sort_by") for each in payloads]
    made = _native.sort_by(tile, carried, _along(dim, tile), bool(descending), _name(tag), _places.here())
    return tuple(map(Value, made))


@_also(src="arg")
def topk(arg, k_dim, dim, largest=True, tag=None):
    """The largest elements along `dim` (or the least), as many as `k_dim` has, and their indices.

    >>> values, indices = tkw.topk(x, K, N)
    """
    tile = _tile(arg, "topk")
    made = _native.topk(tile, current().dim(k_dim), _along(dim, tile), bool(largest), _name(tag), _places.here())
    return _pair(made)


def topk_by(keys, payloads, k_dim, dim=None, largest=True, tag=None):
    """The largest keys along `dim`, as many as `k_dim` has, and what they carry.

    >>> keys, values = tkw.topk_by(keys, [values], K, N)
    """
    tile, carried = _tile(keys, "topk_by"), [_tile(each, "topk_by") for each in payloads]
    k = current().dim(k_dim)
    made = _native.topk_by(tile, carried, k, _along(dim, tile), bool(largest), _name(tag), _places.here())
    return tuple(map(Value, made))


# ---- Element by element ----------------------------------------------------------------------------------------------------


def _define_unary(name: str, native_name: str | None = None):
    @_also(src="arg")
    def unary(arg, tag=None):
        return Value(_native.unary(native_name or name, _tile(arg, name), _name(tag), _places.here()))

    unary.__name__ = unary.__qualname__ = name
    unary.__doc__ = f"`{name}` of every element.\n\n    >>> y = tkw.{name}(x)\n    "
    return unary


def _define_binary(name: str, native_name: str | None = None):
    def operation(lhs, rhs, tag=None):
        return binary(native_name or name, lhs, rhs, _name(tag))

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"`{name}` of two tiles, or of a tile and a number, element by element.\n\n    >>> z = tkw.{name}(x, y)\n    "
    return operation


UNARY = {name: _define_unary(name) for name in _native.op_names("unary")}
_BINARY_NAMES = {name: name for name in "floordiv maximum minimum pow atan2 lt le gt ge eq ne".split()}
_BINARY_NAMES |= {"powf": "pow", "add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "mod": "mod"}
_BINARY_NAMES |= {"and_op": "and", "or_op": "or"}
BINARY = {name: _define_binary(name, native) for name, native in _BINARY_NAMES.items()}
globals().update(UNARY)
globals().update(BINARY)


def remf(lhs, rhs, tag=None):
    """The remainder of a division of floats, with the sign of the dividend; `%` has that of the divisor.

    >>> y = tkw.remf(x, tkl.Register[M, N, tkl.f32](3.0))
    """
    rest = binary("mod", abs(lhs), abs(rhs), _name(tag))
    return select(lhs < 0.0, -rest, rest)


def neg(arg, tag=None):
    """The element with the other sign.

    >>> y = tkw.neg(x)
    """
    return -arg


def invert(arg, tag=None):
    """Logical not of `i1`, bitwise not of integers.

    >>> outside = tkw.invert(inside)
    """
    return ~arg


@_also(src="arg")
def softsign(arg, logit_cap=30.0, apply_scaling=False, head_dim=None, tag=None):
    """x / (1 + |x / cap|), where the cap is divided by the root of `head_dim` if asked for.

    >>> y = tkw.softsign(x, logit_cap=30.0)
    """
    head = None if head_dim is None else int(head_dim)
    tile = _tile(arg, "softsign")
    return Value(_native.softsign(tile, float(logit_cap), bool(apply_scaling), head, _name(tag), _places.here()))


# ---- Control flow ------------------------------------------------------------------------------------------------------------


def _results(returned, what: str):
    """What the body of a region returned, as a list of tiles."""
    if returned is None:
        return []
    many = returned if isinstance(returned, (tuple, list)) else (returned,)
    return [_tile(each, what) for each in many]


def _carried(returned, inits, place):
    """What a body returned with the dimensions of what it was given, which name the same elements in any order."""
    return [fitted(value, init.dims, place) for value, init in zip(returned, inits)] + returned[len(inits) :]


def _unpacked(values):
    made = [Value(each) for each in values]
    if not made:
        return None
    return made[0] if len(made) == 1 else tuple(made)


def iterate(axis, init_args=(), step=1, start=None, condition=None, count=None, tag=None):
    """A loop over `axis`; the function under it is the body, and its name becomes what the last iteration returned.

    >>> @tkw.iterate(K, init_args=[c_reg])
    ... def repeat(acc):
    ...     return tkw.mma(tkw.read(a), tkw.read(b), acc)
    >>> tkw.write(repeat, c)

    With `start` and `condition` it runs as long as the condition on `axis` holds; the body says `set_symbol(axis, …)`. With
    `count` it runs so often instead of what the constraint of `axis` says.
    """
    if step != 1:
        raise error("not-supported-here", f"`iterate` with `step={step}`", "say so with the tile of a `TilingConstraint`")
    inits = [_tile(each, "iterate") for each in init_args or ()]

    def trace_body(body):
        trace, place = current(), _places.here()
        if condition is not None:
            return _iterate_while(trace, trace.dim(axis), start, condition, inits, body, _name(tag), place)

        def call(arguments):
            trace.axes.append(trace.dim(axis))
            returned = _carried(_results(body(*map(Value, arguments)), "iterate"), inits, place)
            trace.axes.pop()
            return returned

        often = None if count is None else to_expr(count)
        return _unpacked(trace.kernel.iterate(trace.dim(axis), inits, call, _name(tag), often, place))

    return trace_body


reduction = iterate


def _iterate_while(trace, axis, start, condition, inits, body, tag, place):
    first = start if isinstance(start, Value) else scalar(0 if start is None else start, TYPES["i32"])

    is_dim = any_of(isinstance(each, Handle) and axis in each.dims for each in trace.arguments)
    is_only_loop = all_of(each.is_loop for each in trace.constraints if each.distributes and trace.dim(each.dim) == axis)
    if is_dim and is_only_loop and axis not in trace.places and trace.has_one_place(axis):
        raise LoopsOverDimensions(axis)
    symbol = trace.places.get(axis, axis)
    outside = meanings.pairs
    inside = outside if symbol == axis else [*outside, (axis, symbol)]

    def holds(arguments):
        meanings.pairs = inside
        names, wanted = [(symbol, _native.index_of(arguments[0], place))], to_expr(condition)
        meanings.pairs = outside
        for index in range(len(inits)):
            carried = _native.symbol(f"$GET_ITER_ARG_{index}")
            if carried in wanted.free_symbols:
                names.append((carried, _native.index_of(_one_number(Value(arguments[1 + index]), "iterate"), place)))
        return wanted._substitute(names)

    def call(arguments):
        loop = Loop(axis, symbol)
        _native.set_symbol(symbol, arguments[0], "", place)
        trace.loops.append(loop)
        meanings.pairs = inside
        returned = _carried(_results(body(*map(Value, arguments[1:])), "iterate"), inits, place)
        meanings.pairs = outside
        trace.loops.pop()
        if loop.next is None:
            raise error("set-symbol", f"the body of this loop never says `set_symbol({axis}, …)`, so it would not end", place=place)
        return [loop.next, *returned]

    values = trace.kernel.iterate_while([_one_number(first, "iterate"), *inits], holds, call, tag, place)
    return _unpacked(values[1:])


def iterate_while(init_args, condition, body, tag=None):
    """A loop that runs as long as a condition on what it carries holds, which is one for the whole workgroup.

    >>> i, acc = tkw.iterate_while([first, zero], lambda i, acc: tkw.index_of(i) < N, body)
    """
    trace, place = current(), _places.here()
    inits = [_tile(each, "iterate_while") for each in init_args]
    holds = lambda arguments: to_expr(condition(*map(Value, arguments)))  # noqa: E731
    call = lambda arguments: _results(body(*map(Value, arguments)), "iterate_while")  # noqa: E731
    return _unpacked(trace.kernel.iterate_while(inits, holds, call, _name(tag), place))


def continue_while(condition):
    """In the body of a loop: it ends with this iteration unless the condition holds, for the whole workgroup.

    >>> tkw.continue_while(tkw.index_of(left) > 0)
    """
    trace, place = current(), _places.here()
    trace.kernel.continue_while(_condition(condition, place), place)


def index_of(value):
    """The one integer of a tile without dimensions, as what expressions may speak of.

    >>> length = tkw.index_of(tkw.read_at(lengths, [tkw.workgroup_id(0)]))
    """
    return _native.index_of(_one_number(value, "index_of"), _places.here())


def conditional(condition, else_return=None, tag=None):
    """What the function under it does happens only if the condition holds: for the whole workgroup if that is one number,
    for those elements for which it holds if it is a tile. `else_return` are the results where it does not hold.

    >>> @tkw.conditional(M > 16)
    ... def then():
    ...     tkw.write(x, c)
    """

    def trace_body(body):
        trace, place = current(), _places.here()
        others = _results(else_return, "conditional")

        def then():
            parameters = body.__code__.co_argcount if hasattr(body, "__code__") else 0
            return _results(body(*map(Value, others[:parameters])), "conditional") or others

        mask = _mask(condition, place)
        if mask is not None:
            return _unpacked(_for_elements(trace, mask, then, others, place))
        holds = _condition(condition, place)
        return _unpacked(trace.kernel.conditional(holds, then, lambda: others, _name(tag), place))

    return trace_body


def _mask(condition, place) -> Mask | None:
    """What the condition says of each element, if it is a tile of several places or speaks of threads."""
    trace = current()
    if not isinstance(condition, Value):
        expr = to_expr(condition)
        return _threads.mask(trace, expr, place) if _threads.speaks_of_threads(expr) else None
    tile = condition.handle
    if tile.is_poisoned or condition.scalar is not None or all_of(trace.has_one_place(dim) for dim in tile.dims):
        return None
    return Mask(tile if tile.type == "i1" else _native.binary("ne", tile, 0, "", place))


def _for_elements(trace, mask: Mask, then, others, place):
    """Elements whose condition does not hold change nothing; results are chosen element by element."""
    trace.masks.append(mask)
    results = then()
    trace.masks.pop()
    return [_native.select(mask.tile, taken, other, "", place) for taken, other in zip(results, others)]


def _condition(condition, place):
    """An expression, or the one number of a tile, as what a branch asks."""
    if not isinstance(condition, Value):
        return to_expr(condition)
    tile = _one_number(condition, "conditional")
    if tile.type == "i1":
        tile = _native.cast(tile, "i32", "", place)
    return _native.expr_ne(_native.index_of(tile, place), 0)


# ---- Order, hints, looking inside ----------------------------------------------------------------------------------------------


def _all_come(what: str):
    """The trace, where all lanes of a workgroup come."""
    if current().masks:
        raise error("simt-lane", f"`{what}` in a branch that not all lanes take", "put it in front of the branch, or behind it")
    return current()


def workgroup_barrier(tag=None):
    """All waves of the workgroup have come here before one goes on.

    >>> tkw.workgroup_barrier()
    """
    _all_come("workgroup_barrier").kernel.workgroup_barrier(_places.here())


def shared_memory_barrier(wait_async_ops=False, tensor_wait=False, tag=None):
    """As `workgroup_barrier`; what the waves have put into shared memory is there.

    >>> tkw.shared_memory_barrier()
    """
    _all_come("shared_memory_barrier").kernel.shared_memory_barrier(bool(wait_async_ops), _places.here())


def shared_memory_barrier_signal(barId=0, tensor_wait=False, ds_wait=True, tag=None):
    """This wave has come so far; those that wait for the barrier of this number need not wait for it.

    >>> tkw.shared_memory_barrier_signal(1)
    """
    _all_come("shared_memory_barrier_signal").kernel.shared_memory_barrier_signal(int(barId), _places.here())


def shared_memory_barrier_wait(barId=0, tag=None):
    """Goes on when all waves have signalled the barrier of this number.

    >>> tkw.shared_memory_barrier_wait(1)
    """
    _all_come("shared_memory_barrier_wait").kernel.shared_memory_barrier_wait(int(barId), _places.here())


def _counters(load, store, ds):
    """What the builder waits for. Stores and loads of global memory are counted together."""
    limits = [int(each) for each in (load, store) if each is not None]
    return min_of(limits) if limits else None, None if ds is None else int(ds)


def memory_counter_wait(load=None, store=None, ds=None, exp=None, tag=None):
    """Goes on when at most so many of this wave's accesses are outstanding: `load` and `store` of global, `ds` of shared
    memory. Waits that values need are derived; this one is for timing.

    >>> tkw.memory_counter_wait(load=4)
    """
    current().kernel.memory_counter_wait(*_counters(load, store, ds), _places.here())


def memory_counter_wait_barrier(load=None, store=None, ds=None, exp=None, tag=None):
    """The wait, then a barrier.

    >>> tkw.memory_counter_wait_barrier(load=0)
    """
    _all_come("memory_counter_wait_barrier").kernel.memory_counter_wait_barrier(*_counters(load, store, ds), _places.here())


def set_wave_prio(priority, tag=None):
    """From here on this wave issues before those of a lower priority, 0 to 3. Changes timing, no result.

    >>> tkw.set_wave_prio(1)
    """
    current().kernel.set_wave_prio(int(priority), _places.here())


class InstructionClass(enum.Enum):
    """Classes of instructions, for `scheduling_barrier` and `scheduling_group_barrier`."""

    ALU = 0x1
    VALU = 0x2
    SALU = 0x4
    MMA = 0x8
    VMEM = 0x10
    VMEM_READ = 0x20
    VMEM_WRITE = 0x40
    DS = 0x80
    DS_READ = 0x100
    DS_WRITE = 0x200


def _class_number(kind) -> int:
    """Of ours, of Wave's `Operation` (by its name), or a number."""
    named = str(getattr(kind, "name", kind)).upper()
    words = {"READ_SHARED": "DS_READ", "WRITE_SHARED": "DS_WRITE", "READ_GLOBAL": "VMEM_READ", "WRITE_GLOBAL": "VMEM_WRITE"}
    words |= {"GLOBAL_TO_SHARED": "VMEM_READ", "SHUFFLE": "DS", "MFMA": "MMA"}
    known = InstructionClass.__members__.get(words.get(named, named))
    if known is not None:
        return known.value
    if isinstance(kind, numbers.Integral):
        return int(kind)
    raise error("hint-value", f"`{kind!r}` is no class of instructions", f"one of {', '.join(InstructionClass.__members__)}")


def scheduling_barrier(operations=(), tag=None):
    """The back end moves nothing over this place but the classes that are named. Changes no result.

    >>> tkw.scheduling_barrier([tkw.InstructionClass.VALU])
    """
    current().kernel.scheduling_barrier([_class_number(each) for each in operations or ()], _places.here())


def scheduling_group_barrier(instructions, sync_id=0, tag=None):
    """The back end keeps so many instructions of each class together, in this order. Changes no result.

    >>> tkw.scheduling_group_barrier({tkw.InstructionClass.DS_READ: 4, tkw.InstructionClass.MMA: 2}, 0)
    """
    groups = [(_class_number(kind), int(count)) for kind, count in dict(instructions).items()]
    current().kernel.scheduling_group_barrier(groups, int(sync_id), _places.here())


def _define_missing(name: str, message: str, hint: str = ""):
    def missing(*_, **__):
        raise error("not-supported-here", f"`{name}`: {message}", hint)

    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = f"Not supported here: {message}."
    missing.is_missing = True
    return missing


_ONLY_GFX1250 = "only gfx1250 has it, which is no target here"
tensor_counter_wait = _define_missing("tensor_counter_wait", _ONLY_GFX1250)
tensor_load_to_lds = _define_missing("tensor_load_to_lds", _ONLY_GFX1250)
gather_to_lds = _define_missing(
    "gather_to_lds", "the compiler makes such copies itself", "`WaveCompileOptions(use_global_to_shared=True)` asks for them"
)
extract_slice = _define_missing("extract_slice", "it speaks of one lane's registers", "take `tkw.slice`")
bounds_check = _define_missing("bounds_check", "the emulator checks every access anyway", "leave it out")


def get_result(value, res_idx=0, tag=None):
    """One of the results of a loop or a branch.

    >>> first = tkw.get_result(loop, 0)
    """
    if isinstance(value, (tuple, list)):
        return value[int(res_idx)]
    return value[int(res_idx)] if res_idx else value


def tag(expr, name):
    """Gives the operation that made a value one more tag.

    >>> y = tkw.tag(x + 1.0, "plus_one")
    """
    return Value(_native.tag(_tile(expr, "tag"), _name(name)))


def debug_log(
    register_,
    label=None,
    extra_iteration_dimensions=None,
    mapping=None,
    mapping_dynamic_vals=(),
    printer=print,
    handler=None,
    tag=None,
):
    """Keeps a tile for who looks for a mistake: the kernel is called with `debug_logs=dict`, which gets it by its label.

    >>> tkw.debug_log(acc, label="acc")
    """
    trace, place = current(), _places.here()
    label = label or f"debug_log_output_{len(trace.logs)}"
    loops = [(trace.dim(dim), trace.dim(axis)) for dim, axis, _ in extra_iteration_dimensions or ()]
    sizes = {to_expr(dim): to_expr(size) for dim, _, size in extra_iteration_dimensions or ()}
    tile = _tile(register_, "debug_log")
    if mapping is None and trace.mask_for(tile.dims, place) is None:
        memory = _native.debug_log(tile, label, loops, _name(tag), place)
    else:
        memory = _log_mapped(trace, tile, label, loops, mapping, mapping_dynamic_vals, _name(tag), place)
    trace.logs.append((label, memory, sizes, printer, handler, [dim for dim, _ in loops]))


def _log_mapped(trace, tile, label, loops, mapping, values, tag, place):
    """A log whose elements lie where a mapping says, among places of the tile's own dimensions."""
    shape = [*(dim for dim, _ in loops), *tile.dims]
    memory = Handle(trace.kernel.memory(label, shape, _native.address_space(False), tile.type, [], place))
    if mapping is None:
        mapping = IndexMapping(len(tile.dims), *[{dim: _native.iterator(k) for k, dim in enumerate(tile.dims)}] * 2)
    given = _mapping(mapping, memory, is_read=False, tile_dims=tile.dims)
    counted = [(dim, _native.expr_min(_native.iteration(axis), dim - 1)) for dim, axis in loops]
    wanted = _native.IndexMapping(given.num_iterators, given.inputs, [*counted, *given.outputs], given.values)
    options = {"mapping": wanted, "tag": tag}
    if values:
        options["mapping_dynamic_vals"] = [_indices_of(each, n, mapping, given.inputs, place) for n, each in enumerate(values)]
    mask = trace.mask_for(tile.dims, place)
    if mask is None:
        _native.write(tile, memory.handle, options, place)
    else:
        _change_some("write", mask, tile, memory, options, False, place)
    return memory.handle


def debug_print(value, label, tag=None):
    """On the emulator: prints every element with its place, workgroup, wave and lane.

    >>> tkw.debug_print(acc, "acc")
    """
    return Value(_native.debug_print(_tile(value, "debug_print"), str(label), _name(tag), _places.here()))


__all__ = [
    name
    for name, value in list(globals().items())
    if callable(value)
    and not name.startswith("_")
    and getattr(value, "__module__", None) == __name__
    and not isinstance(value, type)
]
__all__ += ["InstructionClass", "MemoryAccessFlags", *_lanes.__all__, *UNARY, *BINARY]
globals().update({name: getattr(_lanes, name) for name in _lanes.__all__})
