"""Schedules that the author says: which instructions of a loop happen when, by the tags of the kernel.

    @wave_schedule.wave_schedule()
    def prefetch():
        k_loop = tkw.get_node_by_tag("k_loop")
        load_a = tkw.get_node_by_tag_and_type("read_a", tkw.Read)
        global_a, shared_a = tkw.partition_by_address_space(load_a, GLOBAL_ADDRESS_SPACE)
        with tkw.pipeline(k_loop) as loop:
            loop.set_stage([(global_a,), (write_a,)])
            loop.set_stage([(shared_a,), (mma,)])

The function runs in the middle of `wave_compile`, when the instructions exist; the compiler verifies what it says.
"""

from __future__ import annotations

import builtins
import threading

from . import _native, _places
from ._errors import error
from ._symbols import to_expr

_local = threading.local()


def _context():
    context = getattr(_local, "context", None)
    if context is None:
        raise error(
            "schedule-argument",
            "an operation of schedules stands outside of a schedule",
            "it belongs into a function under `@wave_schedule()`, which `wave_compile` runs",
        )
    return context


class WaveSchedule:
    """A schedule that is defined: what `wave_compile(options, kernel, schedule)` takes."""

    def __init__(self, function):
        self._f = function
        self.__name__ = getattr(function, "__name__", "schedule")
        self.__doc__ = getattr(function, "__doc__", None)

    def run(self, native_context, tags=()) -> None:
        """Called by the compiler, once for each loop; `tags` are those of the kernel's text."""
        before = getattr(_local, "context", None), getattr(_local, "tags", ())
        _local.context, _local.tags = native_context, tags
        try:
            self._f()
        finally:
            _local.context, _local.tags = before

    def __call__(self, *_, **__):
        raise error("schedule-argument", f"`{self.__name__}` is a schedule and is run by `wave_compile`")

    def __repr__(self) -> str:
        return f"<schedule {self.__name__}>"


def wave_schedule(constraints=None):
    """Makes a schedule of a function.

    >>> @wave_schedule.wave_schedule()
    ... def my_schedule(): …
    """
    return WaveSchedule


# ---- Sets of instructions --------------------------------------------------------------------------------------------------


class NodeList:
    """A set of instructions in order, which behaves as a list: `+`, slices, `len`, truth. A loop is one, too."""

    def __init__(self, nodes):
        self.nodes = nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def __bool__(self) -> bool:
        return bool(self.nodes)

    def __add__(self, other):
        return NodeList(self.nodes + _nodes(other))

    def __radd__(self, other):
        return NodeList(_nodes(other) + self.nodes)

    def __getitem__(self, index):
        if isinstance(index, slice):
            made = _native.Nodes()
            for each in range(*index.indices(len(self))):
                made = made + _context().getitem(self.nodes, each, _places.here())
            return NodeList(made)
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(index)
        return NodeList(_context().getitem(self.nodes, position, _places.here()))

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def extend(self, other) -> None:
        self.nodes = self.nodes + _nodes(other)

    append = extend

    def __repr__(self) -> str:
        return "<loop>" if self.nodes.is_loop else f"<{len(self)} instructions>"


def _nodes(value) -> _native.Nodes:
    """Of a list of lists, all of them."""
    if isinstance(value, NodeList):
        return value.nodes
    if isinstance(value, (list, tuple)):
        made = _native.Nodes()
        for each in value:
            made = made + _nodes(each)
        return made
    raise error("schedule-argument", f"expected instructions, found `{value!r}`")


def _loop(value) -> _native.Nodes:
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    return _nodes(value)


class Part:
    """Prologue, kernel or epilogue of a pipelined loop."""

    def __init__(self, owner, name):
        self.owner, self.name = owner, name

    def resolve(self):
        return getattr(self.owner._settled(), self.name)


# ---- Classes of instructions, and what a schedule puts in ----------------------------------------------------------------------


def _define_class(name: str, kind):
    return type(name, (), {"__doc__": f"The class of instructions `{name}`, for `get_node_by_tag_and_type`.", "kind": kind})


