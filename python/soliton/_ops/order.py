"""Barriers, waits and hints, and looking inside."""

from __future__ import annotations

import enum
import numbers

from .. import _native, _places
from .._errors import error
from .._symbols import to_expr
from .._trace import Handle, Value, current
from .._types import IndexMapping
from ._given import _name, _tile
from .mappings import _indices_of, _mapping
from .memory import _change_some


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
    return min(limits) if limits else None, None if ds is None else int(ds)


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
