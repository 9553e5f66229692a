"""What kernels of the library compute, in f64 from their definitions, and how far off an implementation in f32 may be.

    wanted = REFERENCES["attention_causal"]({"B": 1, ...}, {"q": q, "k": k, "v": v, "scale": 0.125}, "f16")
    wanted["o"].value, wanted["o"].bound("f16")            tensors of f64, one number for each element

Bounds are those of kernels/: a sum of n terms is off by 2 n roundoffs of what they amount to without their signs, functions by a few
roundoffs of their argument, and the result by half a unit of its type. They follow from the arithmetic, not from what was seen.
"""
from dataclasses import dataclass

ROUNDOFF = 2.0**-24
# Half a unit of 1, and the least number above 0.
HALF_UNIT = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24}
LEAST = {"f16": 2.0**-24, "bf16": 2.0**-126, "f32": 2.0**-126}


@dataclass
class Wanted:
    value: object
    error: object
    """Before it is rounded to the type of the output."""

    def bound(self, dtype):
        half = HALF_UNIT[dtype]
        return self.error * (1 + half) + half * self.value.abs() + LEAST[dtype]


# ---- Attention -------------------------------------------------------------------------------------------------------


def weighted_rows(q, k, v, scale, visible, dtype):
    """(o, lse) of queries [..., Q, D] that see some of the keys [..., KV, D]; a query that sees none has zeros."""
    import torch

    q, k, v = q.double(), k.double(), v.double()
    count, depth = k.shape[-2], k.shape[-1]
    scores = scale * (q @ k.mT)
    errors = 2 * depth * ROUNDOFF * scale * (q.abs() @ k.abs().mT) + 6 * ROUNDOFF * scores.abs()
    seen = scores.masked_fill(~visible, float("-inf"))
    any_seen = visible.any(-1, keepdim=True)
    largest = torch.where(any_seen, seen.amax(-1, keepdim=True), torch.zeros((), dtype=torch.float64, device=q.device))
    weights = torch.where(visible, torch.exp(scores - largest), torch.zeros((), dtype=torch.float64, device=q.device))
    total = weights.sum(-1, keepdim=True)
    safe = torch.where(any_seen, total, torch.ones_like(total))
    # Terms of an exponent, and a rescaling for each tile, of which there are at most as many as keys.
    common = ROUNDOFF * (8 * torch.where(visible, scores.abs(), torch.zeros_like(scores)).amax(-1, keepdim=True) + 4 * count + 16)
    inverse = (weights * (errors + common)).sum(-1, keepdim=True) / safe + (2 * count + 4) * ROUNDOFF
    value = weights @ v / safe
    # Weights are rounded to the type of the inputs before the second product, where they may underflow.
    relative = errors + common + HALF_UNIT[dtype] + 2 * count * ROUNDOFF
    error = ((weights * relative) @ v.abs() + max(LEAST[dtype], 2.0**-126) * (visible.double() @ v.abs())) / safe
    lse = torch.where(any_seen, largest + torch.log(safe), torch.zeros_like(largest)).squeeze(-1)
    lse_error = inverse.squeeze(-1) + 8 * ROUNDOFF * (largest.squeeze(-1).abs() + lse.abs() + 1)
    return Wanted(value, 1.1 * (error + value.abs() * inverse) + 2.0**-126), Wanted(lse, lse_error)


def attention(sizes, given, causal=False, sequence_first=False, lengths=False, dtype="f16"):
    import torch

    q, k, v = (given[name].transpose(1, 2) if sequence_first else given[name] for name in ("q", "k", "v"))
    shared = q.shape[1] // k.shape[1]
    k, v = (each.repeat_interleave(shared, dim=1) for each in (k, v))
    rows, keys = (torch.arange(n, device=q.device) for n in (q.shape[2], k.shape[2]))
    visible = torch.ones(q.shape[0], 1, len(rows), len(keys), dtype=torch.bool, device=q.device)
    if causal:
        visible &= keys <= rows[:, None]
    if lengths:
        visible = visible & (keys < given["lengths"][:, None, None, None])
    o, lse = weighted_rows(q, k, v, given["scale"], visible.expand(-1, q.shape[1], -1, -1), dtype)
    if sequence_first:
        o = Wanted(o.value.transpose(1, 2), o.error.transpose(1, 2))
    return {"o": o, "lse": lse}


def attention_ragged(sizes, given, dtype="f16"):
    """Sequences one behind the other; the last query of one sees its last key."""
    import torch

    q, k, v = given["q"], given["k"], given["v"]
    value, error = (torch.zeros(q.shape, dtype=torch.float64, device=q.device) for _ in range(2))
    starts, key_starts = given["q_starts"].tolist(), given["k_starts"].tolist()
    for sequence in range(sizes["B"]):
        rows, keys = slice(*starts[sequence:sequence + 2]), slice(*key_starts[sequence:sequence + 2])
        if rows.start == rows.stop or keys.start == keys.stop:
            continue
        shared = q.shape[1] // k.shape[1]
        own = q[rows].transpose(0, 1), *(each[keys].transpose(0, 1).repeat_interleave(shared, dim=0) for each in (k, v))
        queries, count = own[0].shape[1], own[1].shape[1]
        last = torch.arange(queries, device=q.device) + count - queries
        visible = (torch.arange(count, device=q.device) <= last[:, None]).expand(q.shape[1], -1, -1)
        o, _ = weighted_rows(*own, given["scale"], visible, dtype)
        value[rows], error[rows] = o.value.transpose(0, 1), o.error.transpose(0, 1)
    return {"o": Wanted(value, error)}


def attention_paged(sizes, given, dtype="f16"):
    """Keys and values in pages [PAGES, H_KV, PAGE, D], of which a table says the order."""
    pages = given["table"].long()

    def gathered(tensor):
        return tensor[pages].permute(0, 2, 1, 3, 4).flatten(2, 3)[:, :, :sizes["KV"]]

    return attention(sizes, given | {"k": gathered(given["k"]), "v": gathered(given["v"])}, lengths=True, dtype=dtype)


def decode_split(sizes, given, dtype="f16"):
    """Of each part of the keys the weighted values and their log-sum-exp, which is the lowest number where the part is empty."""
    import torch

    splits, count = sizes["SPLITS"], sizes["KV"]
    q, k, v = (given[name][:, None].expand(-1, splits, -1, -1, -1) for name in ("q", "k", "v"))
    share, keys = -(-count // splits), torch.arange(count, device=q.device)
    first = share * torch.arange(splits, device=q.device)[:, None]
    visible = (keys >= first) & (keys < first + share) & (keys < given["lengths"][:, None, None])
    part, lse = weighted_rows(q, k, v, given["scale"], visible[:, :, None, None].expand(-1, -1, q.shape[2], q.shape[3], -1), dtype)
    empty = ~visible.any(-1)[:, :, None, None].expand_as(lse.value)
    lse.value[empty], lse.error[empty] = torch.tensor(-1e30, dtype=torch.float32).double().item(), 0.0
    return {"part": part, "lse": lse}


def decode_combine(sizes, given):
    import torch

    part, lse = given["part"].double(), given["lse"].double()
    weights = torch.softmax(lse, 1)[..., None]
    value, relative = (weights * part).sum(1), ROUNDOFF * (16 * lse.abs().amax(1)[..., None] + 12 * lse.shape[1] + 32)
    return {"o": Wanted(value, relative * (weights * part.abs()).sum(1) + 2.0**-126)}


# ---- Rows ------------------------------------------------------------------------------------------------------------


def row_softmax(sizes, given):
    import torch

    x = given["a"].double()
    value = torch.softmax(x, 1)
    relative = ROUNDOFF * (4 * x.shape[1] + 16 + 8 * x.abs().amax(1, keepdim=True))
    return {"b": Wanted(value, value * relative + 2.0**-126)}


def norm(sizes, given, centred):
    import torch

    x, weight, count = given["a"].double(), given["weight"].double(), given["a"].shape[1]
    mean = x.mean(1, keepdim=True) if centred else torch.zeros_like(x[:, :1])
    mean_error = (2 * count + 4) * ROUNDOFF * x.abs().mean(1, keepdim=True) if centred else torch.zeros_like(mean)
    distance = x - mean
    error = mean_error + ROUNDOFF * distance.abs() if centred else torch.zeros_like(x)
    variance = (distance * distance).mean(1, keepdim=True)
    variance_error = ((2 * distance.abs() + error) * error).mean(1, keepdim=True)
    variance_error = variance_error + (2 * count + 8) * ROUNDOFF * (variance + variance_error)
    factor = 1 / torch.sqrt(variance + given["epsilon"])
    factor_error = factor * (variance_error / (2 * (variance + given["epsilon"])) + 8 * ROUNDOFF)
    normal_error = error * (factor + factor_error) + distance.abs() * factor_error
    shift = given["shift"].double() if centred else torch.zeros_like(weight)
    scaled = distance * factor * weight
    return {"b": Wanted(scaled + shift, weight.abs() * normal_error + 4 * ROUNDOFF * (scaled.abs() + shift.abs()) + 2.0**-126)}


# ---- Products --------------------------------------------------------------------------------------------------------


def product(sizes, given, activation=None):
    import torch

    a, b = given["a"].double(), given["b"].double()
    value, error = a @ b.mT, 2 * a.shape[-1] * ROUNDOFF * (a.abs() @ b.abs().mT)
    if "bias" in given:
        value = value + given["bias"].double()
        # No slope is above 1.2.
        error = 1.2 * (error + 2 * ROUNDOFF * value.abs()) + 16 * ROUNDOFF * value.abs() + 2.0**-126
        value = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "silu": torch.nn.functional.silu, None: lambda x: x}[activation](value)
    if "residual" in given:
        value = value + given["residual"].double()
        error = error + ROUNDOFF * value.abs()
    return {"c": Wanted(value, error)}