Read = _define_class("Read", _native.NodeType.Read)
Write = _define_class("Write", _native.NodeType.Write)
MMA = _define_class("MMA", _native.NodeType.MMA)
ScaledMMA = _define_class("ScaledMMA", _native.NodeType.MMA)
GatherToLDS = _define_class("GatherToLDS", _native.NodeType.GatherToLDS)
TensorLoadToLDS = _define_class("TensorLoadToLDS", None)


class _Added:
    """Something that a schedule puts into the loop."""

    op: _native.AddedOp


class WorkgroupBarrier(_Added):
    """All waves meet; completes nothing by itself."""

    kind = _native.NodeType.Barrier

    def __init__(self):
        self.op = _native.workgroup_barrier(_places.here())


class SharedMemoryBarrier(_Added):
    """Shared accesses of the wave are complete, then all waves meet."""

    kind = _native.NodeType.Barrier

    def __init__(self, wait_async_ops=False, tensor_wait=False):
        self.op = _native.shared_memory_barrier(_places.here())


class MemoryCounterWait(_Added):
    """Goes on when at most `load` global and `ds` shared accesses of the wave are outstanding."""

    kind = _native.NodeType.Wait

    def __init__(self, load=None, store=None, ds=None, exp=None):
        self.op = _native.memory_counter_wait(load, ds, _places.here())


class MemoryCounterWaitBarrier(_Added):
    """The wait, then a barrier."""

    kind = _native.NodeType.Wait

    def __init__(self, load=None, store=None, ds=None, exp=None):
        self.op = _native.memory_counter_wait_barrier(load, ds, _places.here())


class SetWavePrio(_Added):
    """Issue priority of the wave from here on, 0 to 3."""

    kind = None

    def __init__(self, priority):
        self.op = _native.set_wave_prio(int(priority), _places.here())


class SchedulingBarrier(_Added):
    """The back end moves nothing over this place but the classes that are named."""

    kind = None

    def __init__(self, operations=()):
        self.op = _native.scheduling_barrier([int(getattr(each, "value", each)) for each in operations], _places.here())


def _define_gfx1250(name: str):
    def refuse(self, *_, **__):
        raise error("not-supported-here", f"`{name}`: only gfx1250 has it, which is no target here")

    return type(name, (_Added,), {"__init__": refuse, "__doc__": "Of gfx1250, which is no target here.", "kind": None})


SharedMemoryBarrierSignal = _define_gfx1250("SharedMemoryBarrierSignal")
SharedMemoryBarrierWait = _define_gfx1250("SharedMemoryBarrierWait")
TensorCounterWait = _define_gfx1250("TensorCounterWait")


def _kind(cls):
    kind = getattr(cls, "kind", None)
    if kind is None:
        raise error("schedule-argument", f"no instruction is of the class `{getattr(cls, '__name__', cls)}`")
    return kind


# ---- Questions ---------------------------------------------------------------------------------------------------------------


def _became_nothing(tag) -> bool:
    """Has the kernel's text the tag, and no instruction of the loop? A cast that costs nothing is none, for example."""
    return tag in _local.tags and not _context().has_tag(tag)


def get_node_by_tag(tag):
    """All instructions whose operation has the tag, or the loop that has it; a set means exactly these tags."""
    if isinstance(tag, (builtins.set, frozenset)):
        return NodeList(_context().get_node_by_tags(sorted(tag), _places.here()))
    if _became_nothing(tag):
        return NodeList(_native.Nodes())
    return NodeList(_context().get_node_by_tag(tag, _places.here()))


def get_node_by_tag_and_type(tag, node_type):
    """Those of a class: `tkw.Read`, `tkw.Write`, `tkw.MMA`, …"""
    if _became_nothing(tag):
        return NodeList(_native.Nodes())
    return NodeList(_context().get_node_by_tag_and_type(tag, _kind(node_type), _places.here()))


def get_node_by_tag_and_iteration(tag, iteration):
    """Those in copy `iteration` of a loop that was unrolled before."""
    return NodeList(_context().get_node_by_tag_and_iteration(tag, int(iteration), _places.here()))


def partition_by_address_space(nodes, address_space):
    """(those that access the address space, the others)."""
    shared = to_expr(address_space) == _native.address_space(True)
    first, second = _context().partition_by_address_space(_nodes(nodes), shared, _places.here())
    return NodeList(first), NodeList(second)


