"""What kernels of attention share: sizes, symbols, and the one loop that all of them walk.

Softmax is taken on the way (Milakov, Gimelshein 2018): the loop carries the largest score of each query, the sum of its
weights and the weighted values, and shrinks both sums whenever the largest score grows. Exponentials are powers of 2, so
scores come times log2(e). Keys beyond the last one count nowhere, so nobody masks them.
"""

import math
from dataclasses import dataclass, fields

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw


@dataclass(frozen=True)
class AttentionShape:
    """Sizes of attention; those that a kernel does not need stay None. Iterating gives those that are set."""

    num_query_heads: int | None = None
    num_kv_heads: int | None = None
    head_size: int | None = None
    head_size_kv: int | None = None
    batch_size: int | None = None
    num_seqs: int | None = None
    max_seq_len: int | None = None
    total_seq_len: int | None = None
    context_len: int | None = None
    fixed_seq_len_prefix: int | None = None
    fixed_seq_len_extend: int | None = None
    query_seq_len: int | None = None
    kv_seq_len: int | None = None
    block_size: int | None = None

    def __iter__(self):
        return iter(value for value in (getattr(self, each.name) for each in fields(self)) if value is not None)


B, H, M, N, K1, K2 = (getattr(tkl.sym, name) for name in "B H M N K1 K2".split())
H_Q, H_KV, D_Q, D_KV = (getattr(tkl.sym, name) for name in "H_Q H_KV D_Q D_KV".split())
N_Q, N_KV = tkl.sym.N_D, tkl.sym.N_KV
BLOCK_B, BLOCK_H, BLOCK_M, BLOCK_N, BLOCK_K2 = (getattr(tkl.sym, f"BLOCK_{name}") for name in "B H M N K2".split())
BLOCK_H_Q, BLOCK_H_KV, BLOCK_N_Q, BLOCK_N_KV = (getattr(tkl.sym, f"BLOCK_{name}") for name in "H_Q H_KV N_Q N_KV".split())
BLOCK_D_Q, BLOCK_D_KV = tkl.sym.BLOCK_D_Q, tkl.sym.BLOCK_D_KV
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE

LOG2E = math.log2(math.e)
# A score below all real ones, from which differences are still numbers, and one that weighs nothing.
LOWEST, NEVER = -1e30, -math.inf


def factor_of(shape, scaling=None) -> float:
    """What products of queries and keys are multiplied by."""
    return (shape.head_size**-0.5 if scaling is None else scaling) * LOG2E


# ---- Tiles in memory -----------------------------------------------------------------------------------------------------


def place_in(tile, dim):
    """The iterator that stands for the place along a dimension of the tile."""
    return tkw.IndexMapping.iterator(list(tile).index(dim))


def _mapping(memory, tile, places, is_read, values=()):
    ours = {dim: place_in(tile, dim) for dim in tile}
    theirs = {dim: (places or {}).get(dim, ours.get(dim)) for dim in memory.symbolic_shape}
    inputs, outputs = (theirs, ours) if is_read else (ours, theirs)
    return tkw.IndexMapping(len(tile), inputs=inputs, outputs=outputs, dynamic_val_mappings=tuple(values))


def read_as(memory, tile, places=None, at=None, **options):
    """A tile of these dimensions; `places` says where a dimension of the memory is not that of the tile, and `at` is what
    `dynamic_val(0)` stands for: integers, and their dimensions."""
    values, dims = at or (None, ())
    how = [{dim: place_in(tile, dim) for dim in dims}] if at else []
    mapping = _mapping(memory, tile, places, True, how)
    return tkw.read(memory, mapping=mapping, mapping_dynamic_vals=(values,) if at else (), **options)


def write_as(value, memory, tile, places=None, **options):
    """The same the other way round."""
    tkw.write(value, memory, mapping=_mapping(memory, tile, places, False), **options)


# ---- Scores ----------------------------------------------------------------------------------------------------------------


def indices_of(queries, keys):
    """For each pair, the number of its query and of its key."""
    return tuple(tkw.broadcast(tkw.self_index(dim, tkl.i32), target_shape=[queries, keys]) for dim in (queries, keys))


