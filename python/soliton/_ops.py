"""The operations of the language, with Wave's names and signatures; each is one call of the builder.

Every function takes `tag="name"`, by which schedules find what it becomes.
"""

from __future__ import annotations

import builtins
import enum
import numbers

from . import _native, _places
from ._constraints import mma_name
from ._errors import error
from ._symbols import is_expression, is_sympy, to_expr
from ._trace import Handle, Loop, Value, binary, current
from ._types import DataType, IndexMapping, MemoryType, dtype_name


class MemoryAccessFlags(enum.Flag):
    """How a memory is accessed. VOLATILE reads anew each time, as every read here does."""

    NONE = 0
    VOLATILE = 1
    NONTEMPORAL = 2


# ---- What functions are given ----------------------------------------------------------------------------------------------


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


def _name(tag) -> str:
    if tag is None:
        return ""
    if isinstance(tag, (set, frozenset, list, tuple)):
        if len(tag) > 1:
            raise error("not-supported-here", "an operation takes one tag", "add more with `tkw.tag(value, name)`")
        return next(iter(tag), "")
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


def _mapping(mapping: IndexMapping, memory, is_read: bool) -> _native.IndexMapping:
    """Keys that the memory does not have mean nothing, and scaled dimensions go by the name of what they are of."""
    trace = current()
    shape = list(memory.shape)

    def side(entries, of_memory):
        made = []
        for dim, index in entries.items():
            named = trace.dim(dim)
            known = _key(named, shape)
            if of_memory and known is None:
                continue
            made.append((known if known is not None else named, to_expr(index)))
        return made

    inputs = side(mapping.input_mapping, of_memory=is_read)
    outputs = side(mapping.output_mapping, of_memory=not is_read)
    values = [[(trace.dim(d), to_expr(i)) for d, i in each.items()] for each in mapping.dynamic_val_mappings]
    return _native.IndexMapping(mapping.num_iterators, inputs, outputs, values)


def _entries(entries):
    return [each.handle if isinstance(each, Value) else to_expr(each) for each in entries]


def _access(memory, is_read, elements_per_thread, mapping, mapping_dynamic_vals, bounds, source, target, tag):
    trace = current()
    options = {"tag": _name(tag)}
    if elements_per_thread is not None:
        options["elements_per_thread"] = to_expr(elements_per_thread)
    if mapping is not None:
        options["mapping"] = _mapping(mapping, memory, is_read)
    if mapping_dynamic_vals:
        options["mapping_dynamic_vals"] = [_tile(each, "mapping_dynamic_vals") for each in mapping_dynamic_vals]
    if bounds is not None:
        options["bounds"] = [(trace.dim(dim), to_expr(end)) for dim, end in bounds.items()]
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
    options = _access(handle, True, elements_per_thread, mapping, mapping_dynamic_vals, bounds, source, target, tag)
    return Value(_native.read(handle, options, _places.here()))


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
    handle = _memory(memory, "write")
    value = _as_written(register_, handle)
    options = _access(handle, False, elements_per_thread, mapping, mapping_dynamic_vals, bounds, source, target, tag)
    _native.write(value, handle, options, _places.here())


def _as_written(value, memory):
    """A write converts as `cast` would; between floats the builder does."""
    tile = _tile(value, "write")
    if tile.is_poisoned or tile.type == memory.type:
        return tile
    if tile.type.startswith("i") or memory.type.startswith("i"):
        return _native.cast(tile, memory.type, "", _places.here())
    return tile


def _define_atomic(name: str, doc: str):
    def atomic(lhs, rhs_memory, elements_per_thread=None, mapping=None, mapping_dynamic_vals=(), tag=None):
        handle = _memory(rhs_memory, name)
        options = _access(handle, True, elements_per_thread, mapping, mapping_dynamic_vals, None, None, None, tag)
        return Value(_native.atomic(name, _tile(lhs, name), handle, options, _places.here()))

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
    """Where the memory holds `expected` it becomes `value`, in one step; gives what was there."""
    handle = _memory(memory, "atomic_cas")
    options = _access(handle, True, elements_per_thread, mapping, mapping_dynamic_vals, None, None, None, tag)
    return Value(_native.atomic_cas(_tile(expected, "atomic_cas"), _tile(value, "atomic_cas"), handle, options, _places.here()))