def partition_by_dim(nodes, dim, num_partitions):
    """Contiguous parts by the piece along `dim`."""
    parts = _context().partition_by_dim(_nodes(nodes), str(to_expr(dim)), int(num_partitions), _places.here())
    return tuple(NodeList(each) for each in parts)


def filter_nodes(nodes, subgraph=None, node_type=None):
    """Those of a part of a pipelined loop, and of a class; without a part, of all of them."""
    found, kind = _nodes(nodes), None if node_type is None else _kind(node_type)
    if subgraph is not None:
        return NodeList(_context().filter_nodes(found, subgraph.resolve(), kind, _places.here()))
    return NodeList(found if kind is None else _context().filter_by_type(found, kind, _places.here()))


def partition_by_use(nodes, users):
    """(those whose results `users` need, the others)."""
    first, second = _context().partition_by_use(_nodes(nodes), _nodes(users), _places.here())
    return NodeList(first), NodeList(second)


def pieces(nodes, dim) -> int:
    """How many pieces there are along `dim`."""
    return _context().pieces(_nodes(nodes), str(to_expr(dim)))


def has_tag(tag: str) -> bool:
    """Has an operation of the loop the tag?"""
    return _context().has_tag(tag)


class Node:
    """One instruction, as `get_custom` shows it."""

    def __init__(self, facts):
        self.name, self.type, tags, self._pieces, self.unroll_iteration = facts
        self.tag = builtins.set(tags)

    @property
    def expanded_dims(self):
        """Which piece along each dimension that has several."""
        return _Pieces(self._pieces)

    @property
    def index(self):
        raise error("not-supported-here", "`index` of an instruction: which lane holds what is the compiler's choice", "look at `expanded_dims`")

    def __repr__(self) -> str:
        return f"<{self.name}>"


class _Pieces(dict):
    """By dimensions of either sort: `K` of ours, of SymPy, or the name."""

    def __getitem__(self, dim):
        return super().__getitem__(str(dim))

    def __contains__(self, dim) -> bool:
        return super().__contains__(str(dim))

    def get(self, dim, default=None):
        return super().get(str(dim), default)


def facts_of(nodes) -> list:
    """What is known about each instruction."""
    return [Node(each) for each in _context().facts(_nodes(nodes), _places.here())]


def getitem(nodes, index):
    """One of several."""
    return nodes[index]


class _WaveId:
    """The number of a wave in its workgroup, in conditions: `hw.wave_id >= 4` is (4, no end)."""

    _END = 2**31 - 1

    def __ge__(self, wave):
        return (int(wave), self._END)

    def __gt__(self, wave):
        return (int(wave) + 1, self._END)

    def __lt__(self, wave):
        return (0, int(wave))

    def __le__(self, wave):
        return (0, int(wave) + 1)


class HardwareFacts:
    """What a schedule may ask about the machine."""

    def __init__(self, facts):
        self.threads_per_wave, x, y, z, self.mma_type, self.target = facts
        self.waves_per_block = (x, y, z)
        self.wave_id = _WaveId()


def get_hardware_constraint():
    """Waves, matrix instruction and target."""
    return HardwareFacts(_context().hardware())


# ---- Pipelines ---------------------------------------------------------------------------------------------------------------


class PipelinedLoop:
    """What `pipeline` gives; stages are said in order, inside of `with`."""

    def __init__(self, loop, num_stages, initiation_interval, eliminate_epilogue, multi_buffer_count, copies_run_on, releases, place):
        self._loop, self._place = loop, place
        self.num_stages, self.initiation_interval = num_stages, initiation_interval
        self.eliminate_epilogue, self.multi_buffer_count = eliminate_epilogue, multi_buffer_count
        self.copies_run_on, self.releases = copies_run_on, releases
        self.unroll_factor = 1
        self._native = None

    def _settled(self):
        """The builder's, made with what was said until then."""
        if self._native is None:
            self._native = _context().pipeline(
                self._loop,
                int(self.num_stages or 0),
                int(self.initiation_interval or 0),
                bool(self.eliminate_epilogue),
                int(self.multi_buffer_count or 0),
                int(self.unroll_factor or 1),
                bool(self.copies_run_on),
                bool(self.releases),
                self._place,
            )
        return self._native

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self._settled()

    def set_stage(self, *given):
        """`set_stage(0, [nodes, …])`, or the next stage as one tuple for each cycle: `set_stage([(a, b), (c,)])`."""
        place = _places.here()
        if len(given) == 2:
            stage, nodes = given
            self._settled().set_stage_numbered(int(stage), [_nodes(each) for each in nodes], place)
        else:
            cycles = [[_nodes(each) for each in _members(cycle)] for cycle in given[0]]
            self._settled().set_stage_cycles(cycles, place)

    @property
    def KERNEL(self):
        return Part(self, "KERNEL")

    @property
    def PROLOGUE(self):
        return Part(self, "PROLOGUE")

    @property
    def EPILOGUE(self):
        return None if self.eliminate_epilogue else Part(self, "EPILOGUE")


