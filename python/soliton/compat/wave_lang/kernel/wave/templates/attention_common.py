"""What kernels of attention share: their sizes and symbols."""

from dataclasses import dataclass, fields

import wave_lang.kernel.lang as tkl


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
N_Q, N_KV, D_Q, D_KV, H_KV = (getattr(tkl.sym, name) for name in "N_D N_KV D_Q D_KV H_KV".split())
BLOCK_B, BLOCK_H, BLOCK_M = tkl.sym.BLOCK_B, tkl.sym.BLOCK_H, tkl.sym.BLOCK_M
BLOCK_N, BLOCK_K2 = tkl.sym.BLOCK_N, tkl.sym.BLOCK_K2
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE
