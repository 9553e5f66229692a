"""What bench/device compares kernels on a GPU with: equal to torch's own in f64, bounds that hold torch's f32 and no mistake."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-torch`")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "device"))
from chains import difference, starts_of  # noqa: E402
from references import REFERENCES  # noqa: E402

SIZES = {"B": 2, "H": 6, "Q": 77, "KV": 131, "D": 64}


def given(heads, sequence_first=False, queries=77, keys=131):
    torch.manual_seed(1)

    def one(h, n):
        return torch.randn((2, n, h, 64) if sequence_first else (2, h, n, 64)).half()

    return {"q": one(6, queries), "k": one(heads, keys), "v": one(heads, keys), "scale": 0.125}


def torchs(tensors, causal, sequence_first, element):
    q, k, v = (tensors[name].transpose(1, 2) if sequence_first else tensors[name] for name in ("q", "k", "v"))
    k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], 1) for each in (k, v))
    o = torch.nn.functional.scaled_dot_product_attention(*(each.to(element) for each in (q, k, v)), is_causal=causal, scale=0.125)
    return o.transpose(1, 2) if sequence_first else o


@pytest.mark.parametrize("name", ["attention", "attention_causal", "attention_gqa", "attention_bshd", "attention_gqa_causal_bshd", "attention_lse"])
def test_attention_is_torchs(name):
    causal, first = "causal" in name, "bshd" in name
    tensors = given(2 if "gqa" in name else 6, first)
    wanted = REFERENCES[name](SIZES, tensors, "f16")["o"]
    assert (wanted.value - torchs(tensors, causal, first, torch.float64)).abs().max() < 1e-12
    rounded = torchs(tensors, causal, first, torch.float32).half()
    assert difference(rounded, wanted, "f16") is None
    rounded.view(-1)[5] += 0.02
    assert "1 of" in difference(rounded, wanted, "f16")
    rounded.view(-1)[5] = float("nan")
    assert "element 5 is nan" in difference(rounded, wanted, "f16")


def test_log_sum_exp():
    tensors = given(6)
    scores = 0.125 * tensors["q"].double() @ tensors["k"].double().mT
    wanted = REFERENCES["attention_lse"](SIZES, tensors, "f16")["lse"]
    assert (wanted.value - torch.logsumexp(scores, -1)).abs().max() < 1e-12


def test_no_keys_are_zeros_and_one_key_is_its_value():
    tensors = given(6) | {"lengths": torch.tensor([0, 1])}
    o = REFERENCES["attention_lengths"](SIZES, tensors, "f16")["o"].value
    assert o[0].abs().max() == 0
    assert torch.equal(o[1], tensors["v"][1][:, :1].double().expand_as(o[1]))


def test_packed_sequences_are_those_alone():
    torch.manual_seed(1)
    q, k, v = torch.randn(20, 2, 64).half(), torch.randn(30, 1, 64).half(), torch.randn(30, 1, 64).half()
    starts, key_starts = starts_of(20, 4), starts_of(30, 4)
    assert starts[1] == starts[2], "one of them is empty"
    tensors = {"q": q, "k": k, "v": v, "scale": 0.125, "q_starts": torch.tensor(starts), "k_starts": torch.tensor(key_starts)}
    o = REFERENCES["attention_ragged"]({"B": 4}, tensors, "f16")["o"].value
    rows, keys = slice(starts[2], starts[3]), slice(key_starts[2], key_starts[3])
    count = starts[3] - starts[2]
    # The last query sees the last key, those before fewer.
    mask = torch.arange(key_starts[3] - key_starts[2]) <= torch.arange(count)[:, None] + (key_starts[3] - key_starts[2]) - count
    alone = torch.nn.functional.scaled_dot_product_attention(
        q[rows].transpose(0, 1).double(), *(each[keys].transpose(0, 1).double().expand(2, -1, -1) for each in (k, v)), attn_mask=mask, scale=0.125)
    assert (o[rows] - alone.transpose(0, 1)).abs().max() < 1e-12


def test_pages_are_the_keys_in_another_order():
    tensors = given(2, queries=5, keys=96)
    pages = {name: torch.zeros(9, 2, 32, 64).half() for name in ("k", "v")}
    table = torch.tensor([[8, 0, 3], [1, 7, 2]])
    for sequence in range(2):
        for place, page in enumerate(table[sequence].tolist()):
            for name in ("k", "v"):
                pages[name][page] = tensors[name][sequence, :, 32 * place:32 * place + 32]
    lengths = {"lengths": torch.tensor([96, 40])}
    sizes = {"B": 2, "KV": 90}
    paged = REFERENCES["attention_paged"](sizes, tensors | pages | {"table": table} | lengths, "f16")["o"].value
    dense = REFERENCES["attention_lengths"](sizes, tensors | {name: tensors[name][:, :, :90] for name in ("k", "v")} | lengths, "f16")["o"].value
    assert torch.equal(paged, dense)


def test_parts_of_a_decode_put_together_are_the_whole():
    torch.manual_seed(1)
    sizes = {"B": 3, "H_KV": 2, "GROUP": 4, "SPLITS": 5, "KV": 37, "D": 64}
    q, k, v = torch.randn(3, 2, 4, 64).half(), torch.randn(3, 2, 37, 64).half(), torch.randn(3, 2, 37, 64).half()
    tensors = {"q": q, "k": k, "v": v, "scale": 0.125, "lengths": torch.tensor([37, 20, 1])}
    split = REFERENCES["attention_decode_split"](sizes, tensors, "f16")
    assert split["lse"].value[2, 1:].max() < -9e29, "parts without keys"
    parts = {"part": split["part"].value.flatten(2, 3), "lse": split["lse"].value.flatten(2, 3)}
    whole = REFERENCES["attention_decode_combine"](sizes, parts, "f16")["o"].value.unflatten(1, (2, 4))
    for sequence, keys in enumerate((37, 20, 1)):
        scores = 0.125 * q[sequence].double() @ k[sequence, :, :keys].double().mT
        assert (whole[sequence] - torch.softmax(scores, -1) @ v[sequence, :, :keys].double()).abs().max() < 1e-12


def test_rows_and_products():
    torch.manual_seed(1)
    a, weight, shift = torch.randn(5, 1031).half(), torch.randn(1031).half(), torch.randn(1031).half()
    tensors = {"a": a, "weight": weight, "shift": shift, "epsilon": 1e-5}
    layer = torch.nn.functional.layer_norm(a.double(), (1031,), weight.double(), shift.double(), 1e-5)
    assert (REFERENCES["layer_norm"]({}, tensors, "f16")["b"].value - layer).abs().max() < 1e-12
    rms = torch.nn.functional.rms_norm(a.double(), (1031,), weight.double(), 1e-5)
    assert (REFERENCES["rms_norm"]({}, tensors, "f16")["b"].value - rms).abs().max() < 1e-12
    x, y, bias = torch.randn(8, 16).half(), torch.randn(4, 16).half(), torch.randn(4).half()
    product = torch.nn.functional.silu(x.double() @ y.double().T + bias.double())
    assert (REFERENCES["gemm_silu"]({}, {"a": x, "b": y, "bias": bias}, "f16")["c"].value - product).abs().max() < 1e-12


@pytest.mark.parametrize("stride, pad, dilation", [(1, 1, 1), (2, 1, 1), (1, 2, 2)])
def test_convolution_is_torchs(stride, pad, dilation):
    torch.manual_seed(1)
    x, w = torch.randn(2, 17, 13, 5).half(), torch.randn(7, 3, 3, 5).half()
    wanted = REFERENCES["conv2d_nhwc"]({"STRIDE": stride, "PAD": pad, "DILATION": dilation}, {"x": x, "w": w}, "f16")["y"]
    own = torch.nn.functional.conv2d(x.double().permute(0, 3, 1, 2), w.double().permute(0, 3, 1, 2), stride=stride, padding=pad, dilation=dilation)
    assert (wanted.value - own.permute(0, 2, 3, 1)).abs().max() < 1e-11