def seen(queries, keys, is_causal, window=-1):
    """Which keys a query attends to; None if to all."""
    if window > 0 and not is_causal:
        raise NotImplementedError("a sliding window is one of causal attention")
    if not is_causal:
        return None
    query, key = indices_of(queries, keys)
    return (key <= query) & (query - key <= window) if window >= 0 else key <= query


def masked(scores, mask, tag=""):
    """Keys that are not seen weigh nothing."""
    return scores if mask is None else tkw.select(mask, scores, NEVER, tag=tag)


def capped(scores, cap: float):
    """cap · tanh(score / cap), where there is a cap."""
    return tkw.tanh_approx(scores * (1.0 / cap)) * cap if cap > 0 else scores


# ---- The loop ----------------------------------------------------------------------------------------------------------------


@dataclass
class Tags:
    """By what schedules find the parts of the loop; empty ones are not tagged."""

    loop: str = ""
    qk: str = ""
    qk_init: str = ""
    pv: str = ""
    softmax0: str = ""
    softmax1: str = ""


def attend(keys, queries, depth, batch, reads, scores, mfma_variants, weights=tkl.f16, before=None, offset=0.0, tags=Tags()):
    """(largest score, sum of weights, weighted values) of each query, after one pass over the keys.

    `reads` are three functions for tiles of queries, keys and values [depth, keys]; `scores` makes scores of products.
    Weights are 2 to the power of the score, the largest being 2^offset, in the type `weights` or as that function says.
    """
    read_q, read_k, read_v = reads
    to_weights = weights if callable(weights) else lambda powers: tkw.cast(powers, weights, tag=tags.softmax1)
    rows = (*batch, queries)
    if before is None:
        lowest, none = tkl.Register[rows, tkl.f32](LOWEST), tkl.Register[rows, tkl.f32](0.0)
        before = (lowest, none, tkl.Register[(*batch, depth, queries), tkl.f32](0.0))

    @tkw.iterate(keys, init_args=list(before), tag=tags.loop)
    def loop(largest, total, sums):
        zero = tkw.register((*batch, keys, queries), tkl.f32, 0.0, tag=tags.qk_init)
        products = tkw.mma(read_k(), read_q(), zero, mfma_variants[0], tag=tags.qk)
        score = scores(tkw.permute(products, target_shape=[*rows, keys], tag=tags.softmax0))
        now = tkw.max(score, largest, dim=keys, tag=tags.softmax0)
        decay = tkw.exp2(tkw.sub(largest, now, tag=tags.softmax0), tag=tags.softmax0)
        difference = tkw.sub(score, now, tag=tags.softmax0)
        powers = tkw.exp2(difference + offset if offset else difference, tag=tags.softmax1)
        total = tkw.sum(powers, tkw.mul(total, decay, tag=tags.softmax1), dim=keys, tag=tags.softmax1)
        kept = tkw.mul(sums, decay, tag=tags.softmax1)
        return now, total, tkw.mma(read_v(), to_weights(powers), kept, mfma_variants[1], tag=tags.pv)

    return loop


def means(total, sums):
    """Weighted values by the sum of weights; 0 for a query that attends to nothing."""
    return sums * tkw.select(total > 0.0, tkw.reciprocal(total), 0.0)


# ---- Keys in parts -------------------------------------------------------------------------------------------------------------


def logarithm(largest, total):
    """log2 of the sum of all weights; LOWEST where there are none."""
    return tkw.select(total > 0.0, largest + tkw.log2(total), LOWEST)


def combine(parts, rows, depth, logits, logits_max):
    """[rows, depth]: the means of parts by the logarithms of their weights."""
    lowest, none = tkl.Register[rows, tkl.f32](LOWEST), tkl.Register[rows, tkl.f32](0.0)

    @tkw.iterate(parts, init_args=[lowest, none, tkl.Register[(*rows, depth), tkl.f32](0.0)])
    def loop(largest, total, sums):
        exponents = read_as(logits_max, (*rows, parts))
        now = tkw.max(exponents, largest, dim=parts)
        decay, powers = tkw.exp2(largest - now), tkw.exp2(exponents - now)
        tile = (*rows, depth, parts)
        weighted = read_as(logits, tile) * tkw.broadcast(powers, target_shape=list(tile))
        return now, tkw.sum(powers, total * decay, dim=parts), tkw.sum(weighted, sums * decay, dim=parts)

    _, total, sums = loop
    return sums / total