def _members(cycle):
    return cycle if isinstance(cycle, (list, tuple)) else (cycle,)


def pipeline(
    loop,
    num_stages=None,
    initiation_interval=None,
    eliminate_epilogue=False,
    multi_buffer_count=None,
    copies_run_on=False,
    releases=False,
):
    """Runs stages of several iterations at once. With `copies_run_on` stages of nothing but direct copies run past the end; with
    `releases` whoever copies boxes awaits what the others are done with, where a barrier would have all of them wait.

    >>> with tkw.pipeline(k_loop) as loop:
    ...     loop.set_stage([(global_load,), (shared_write,)])
    ...     loop.set_stage([(shared_load,), (mma,)])
    """
    return PipelinedLoop(
        _loop(loop),
        num_stages,
        initiation_interval,
        eliminate_epilogue,
        multi_buffer_count,
        copies_run_on,
        releases,
        _places.here(),
    )


# ---- Order -------------------------------------------------------------------------------------------------------------------


def _item(value):
    if isinstance(value, NodeList):
        return value.nodes
    if isinstance(value, _Added):
        return value.op
    if isinstance(value, (list, tuple)):
        return [_item(each) for each in value]
    return value


def cluster(items):
    """Instructions that stay together in this order."""
    return _context().cluster([_item(each) for each in items])


def reorder_graph(where, clusters):
    """The order of a part of a pipelined loop, or of a loop."""
    order = [_item(each) for each in clusters]
    if isinstance(where, Part):
        _context().reorder_part(where.resolve(), order, _places.here())
    else:
        _context().reorder_loop(_loop(where), order, _places.here())


def insert_before(target, op):
    """In front of the first instruction of `target`, or in front of the loop; of a kernel, behind its prologue."""
    if isinstance(target, Part):
        _beside(target, op, is_before=True)
    else:
        _context().insert_before(_nodes(target), op.op, _places.here())


def insert_after(target, op):
    """Behind the last instruction of `target`, or behind the loop; of a kernel, in front of its epilogue."""
    if isinstance(target, Part):
        _beside(target, op, is_before=False)
    else:
        _context().insert_after(_nodes(target), op.op, _places.here())


def _beside(part: Part, op, is_before: bool) -> None:
    """Around the kernel of a pipelined loop stand its prologue and its epilogue, if there is one."""
    owner = part.owner
    if part.name != "KERNEL":
        (insert_at_start if is_before else insert_at_end)(part, op)
    elif is_before:
        insert_at_end(owner.PROLOGUE, op)
    elif owner.EPILOGUE is not None:
        insert_at_start(owner.EPILOGUE, op)
    else:
        _context().insert_after(owner._loop, op.op, _places.here())


def insert_at_start(where, op):
    """At the start of a part, or of a loop's body."""
    if isinstance(where, Part):
        _context().insert_at_start_of(where.resolve(), op.op, _places.here())
    else:
        _context().insert_at_start(_loop(where), op.op, _places.here())


def insert_at_end(where, op):
    """At the end of a part, or of a loop's body."""
    if isinstance(where, Part):
        _context().insert_at_end_of(where.resolve(), op.op, _places.here())
    else:
        _context().insert_at_end(_loop(where), op.op, _places.here())


def insert_cond_barrier_before(cond, target):
    """A barrier that only some waves pass, in front of `target`: `hw.wave_id >= 4`."""
    begin, end = cond
    _context().insert_cond_barrier_before(begin, end, _nodes(target), _places.here())


def insert_cond_barrier_after(cond, target):
    """The same behind `target`."""
    begin, end = cond
    _context().insert_cond_barrier_after(begin, end, _nodes(target), _places.here())