def scatter_add(register_src, register_idx, dim, memory, mapping=None, elements_per_thread=1, tag=None):
    """Adds each element to the memory, at `register_idx` along its dimension `dim` and at its own place along others.

    >>> tkw.scatter_add(values, bins, 0, histogram, mapping=identity)
    """
    handle = _memory(memory, "scatter_add")
    if mapping is not None and not _is_plain(mapping):
        raise error("not-supported-here", "`scatter_add` with a mapping that is no identity", "take `atomic_add` with the mapping")
    along = handle.shape[dim] if isinstance(dim, numbers.Integral) else current().dim(dim)
    value, index = _tile(register_src, "scatter_add"), _tile(register_idx, "scatter_add")
    _native.scatter_add(value, index, along, handle, _name(tag), _places.here())


def _is_plain(mapping: IndexMapping) -> bool:
    bare = {str(each) for each in mapping.iters}
    return builtins.all(str(index) in bare for index in [*mapping.input_mapping.values(), *mapping.output_mapping.values()])


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
    return Handle(handle, MemoryType(tuple(shape), address_space, dtype))


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
            return Value(_spread(scalar_, dims, _name(tag), place))
        return Value(scalar_)
    number = _number(value, kind)
    if number is not None:
        return Value(trace.kernel.fill(dims, kind, number, _name(tag), place))
    return Value(_spread(_from_expr(value, kind, place), dims, _name(tag), place))


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
            return scalar(axis, dtype)
    return Value(trace.kernel.self_index(axis, kind, _name(tag), _places.here()))


def apply_expr(register_, expr, tag=None):
    """Evaluates an expression on the elements of integer tiles.

    >>> doubled = tkw.apply_expr(index, lambda x: 2 * x + 1)
    >>> inside = tkw.apply_expr([row, column], lambda r, c: r >= c)
    """
    trace = current()
    values = list(register_) if isinstance(register_, (list, tuple)) else [register_]
    call = lambda arguments: to_expr(expr(*[trace.argument(each) for each in arguments]))  # noqa: E731
    return Value(_native.apply_expr([_tile(each, "apply_expr") for each in values], call, _name(tag), _places.here()))


def set_symbol(symbol, register_, tag=None):
    """From here on, to the end of the region, expressions mean by `symbol` the one integer of the value.

    >>> tkw.set_symbol(SEQ_LEN, tkw.read(lengths))
    """
    trace, place = current(), _places.here()
    axis, value = to_expr(symbol), _tile(register_, "set_symbol")
    for loop in reversed(trace.loops):
        if loop.axis == axis:
            loop.next = value
            break
    _native.set_symbol(axis, value, _name(tag), place)


# ---- Dimensions and types ----------------------------------------------------------------------------------------------------


def cast(arg, dtype, tag=None):
    """Converts every element: floats round to nearest even, float to integer towards zero.

    >>> p = tkw.cast(e_delta, tkl.f16)
    """
    return Value(_native.cast(_tile(arg, "cast"), dtype_name(dtype), _name(tag), _places.here()))


def bitcast(arg, dtype, tag=None):
    """Reads the bits of every element as another type of the same width."""
    return Value(_native.bitcast(_tile(arg, "bitcast"), dtype_name(dtype), _name(tag), _places.here()))


def select(cond, if_true, if_false, tag=None):
    """`if_true` where the condition holds, otherwise `if_false`, element by element.

    >>> bias = tkw.select(mask, zero, minus_infinity)
    """

    def operand(value):
        return value.handle if isinstance(value, Value) else value

    return Value(_native.select(_tile(cond, "select"), operand(if_true), operand(if_false), _name(tag), _places.here()))


def _define_rearrange(name: str, doc: str):
    def rearrange(arg, target_shape, tag=None):
        dims = current().dims(target_shape)
        return Value(_native.rearrange(name, _tile(arg, name), dims, _name(tag), _places.here()))

    rearrange.__name__ = rearrange.__qualname__ = name
    rearrange.__doc__ = f"{doc}\n\n    >>> y = tkw.{name}(x, target_shape=[M, N])\n    "
    return rearrange