def gated(sizes, given):
    import torch

    def one(name):
        a, b = given["a"].double(), given[name].double()
        return a @ b.mT, 2 * a.shape[-1] * ROUNDOFF * (a.abs() @ b.abs().mT)

    (gate, gate_error), (up, up_error) = one("gate"), one("up")
    opened = torch.nn.functional.silu(gate)
    # No slope is above 1.1.
    opened_error = 1.1 * gate_error + 16 * ROUNDOFF * gate.abs() + 2.0**-126
    value = opened * up
    return {"c": Wanted(value, opened_error * (up.abs() + up_error) + opened.abs() * up_error + 2 * ROUNDOFF * value.abs())}


def convolution(sizes, given):
    """x[B, H, W, C], w[F, R, S, C], as a product of what the filter covers with the filter."""
    import torch

    x, w = given["x"].double().permute(0, 3, 1, 2), given["w"].double().permute(0, 3, 1, 2)
    how = {"stride": sizes.get("STRIDE", 1), "padding": sizes.get("PAD", 1), "dilation": sizes.get("DILATION", 1)}

    def convolved(image, filters):
        covered = torch.nn.functional.unfold(image, filters.shape[2:], **how)
        return filters.flatten(1) @ covered

    batches, filters = x.shape[0], w.shape[0]
    height, width = ((x.shape[2 + i] + 2 * how["padding"] - how["dilation"] * (w.shape[2 + i] - 1) - 1) // how["stride"] + 1 for i in range(2))
    terms = w[0].numel()
    value, amount = (convolved(*each).reshape(batches, filters, height, width).permute(0, 2, 3, 1) for each in ((x, w), (x.abs(), w.abs())))
    return {"y": Wanted(value, 2 * terms * ROUNDOFF * amount)}


def by(function, **options):
    """A kernel's reference: takes the sizes, the inputs by name, and the type of the tensors that are read."""
    rounds = function in (attention, attention_ragged, attention_paged, decode_split)  # something on the way
    return lambda sizes, given, dtype: function(sizes, given, **options, **({"dtype": dtype} if rounds else {}))


REFERENCES = {
    "attention": by(attention), "attention_causal": by(attention, causal=True), "attention_gqa": by(attention),
    "attention_lse": by(attention), "attention_causal_lse": by(attention, causal=True), "attention_bshd": by(attention, sequence_first=True),
    "attention_gqa_causal_bshd": by(attention, causal=True, sequence_first=True), "attention_lengths": by(attention, lengths=True),
    "attention_ragged": by(attention_ragged), "attention_paged": by(attention_paged), "attention_decode_split": by(decode_split),
    "attention_decode_combine": by(decode_combine), "row_softmax": by(row_softmax), "layer_norm": by(norm, centred=True),
    "rms_norm": by(norm, centred=False), "gemm": by(product), "gemm_batched": by(product), "gemm_bias": by(product),
    "gemm_relu": by(product, activation="relu"), "gemm_gelu": by(product, activation="gelu"), "gemm_silu": by(product, activation="silu"),
    "gemm_residual": by(product), "gemm_gated": by(gated), "conv2d_nhwc": by(convolution),
}