def stagger(where):
    """The second half of the waves runs one barrier behind the first."""
    if isinstance(where, Part):
        _context().stagger_part(where.resolve(), _places.here())
    else:
        _context().stagger(_loop(where), _places.here())


def unroll(where, factor):
    """The body, or the kernel of a pipelined loop, `factor` times."""
    if isinstance(where, Part):
        _context().unroll_part(where.resolve(), int(factor), _places.here())
    else:
        _context().unroll(_loop(where), int(factor), _places.here())


# ---- The whole workgroup -----------------------------------------------------------------------------------------------------


def order_by(loop, algorithm):
    """The order of the loop is what this algorithm finds (`ring`, `modulo`, …), and nothing else is said of it."""
    _context().order_by(_loop(loop), str(algorithm), _places.here())


def specialize(ops, waves=1, registers=0):
    """These instructions, or the copies of the operations with these tags, are issued by `waves` waves of their own, whose lanes keep
    `registers` registers (0: as few as copies need): copies of boxes, all of the loop.

    >>> tkw.specialize(["read_a", "read_b"], waves=4, registers=40)
    """
    tags = [ops] if isinstance(ops, str) else ops
    if not isinstance(tags, NodeList) and builtins.all(isinstance(tag, str) for tag in tags):
        _context().specialize_tags(list(tags), int(waves), int(registers), _places.here())
    else:
        _context().specialize(_nodes(ops), int(waves), int(registers), _places.here())


def persistent(workgroups, overlap_tiles=False):
    """A launch has no more workgroups than that, each of which takes several tiles, one after the other. With `overlap_tiles` waves that
    are done with one go on to the next while others are at theirs; a role has to copy then (`specialize`).

    >>> tkw.persistent(132, overlap_tiles=True)
    """
    _context().persistent(int(workgroups), bool(overlap_tiles), _places.here())


def _are_groups(given, *settings) -> bool:
    """Is it a list of lists? A list of single instructions looks the same, unless something is said for each group."""
    if isinstance(given, NodeList) or not given:
        return False
    said = builtins.any(isinstance(each, (list, tuple)) for each in settings)
    return said or builtins.any(isinstance(each, (list, tuple)) or (isinstance(each, NodeList) and len(each) != 1) for each in given)


def interleave_operations(base_ops, interleaved_ops, intervals=1, start_offsets=None, start_after_groups=None):
    """`base_ops` with those of the groups between them; what is left over follows, group by group."""
    groups = [list(group) for group in (interleaved_ops if _are_groups(interleaved_ops, intervals, start_offsets) else [interleaved_ops])]
    count = len(groups)
    every = [intervals] * count if isinstance(intervals, int) else list(intervals)
    offsets = [start_offsets or 0] * count if not isinstance(start_offsets, (list, tuple)) else list(start_offsets)
    after = start_after_groups or [[] for _ in groups]
    made = []
    for position, op in enumerate(base_ops):
        made.append(op)
        for group in range(count):
            ready = builtins.all(not groups[other] for other in after[group])
            past = position - offsets[group]
            if ready and past >= 0 and past % every[group] == 0 and groups[group]:
                made.append(groups[group].pop(0))
    for group in groups:
        made += group
    return made


__all__ = [
    *["GatherToLDS", "MMA", "MemoryCounterWait", "MemoryCounterWaitBarrier", "Read", "ScaledMMA", "SchedulingBarrier"],
    *["SetWavePrio", "SharedMemoryBarrier", "SharedMemoryBarrierSignal", "SharedMemoryBarrierWait", "TensorCounterWait"],
    *["TensorLoadToLDS", "WorkgroupBarrier", "Write", "cluster", "filter_nodes", "get_hardware_constraint"],
    *["get_node_by_tag", "get_node_by_tag_and_iteration", "get_node_by_tag_and_type", "getitem", "insert_after"],
    *["insert_at_end", "insert_at_start", "insert_before", "insert_cond_barrier_after", "insert_cond_barrier_before"],
    *["has_tag", "interleave_operations", "order_by", "partition_by_address_space", "partition_by_dim", "partition_by_use"],
    *["persistent", "pieces", "pipeline", "reorder_graph", "specialize", "stagger", "unroll"],
]
