"""Where the elements of a tile lie in a memory: the mappings of programs as the builder takes them."""

from __future__ import annotations

from .. import _native, _places
from .._constraints import IteratorBindings
from .._errors import error
from .._symbols import to_expr
from .._trace import Handle, Value, can_drop, current, fitted
from .._types import IndexMapping
from ._given import _tile


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
    if tile_dims and not is_read and all(dim in tile_dims for dim, _ in inputs):
        inputs.sort(key=lambda entry: tile_dims.index(entry[0]))
    return _native.IndexMapping(mapping.num_iterators, inputs, outputs, [])


def _indices_of(value, position: int, mapping: IndexMapping | None, own, place):
    """A dynamic value as the tile indexes it: by its own dimensions, or where `dynamic_val_mappings` says."""
    tile, trace = _tile(value, "mapping_dynamic_vals"), current()
    said = mapping.dynamic_val_mappings[position] if mapping is not None and position < len(mapping.dynamic_val_mappings) else {}
    at = {trace.dim(dim): to_expr(index) for dim, index in said.items()}
    places = dict(own)
    is_own = all(dim in places and at.get(dim, places[dim]) == places[dim] for dim in tile.dims)
    if tile.is_poisoned or is_own:
        return tile
    if value.scalar is not None:
        return value.scalar()
    if value.read_at is not None and all(dim in at or dim in places for dim in tile.dims):
        return value.read_at({dim: at.get(dim, places.get(dim)) for dim in tile.dims}, own).handle
    extra = [dim for dim in tile.dims if dim not in places]
    if extra and can_drop(extra) and all(at.get(dim, places.get(dim)) == places.get(dim) for dim in tile.dims if dim in places):
        return fitted(tile, [dim for dim in tile.dims if dim in places], place)
    index = next((f"`{at[dim]}` along `{dim}`" for dim in tile.dims if dim in at and places.get(dim) != at[dim]), f"`{tile.dims}`")
    raise error(
        "not-supported-here",
        f"a dynamic value that is indexed by {index}, and was not read from memory for this",
        "read the indices with a mapping of their own",
    )


def _along_its_values(value, mapping: IndexMapping | None, dynamic_vals):
    """A number that is repeated along a dimension whose places the dynamic values do not have: Wave's lanes each take their own value
    and ask nobody how many places that dimension has (a histogram's ones are `Register[BINS](1)`). It is repeated along the
    dimensions of the values instead: (value, mapping)."""
    if mapping is None or not isinstance(value, Value) or value.scalar is None or not mapping.dynamic_val_mappings:
        return value, mapping
    trace = current()
    values = (dynamic_vals,) if isinstance(dynamic_vals, Value) else dynamic_vals
    others: dict = {}
    for each, said in zip(values, mapping.dynamic_val_mappings):
        dims = set(each.handle.dims) if isinstance(each, Value) and not each.handle.is_poisoned else set()
        others |= {to_expr(index): dim for dim, index in said.items() if trace.dim(dim) in dims}
    outputs = {others.get(to_expr(index), dim): index for dim, index in mapping.output_mapping.items()}
    renamed = {trace.dim(old): trace.dim(new) for old, new in zip(mapping.output_mapping, outputs)}
    if len(outputs) != len(mapping.output_mapping) or all(old == new for old, new in renamed.items()):
        return value, mapping
    along, place = [renamed.get(dim, dim) for dim in value.handle.dims], _places.here()
    tile = Value(_native.rearrange("broadcast", value.scalar(), along, "", place), scalar=value.scalar)
    return tile, type(mapping)(mapping.num_iterators, mapping.input_mapping, outputs, mapping.dynamic_val_mappings)


def _with_set_symbols(mapping: IndexMapping | None, values, is_read: bool):
    """A mapping that speaks of symbols which each element has its own number for: those numbers are dynamic values."""
    trace = current()
    if mapping is None or not trace.of_elements:
        return mapping, values
    inside = mapping.input_mapping if is_read else mapping.output_mapping
    own = {symbol: value for index in inside.values() for symbol, value in trace.set_for_elements(to_expr(index))}
    if not own:
        return mapping, values
    given = [values] if isinstance(values, Value) else list(values)
    names = [(symbol, _native.dynamic_val(len(given) + k)) for k, symbol in enumerate(own)]
    moved = {dim: to_expr(index)._substitute(names) for dim, index in inside.items()}
    inputs, outputs = (moved, mapping.output_mapping) if is_read else (mapping.input_mapping, moved)
    said = [*mapping.dynamic_val_mappings, *({} for _ in range(len(given) - len(mapping.dynamic_val_mappings)))]
    return IndexMapping(mapping.num_iterators, inputs, outputs, said), (*given, *own.values())


def _from_places(memory: Handle, is_read: bool, source, target):
    """`source` and `target` as a mapping and its dynamic values; None where they make none, which the builder says."""
    trace = current()
    bindings = [each for each in trace.constraints if isinstance(each, IteratorBindings)]
    if source is None or target is None or len(bindings) != 1:
        return None
    bound = {to_expr(symbol): trace.dim(dim) for symbol, dim in bindings[0].bindings.items()}
    tile_side, memory_side = (target, source) if is_read else (source, target)
    if len(memory_side) != len(memory.dims) or any(isinstance(each, Value) or to_expr(each) not in bound for each in tile_side):
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
    return bool(memory.layout) or any(dim in current().places for dim in memory.dims)


def _moved(mapping: _native.IndexMapping, is_read: bool) -> _native.IndexMapping:
    """The mapping with places along a dimension that a loop with a condition walks moved to where the loop is."""
    places, own = current().places, mapping.outputs if is_read else mapping.inputs
    names = [(place, place + places[dim]) for dim, place in own if dim in places]
    inside = [(dim, index._substitute(names)) for dim, index in (mapping.inputs if is_read else mapping.outputs)]
    return _native.IndexMapping(mapping.num_iterators, *((inside, own) if is_read else (own, inside)), [])


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


def _written_dims(mapping, memory: Handle) -> list:
    """The dimensions that a tile has to have."""
    if mapping is None:
        return memory.dims
    named = [current().dim(dim) for dim in mapping.input_mapping]
    return [dim if (known := _key(dim, memory.dims)) is None else known for dim in named]
