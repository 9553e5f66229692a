"""Attention of stacks of sequences, with a mask of keys and a bias of pairs, as in the Evoformer.

    kernel, hyperparams = get_evoformer_kernel((1, 1), (4, 1), (64, 32), (2, 1), (32, 32), (64, 32), (32, 32), mfma, tkl.f16)

Each size comes with that of its tile. Queries, masks and biases come times log2(e): exponentials are powers of 2.
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE

from . import attention_common as common
from .attention_common import ADDRESS_SPACE, BLOCK_B, BLOCK_H, BLOCK_K2, BLOCK_M, BLOCK_N, K1, K2, B, H, M, N

BN, BLOCK_BN = tkl.sym.BN, tkl.sym.BLOCK_BN


def get_evoformer_kernel(batch, n, kv_seq_len, heads, head_dim, q_seq_len, v_dim, mfma_variant, datatype):
    """q [B, BN, M, H, K1], k [B, BN, K2, H, K1], v [B, BN, N, H, K2], mask [B, BN, K2], bias [B, H, M, K2]."""
    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1)]
    constraints += [tkw.WorkgroupConstraint(B, BLOCK_B, 2), tkw.WorkgroupConstraint(BN, BLOCK_BN, 3), tkw.WorkgroupConstraint(H, BLOCK_H, 4)]
    constraints += [tkw.TilingConstraint(K2, BLOCK_K2), tkw.WaveConstraint(M, BLOCK_M / 2)]
    constraints += [tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant, vector_shapes={B: 0, BN: 0, H: 0})]
    stack = (B, BN, H)

    @tkw.wave(constraints)
    def evoformer_fwd(
        q: tkl.Memory[B, BN, M, H, K1, GLOBAL_ADDRESS_SPACE, datatype],
        k: tkl.Memory[B, BN, K2, H, K1, ADDRESS_SPACE, datatype],
        v: tkl.Memory[B, BN, N, H, K2, ADDRESS_SPACE, datatype],
        mask: tkl.Memory[B, BN, K2, GLOBAL_ADDRESS_SPACE, datatype],
        bias: tkl.Memory[B, H, M, K2, GLOBAL_ADDRESS_SPACE, datatype],
        c: tkl.Memory[B, BN, M, H, N, GLOBAL_ADDRESS_SPACE, datatype],
    ):
        reads = (
            lambda: common.read_as(q, (*stack, M, K1)),
            lambda: common.read_as(k, (*stack, K2, K1)),
            lambda: common.read_as(v, (*stack, N, K2)),
        )
        scores = lambda products: products + tkw.cast(tkw.read(mask), tkl.f32) + tkw.cast(tkw.read(bias), tkl.f32)  # noqa: E731
        mfma = (mfma_variant, mfma_variant)
        _, total, sums = common.attend(K2, M, N, stack, reads, scores, mfma, datatype)
        common.write_as(tkw.cast(common.means(total, sums), datatype), c, (*stack, N, M))

    symbols = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE}
    sizes = {(B, BLOCK_B): batch, (BN, BLOCK_BN): n, (K2, BLOCK_K2): kv_seq_len, (H, BLOCK_H): heads, (M, BLOCK_M): q_seq_len}
    for (size, block), numbers in (sizes | {(N, BLOCK_N): v_dim}).items():
        symbols |= {size: numbers[0], block: numbers[1]}
    return evoformer_fwd, symbols | {K1: head_dim[0]}
