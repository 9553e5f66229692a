"""Attention as an operator of torch that can be differentiated: one kernel forward, two backward.

    from attention import Attention

    attend = Attention("mine", depth=64, causal=True)      # compiles nothing yet but what depends on the depth
    o = attend(q, k, v)                                    # f16, [batch, heads, sequence, depth], any sizes
    o.sum().backward()

Neither scores nor weights are kept between the two: forward keeps the log-sum-exp of each row, and backward computes a weight
once more from it (Dao 2023). With g the slope of o:

    p = exp(scale · q·kᵀ - lse),   delta = sum(o · g),   ds = p · (g·vᵀ - delta)
    dq = scale · ds·k,   dk = scale · dsᵀ·q,   dv = pᵀ·g

Queries have one kernel, keys and values another, so that each sums in registers what it writes. The first also writes delta, which
the second reads. `python attention.py` compares with torch's own.
"""

import math

import torch

import soliton.lang as tkl
import soliton.torch
import soliton.wave as tkw
from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from soliton.wave.compile import WaveCompileOptions, wave_compile

B, H, Q, KV, D = tkl.sym.B, tkl.sym.H, tkl.sym.Q, tkl.sym.KV, tkl.sym.D
BLOCK_Q, BLOCK_KV = tkl.sym.BLOCK_Q, tkl.sym.BLOCK_KV
LOG2E = math.log2(math.e)
LOWEST = -1e30  # a score below all real ones, from which differences are still numbers


def constraints(rows, tile, looped, step):
    """A head's `tile` rows a workgroup, by four waves; a loop walks the other sequence. All of D is one tile."""
    parts = [tkw.WorkgroupConstraint(rows, tile, 0), tkw.WorkgroupConstraint(H, 1, 1), tkw.WorkgroupConstraint(B, 1, 2)]
    return [*parts, tkw.TilingConstraint(looped, step), tkw.WaveConstraint(rows, tile / 4), tkw.HardwareConstraint()]


def as_it_is_seen(weights, hidden, causal: bool, dims):
    """What stands for pairs whose key comes after their query: `hidden`."""
    if not causal:
        return weights
    key, query = (tkw.broadcast(tkw.self_index(dim, tkl.i32), dims) for dim in (KV, Q))
    return tkw.select(key <= query, weights, tkl.Register[(*dims, tkl.f32)](hidden))