broadcast = _define_rearrange("broadcast", "Repeats a tile along further dimensions.")
permute = _define_rearrange("permute", "Lists the dimensions of a tile in another order.")
reshape = _define_rearrange("reshape", "The same elements in the same order under other dimensions.")


def slice(value, dim, into, start=0, stride=1, tag=None):  # noqa: A001 - the language's word
    """Some of the elements along `dim`, as many as a tile of `into` has, which takes its place."""
    trace = current()
    handle = _tile(value, "slice")
    return Value(_native.slice(handle, trace.dim(dim), trace.dim(into), to_expr(start), to_expr(stride), _name(tag), _places.here()))


def extract(value, dim, at, tag=None):
    """The elements at one place along `dim`, counted from the beginning of the tile."""
    return Value(_native.extract(_tile(value, "extract"), current().dim(dim), to_expr(at), _name(tag), _places.here()))


def concatenate(pieces, into, tag=None):
    """Tiles one behind the other along `into`: `concatenate([(a, N1), (b, N2)], N)`."""
    trace = current()
    made = [(_tile(value, "concatenate"), trace.dim(dim)) for value, dim in pieces]
    return Value(_native.concatenate(made, trace.dim(into), _name(tag), _places.here()))


# ---- Matrices, and what goes along a dimension ---------------------------------------------------------------------------------


def mma(lhs, rhs, acc, mma_type=None, tag=None):
    """acc[…, M, N] + the sum over K of lhs[…, M, K] · rhs[…, N, K].

    >>> acc = tkw.mma(a_reg, b_reg, acc)
    """
    name = mma_name(mma_type)
    return Value(_native.mma(_tile(lhs, "mma"), _tile(rhs, "mma"), _tile(acc, "mma"), name, _name(tag), _places.here()))


def scaled_mma(lhs, lhs_scale, rhs, rhs_scale, acc, mma_type=None, tag=None):
    """`mma` on elements that share a power of two with 32 neighbours along K."""
    tiles = [_tile(each, "scaled_mma") for each in (lhs, lhs_scale, rhs, rhs_scale, acc)]
    return Value(_native.scaled_mma(*tiles, mma_name(mma_type), _name(tag), _places.here()))


def _along(dim, tile):
    if dim is None or (isinstance(dim, numbers.Integral) and not isinstance(dim, bool)):
        dims = tile.dims
        return dims[-1 if dim is None else dim] if dims else _native.constant(0)
    return current().dim(dim)


def _define_reduce(name: str, doc: str):
    def reduce(arg, init=None, dim=None, block=False, tag=None):
        if is_expression(init) and not isinstance(init, Value) and dim is None:
            init, dim = None, init
        tile = _tile(arg, name)
        start = None if init is None else _tile(init, name)
        return Value(_native.reduce(name, tile, start, _along(dim, tile), bool(block), _name(tag), _places.here()))

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


def argmax(arg, dim=None, tag=None):
    """The largest element along `dim`, and where it first occurs."""
    tile = _tile(arg, "argmax")
    return _pair(_native.extreme(True, tile, _along(dim, tile), _name(tag), _places.here()))


def argmin(arg, dim=None, tag=None):
    """The least element along `dim`, and where it first occurs."""
    tile = _tile(arg, "argmin")
    return _pair(_native.extreme(False, tile, _along(dim, tile), _name(tag), _places.here()))


def sort(arg, dim=None, descending=False, tag=None):
    """The elements along `dim` in order, and the index that each had."""
    tile = _tile(arg, "sort")
    return _pair(_native.sort(tile, _along(dim, tile), bool(descending), _name(tag), _places.here()))


def topk(arg, k_dim, dim, tag=None):
    """The largest elements along `dim`, as many as `k_dim` has, and their indices.

    >>> values, indices = tkw.topk(x, K, N)
    """
    tile = _tile(arg, "topk")
    return _pair(_native.topk(tile, current().dim(k_dim), _along(dim, tile), _name(tag), _places.here()))


