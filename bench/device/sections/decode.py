"""Decode attention, one query a head and four heads on each of k and v, beside torch's and the fastest copy: keys and values are read once."""
import ctypes

from arms import difference
from protocol import sets_of
from report import Table

# batch, heads of keys, heads on each of them, keys, depth
SHAPES = [(64, 8, 4, 4096, 128), (16, 8, 4, 8192, 128)]
# Elements of a piece, as many as the tables of rows copy: half a gigabyte in one piece was copied at two thirds of the bandwidth.
PIECE = 1 << 26
# Parts that the keys of a head are split into.
SPLITS = (1, 2, 4, 8)


def choices(shape):
    """What `auto` takes, for some numbers of parts."""
    return [(f"auto, {splits} parts", splits, []) for splits in SPLITS]


def words_of(shape, splits, words):
    b, h, group, keys, d = shape
    return ["attention_decode_split", "--dtype", "f16", "--size", f"B={b},H_KV={h},GROUP={group},SPLITS={splits},KV={keys},D={d}", *words]


def combine_of(shape, splits):
    b, h, group, _, d = shape
    return ["attention_decode_combine", "--dtype", "f16", "--size", f"B={b},H={h * group},SPLITS={splits},D={d}"]


class Decode:
    @staticmethod
    def wanted():
        return [words for shape in SHAPES for _, splits, more in choices(shape) for words in (words_of(shape, splits, more), combine_of(shape, splits))]

    @staticmethod
    def tables(bench):
        return [table(bench, shape) for shape in SHAPES]


def table(bench, shape):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    b, h, group, keys, d = shape
    scale, bytes_read = d ** -0.5, 4.0 * b * h * keys * d
    lengths = torch.full((b,), keys, device="cuda", dtype=torch.int32)

    def make():
        q, o = (torch.randn(b, h * group, 1, d, device="cuda", dtype=torch.float16) for _ in range(2))
        k, v = (torch.randn(b, h, keys, d, device="cuda", dtype=torch.float16) for _ in range(2))
        return q, k, v, o

    def theirs(backend, q, k, v, o):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale, enable_gqa=True)

    sets = sets_of(make, int(bytes_read))
    copied = [(k, v) for _, k, v, _ in sets_of(make, int(bytes_read))]
    arms = {"torch copy_": [lambda k=k, v=v: v.copy_(k) for k, v in copied],
            "torch copy_ in pieces": [lambda k=k, v=v: [to.copy_(piece) for piece, to in zip(k.flatten().split(PIECE), v.flatten().split(PIECE))]
                                      for k, v in copied]}
    for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("FLASH", SDPBackend.FLASH_ATTENTION)):
        arms[name] = [lambda each=each, backend=backend: theirs(backend, *each) for each in sets]
    q, k, v, o = sets[0]
    reference = torch.cat([torch.nn.functional.scaled_dot_product_attention(
        q[i:i + 1].float(), k[i:i + 1].float(), v[i:i + 1].float(), scale=scale, enable_gqa=True) for i in range(b)])
    for name, splits, words in choices(shape):
        part = torch.empty(b, splits, h, group, d, device="cuda", dtype=torch.float32)
        lse = torch.empty(b, splits, h, group, device="cuda", dtype=torch.float32)
        o.fill_(float("nan"))
        first = [(q, k, v, lengths, ctypes.c_float(scale), part, lse) for q, k, v, _ in sets]
        second = [(part, lse, o) for *_, o in sets]
        bench.arm(arms, name, [(words_of(shape, splits, words), first), (combine_of(shape, splits), second)], lambda: difference(o, reference, 4e-3))
    return Table(f"decode attention f16 B{b} H{h * group} H_KV{h} KV{keys} D{d}: bandwidth of k and v beside the copy", ("torch copy_", "torch copy_ in pieces"), bytes_read, "TB/s",
                 bench.measure(arms))