def forward_kernel(causal: bool):
    @tkw.wave(constraints(Q, BLOCK_Q, KV, BLOCK_KV))
    def attention(
        q: tkl.Memory[B, H, Q, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, H, KV, D, SHARED_ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, H, KV, D, SHARED_ADDRESS_SPACE, tkl.f16],
        scale: tkl.f32,
        o: tkl.Memory[B, H, Q, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        lse: tkl.Memory[B, H, Q, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        query = tkw.read(q)
        factor = tkw.broadcast(scale, [B, H, Q, KV]) * LOG2E
        lowest, zero = tkl.Register[B, H, Q, tkl.f32](LOWEST), tkl.Register[B, H, Q, tkl.f32](0.0)

        @tkw.iterate(KV, init_args=[lowest, zero, tkl.Register[B, H, Q, D, tkl.f32](0.0)])
        def loop(before, total, mixed):
            scores = tkw.mma(query, tkw.read(k), tkl.Register[B, H, Q, KV, tkl.f32](0.0)) * factor
            scores = as_it_is_seen(scores, LOWEST, causal, [B, H, Q, KV])
            largest = tkw.max(scores, before, dim=KV)
            weights, shrink = tkw.exp2(scores - largest), tkw.exp2(before - largest)
            total = tkw.sum(weights, total * shrink, dim=KV)
            return largest, total, tkw.mma(tkw.cast(weights, tkl.f16), tkw.read(v), mixed * shrink)

        largest, total, mixed = loop
        tkw.write(tkw.cast(mixed / total, tkl.f16), o)
        tkw.write((largest + tkw.log2(total)) * (1 / LOG2E), lse)

    return attention


def weights_of(products, scale, lse, causal: bool, dims):
    """The weights of a tile once more, from products of queries and keys."""
    exponents = products * (tkw.broadcast(scale, dims) * LOG2E) - tkw.broadcast(tkw.read(lse) * LOG2E, dims)
    return as_it_is_seen(tkw.exp2(exponents), 0.0, causal, dims)


def queries_kernel(causal: bool):
    @tkw.wave(constraints(Q, BLOCK_Q, KV, BLOCK_KV))
    def attention_dq(
        q: tkl.Memory[B, H, Q, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, H, KV, D, SHARED_ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, H, KV, D, SHARED_ADDRESS_SPACE, tkl.f16],
        o: tkl.Memory[B, H, Q, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        g: tkl.Memory[B, H, Q, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        lse: tkl.Memory[B, H, Q, GLOBAL_ADDRESS_SPACE, tkl.f32],
        scale: tkl.f32,
        dq: tkl.Memory[B, H, Q, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        delta: tkl.Memory[B, H, Q, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        query, slope = tkw.read(q), tkw.read(g)
        products = tkw.cast(tkw.read(o), tkl.f32) * tkw.cast(slope, tkl.f32)
        sums = tkw.sum(products, tkl.Register[B, H, Q, tkl.f32](0.0), dim=D)
        none = tkl.Register[B, H, Q, KV, tkl.f32](0.0)

        @tkw.iterate(KV, init_args=[tkl.Register[B, H, Q, D, tkl.f32](0.0)])
        def loop(acc):
            weights = weights_of(tkw.mma(query, tkw.read(k), none), scale, lse, causal, [B, H, Q, KV])
            of_weights = tkw.mma(slope, tkw.read(v), none)
            of_scores = weights * (of_weights - tkw.broadcast(sums, [B, H, Q, KV]))
            return tkw.mma(tkw.cast(of_scores, tkl.f16), tkw.read(k), acc)

        tkw.write(tkw.cast(loop * tkw.broadcast(scale, [B, H, Q, D]), tkl.f16), dq)
        tkw.write(sums, delta)

    return attention_dq


def keys_kernel(causal: bool):
    @tkw.wave(constraints(KV, BLOCK_KV, Q, BLOCK_Q))
    def attention_dkv(
        q: tkl.Memory[B, H, Q, D, SHARED_ADDRESS_SPACE, tkl.f16],
        k: tkl.Memory[B, H, KV, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        v: tkl.Memory[B, H, KV, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        g: tkl.Memory[B, H, Q, D, SHARED_ADDRESS_SPACE, tkl.f16],
        lse: tkl.Memory[B, H, Q, GLOBAL_ADDRESS_SPACE, tkl.f32],
        delta: tkl.Memory[B, H, Q, GLOBAL_ADDRESS_SPACE, tkl.f32],
        scale: tkl.f32,
        dk: tkl.Memory[B, H, KV, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
        dv: tkl.Memory[B, H, KV, D, GLOBAL_ADDRESS_SPACE, tkl.f16],
    ):
        key, value = tkw.read(k), tkw.read(v)
        none, zero = tkl.Register[B, H, KV, Q, tkl.f32](0.0), tkl.Register[B, H, KV, D, tkl.f32](0.0)

        @tkw.iterate(Q, init_args=[zero, zero])
        def loop(of_keys, of_values):
            weights = weights_of(tkw.mma(key, tkw.read(q), none), scale, lse, causal, [B, H, KV, Q])
            of_weights = tkw.mma(value, tkw.read(g), none)
            of_scores = weights * (of_weights - tkw.broadcast(tkw.read(delta), [B, H, KV, Q]))
            of_keys = tkw.mma(tkw.cast(of_scores, tkl.f16), tkw.read(q), of_keys)
            return of_keys, tkw.mma(tkw.cast(weights, tkl.f16), tkw.read(g), of_values)

        of_keys, of_values = loop
        tkw.write(tkw.cast(of_keys * tkw.broadcast(scale, [B, H, KV, D]), tkl.f16), dk)
        tkw.write(tkw.cast(of_values, tkl.f16), dv)

    return attention_dkv


class Attention:
    """softmax(q·kᵀ·scale)·v of f16 tensors [batch, heads, sequence, depth], whose slopes autograd finds."""

    def __init__(self, namespace: str, depth: int, causal: bool = False, **options):
        def compiled(kernel, queries: int, keys: int):
            subs = {D: depth, BLOCK_Q: queries, BLOCK_KV: keys}
            return wave_compile(WaveCompileOptions(subs=subs, dynamic_symbols=[B, H, Q, KV], **options), kernel(causal))

        self.scale = 1 / math.sqrt(depth)
        self.forward = soliton.torch.custom_op(f"{namespace}::attention", compiled(forward_kernel, 64, 32))
        self.to_queries = soliton.torch.custom_op(f"{namespace}::attention_dq", compiled(queries_kernel, 64, 32))
        self.to_keys = soliton.torch.custom_op(f"{namespace}::attention_dkv", compiled(keys_kernel, 32, 64))
        self.forward.register_autograd(self._backward, setup_context=self._keep)

    def __call__(self, q, k, v):
        return self.forward(q, k, v, self.scale)[0]

    @staticmethod
    def _keep(ctx, inputs, output):
        q, k, v, ctx.scale = inputs
        o, lse = output
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.mark_non_differentiable(lse)

    def _backward(self, ctx, slope, _):
        q, k, v, o, lse = ctx.saved_tensors
        slope = slope.contiguous()
        dq, delta = self.to_queries(q, k, v, o, slope, lse, ctx.scale)
        dk, dv = self.to_keys(q, k, v, slope, lse, delta, ctx.scale)
        return dq, dk, dv, None


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    attend = Attention("example", depth=64, causal=True)
    ours = [torch.randn(1, 2, 80, 64, device=device).half().requires_grad_() for _ in range(3)]
    theirs = [each.detach().float().requires_grad_() for each in ours]
    slope = torch.randn(1, 2, 80, 64, device=device).half()
    o = attend(*ours)
    wanted = torch.nn.functional.scaled_dot_product_attention(*theirs, is_causal=True)
    o.backward(slope)
    wanted.backward(slope.float())
    for name, found, expected in zip(("o", "dq", "dk", "dv"), (o, *(each.grad for each in ours)), (wanted, *(each.grad for each in theirs))):
        print(f"{name}: off by at most {(found.float() - expected).abs().max().item():.4f} of {expected.abs().max().item():.2f}")


if __name__ == "__main__":
    main()