# ---- Element by element ----------------------------------------------------------------------------------------------------


def _define_unary(name: str, native_name: str | None = None):
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
_BINARY_NAMES |= {"powf": "pow", "remf": "mod", "add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "mod": "mod"}
_BINARY_NAMES |= {"and_op": "and", "or_op": "or"}
BINARY = {name: _define_binary(name, native) for name, native in _BINARY_NAMES.items()}
globals().update(UNARY)
globals().update(BINARY)


def neg(arg, tag=None):
    """The element with the other sign."""
    return -arg


def invert(arg, tag=None):
    """Logical not of `i1`, bitwise not of integers."""
    return ~arg


def softsign(arg, logit_cap=30.0, apply_scaling=False, head_dim=None, tag=None):
    """x / (1 + |x / cap|), where the cap is divided by the root of `head_dim` if asked for."""
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


def _unpacked(values):
    made = [Value(each) for each in values]
    if not made:
        return None
    return made[0] if len(made) == 1 else tuple(made)


def iterate(axis, init_args=(), step=1, start=None, condition=None, tag=None):
    """A loop over `axis`; the function under it is the body, and its name becomes what the last iteration returned.

    >>> @tkw.iterate(K, init_args=[c_reg])
    ... def repeat(acc):
    ...     return tkw.mma(tkw.read(a), tkw.read(b), acc)
    >>> tkw.write(repeat, c)

    With `start` and `condition` it runs as long as the condition on `axis` holds; the body says `set_symbol(axis, …)`.
    """
    if step != 1:
        raise error("not-supported-here", f"`iterate` with `step={step}`", "say so with the tile of a `TilingConstraint`")
    inits = [_tile(each, "iterate") for each in init_args]

    def trace_body(body):
        trace, place = current(), _places.here()
        if condition is not None:
            return _iterate_while(trace, trace.dim(axis), start, condition, inits, body, _name(tag), place)
        call = lambda arguments: _results(body(*map(Value, arguments)), "iterate")  # noqa: E731
        return _unpacked(trace.kernel.iterate(trace.dim(axis), inits, call, _name(tag), None, place))

    return trace_body


reduction = iterate


def _iterate_while(trace, axis, start, condition, inits, body, tag, place):
    first = start if isinstance(start, Value) else scalar(0 if start is None else start, _index_type())

    def holds(arguments):
        names = [(axis, _native.index_of(arguments[0], place))]
        wanted = to_expr(condition)
        for index in range(len(inits)):
            symbol = _native.symbol(f"$GET_ITER_ARG_{index}")
            if symbol in wanted.free_symbols:
                names.append((symbol, _native.index_of(arguments[1 + index], place)))
        return wanted._substitute(names)

    def call(arguments):
        loop = Loop(axis)
        _native.set_symbol(axis, arguments[0], "", place)
        trace.loops.append(loop)
        returned = _results(body(*map(Value, arguments[1:])), "iterate")
        trace.loops.pop()
        if loop.next is None:
            raise error("set-symbol", f"the body of this loop never says `set_symbol({axis}, …)`, so it would not end", place=place)
        return [loop.next, *returned]

    values = trace.kernel.iterate_while([_tile(first, "iterate"), *inits], holds, call, tag, place)
    return _unpacked(values[1:])


def _index_type():
    from ._types import TYPES

    return TYPES["i32"]


def conditional(condition, else_return=None, tag=None):
    """What the function under it does happens only if the condition holds, for the whole workgroup at once.

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

        holds = _condition(condition, place)
        return _unpacked(trace.kernel.conditional(holds, then, lambda: others, _name(tag), place))

    return trace_body


def _condition(condition, place):
    """An expression, or the one number of a tile, as what a branch asks."""
    if not isinstance(condition, Value):
        return to_expr(condition)
    tile = condition.handle
    if tile.type == "i1":
        tile = _native.cast(tile, "i32", "", place)
    return _native.expr_ne(_native.index_of(tile, place), 0)


# ---- Order, hints, looking inside ----------------------------------------------------------------------------------------------


def workgroup_barrier(tag=None):
    """All waves of the workgroup have come here before one goes on."""
    current().kernel.barrier(_places.here())


def shared_memory_barrier(wait_async_ops=False, tensor_wait=False, tag=None):
    """As `workgroup_barrier`; what the waves have put into shared memory is there."""
    current().kernel.barrier(_places.here())


def _define_hint(name: str, doc: str):
    def hint(*_, **__):
        current()

    hint.__name__ = hint.__qualname__ = name
    hint.__doc__ = doc
    return hint


# Waits are derived from what the kernel reads and writes, so a wait that the author wrote is always there already; hints
# about order and priority have no meaning of their own.
memory_counter_wait = _define_hint("memory_counter_wait", "Waits are derived; one that is written changes nothing.")
set_wave_prio = _define_hint("set_wave_prio", "A hint about priority; changes no result.")
scheduling_barrier = _define_hint("scheduling_barrier", "A hint about the order of instructions; changes no result.")
scheduling_group_barrier = _define_hint("scheduling_group_barrier", "A hint about the order of instructions; changes no result.")


def memory_counter_wait_barrier(load=None, store=None, ds=None, exp=None, tag=None):
    """A wait, which is derived anyway, and a barrier."""
    workgroup_barrier()


def _define_missing(name: str, message: str, hint: str = ""):
    def missing(*_, **__):
        raise error("not-supported-here", f"`{name}`: {message}", hint)

    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = f"Not supported here: {message}."
    missing.is_missing = True
    return missing


_ONLY_GFX1250 = "only gfx1250 has it, which is no target here"
shared_memory_barrier_signal = _define_missing("shared_memory_barrier_signal", _ONLY_GFX1250, "take `shared_memory_barrier`")
shared_memory_barrier_wait = _define_missing("shared_memory_barrier_wait", _ONLY_GFX1250, "take `shared_memory_barrier`")
tensor_counter_wait = _define_missing("tensor_counter_wait", _ONLY_GFX1250)
tensor_load_to_lds = _define_missing("tensor_load_to_lds", _ONLY_GFX1250)
gather_to_lds = _define_missing(
    "gather_to_lds", "the compiler makes such copies itself", "`WaveCompileOptions(use_global_to_shared=True)` asks for them"
)
shuffle = _define_missing("shuffle", "a kernel of tiles has no lanes", "reductions and `permute` move elements between lanes")
extract_slice = _define_missing("extract_slice", "it speaks of one lane's registers", "take `tkw.slice`")
get_result = _define_missing("get_result", "the compiler's own", "a loop's name is its result")
bounds_check = _define_missing("bounds_check", "the emulator checks every access anyway")


def tag(expr, name):
    """Gives the operation that made a value one more tag.

    >>> y = tkw.tag(x + 1.0, "plus_one")
    """
    return Value(_native.tag(_tile(expr, "tag"), str(name)))


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
    if mapping is not None or mapping_dynamic_vals:
        raise error("not-supported-here", "`debug_log` with a mapping", "log the tile as it is")
    trace = current()
    label = label or f"debug_log_output_{len(trace.logs)}"
    loops = [(trace.dim(dim), trace.dim(axis)) for dim, axis, _ in extra_iteration_dimensions or ()]
    sizes = {to_expr(dim): to_expr(size) for dim, _, size in extra_iteration_dimensions or ()}
    tile = _tile(register_, "debug_log")
    memory = _native.debug_log(tile, label, loops, _name(tag), _places.here())
    trace.logs.append((label, memory, sizes, printer, handler, [dim for dim, _ in loops]))


def debug_print(value, label, tag=None):
    """On the emulator: prints every element with its place, workgroup, wave and lane."""
    return Value(_native.debug_print(_tile(value, "debug_print"), str(label), _name(tag), _places.here()))


__all__ = [
    name
    for name, value in list(globals().items())
    if callable(value)
    and not name.startswith("_")
    and (getattr(value, "__module__", None) == __name__)
    and name not in ("MemoryAccessFlags",)
]
__all__ += ["MemoryAccessFlags", *UNARY, *BINARY]
