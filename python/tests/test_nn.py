"""Modules of torch over Wave's kernels."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-torch`")
pytest.importorskip("sympy")

import soliton.compat  # noqa: E402

soliton.compat.install()


@pytest.fixture(autouse=True)
def on_gfx942(monkeypatch):
    monkeypatch.setenv("SOLITON_TARGET", "gfx942")
    torch.manual_seed(0)


@pytest.mark.parametrize("bias", [True, False])
def test_linear(bias):
    from wave_lang.kernel.wave.nn import WaveLinear

    layer, x = WaveLinear(48, 70, bias=bias), torch.randn(2, 3, 20, 48).half()
    wanted = torch.nn.functional.linear(x.float(), layer.weight.float(), layer.bias.float() if bias else None)
    torch.testing.assert_close(layer(x).float(), wanted, atol=2e-3, rtol=1e-3)
    assert f"bias={bias}" in repr(layer)
    with pytest.raises(ValueError, match="float32"):
        WaveLinear(4, 4, dtype=torch.float32)


def test_quantised_linear():
    from wave_lang.kernel.wave.nn import WaveQuantLinear

    eight = torch.float8_e4m3fnuz
    params = {"weight_scale": torch.tensor(0.01), "weight_scale_shape": [], "input_scale": torch.tensor(0.02), "input_scale_shape": [], "qdtype": eight}
    layer, x = WaveQuantLinear(64, 128, params), torch.randn(3, 20, 64).half()

    def rounded(tensor, scale):
        return (tensor.float() / scale).clamp(-240, 240).to(eight).float() * scale

    wanted = rounded(x, 0.02) @ rounded(layer.weight, 0.01).T + layer.bias.float()
    torch.testing.assert_close(layer(x).float(), wanted, atol=2e-3, rtol=1e-3)


def test_attention():
    from wave_lang.kernel.wave.nn.functional import wave_sdpa, wave_sdpa_fp8

    q, k, v = (torch.randn(2, 3, 40, 32).half() for _ in range(3))
    wanted = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
    torch.testing.assert_close(wave_sdpa(q, k, v, is_causal=True), wanted, atol=2e-3, rtol=1e-2)
    q, k, v = (torch.randint(-4, 5, (2, 3, 64, 64)).half() for _ in range(3))
    wanted = torch.nn.functional.scaled_dot_product_attention(q.float() / 2, k.float() / 2, v.float() / 4)
    assert (wave_sdpa_fp8(q, k, v, 0.5, 0.5, 0.25) - wanted).square().mean().sqrt() < 0.01
    with pytest.raises(ValueError, match="have to be the same"):
        wave_sdpa(q, k[:1], v)
