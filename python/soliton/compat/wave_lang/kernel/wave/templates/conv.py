"""Convolution as a matrix product of windows and filters, without storing the windows.

    conv, hyperparams = get_igemm_conv2d("nhwc_hwcf", n, h, w, c, hf, wf, nf, stride, tkl.f16, tkl.f32)
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE

N, C, H, W, NF, HF, WF = (getattr(tkl.sym, name) for name in "N C H W NF HF WF".split())
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE


def get_igemm_conv2d(
    layout,
    n,
    h,
    w,
    c,
    hf,
    wf,
    nf,
    stride,
    input_dtype,
    output_dtype,
    mem_space=SHARED_ADDRESS_SPACE,
    block_m=None,
    block_n=None,
    block_k=None,
    ratio_m=None,
    ratio_n=None,
):
    """conv(x, we, out) for images and filters `nchw_fchw` or `nhwc_hwcf`; nothing is padded."""
    H_OUT, W_OUT = (H - HF) // stride + 1, (W - WF) // stride + 1
    # A row of the product is a place of an image, its K the window there, channels fastest.
    M, K, area = N * (H_OUT * W_OUT), HF * WF * C, H_OUT * W_OUT
    m, k, f = tkl.sym.m, tkl.sym.k, tkl.sym.f
    image, row, column = m // area, m % area // W_OUT, m % area % W_OUT
    down, right, channel = k // C // WF, k // C % WF, k % C
    places = {
        "nchw_fchw": ((N, C, H, W), (NF, C, HF, WF), (N, NF, H_OUT, W_OUT)),
        "nhwc_hwcf": ((N, H, W, C), (HF, WF, C, NF), (N, H_OUT, W_OUT, NF)),
    }
    if layout not in places:
        raise ValueError(f"the layout is one of {', '.join(places)}, found {layout}")
    x_dims, we_dims, out_dims = places[layout]
    in_x = {N: image, H: row * stride + down, W: column * stride + right, C: channel}
    in_we = {NF: f, HF: down, WF: right, C: channel}
    out_places = (image, f, row, column) if layout == "nchw_fchw" else (image, row, column, f)
    x_type = tkl.Memory[(*x_dims,), ADDRESS_SPACE, input_dtype]
    we_type = tkl.Memory[(*we_dims,), ADDRESS_SPACE, input_dtype]
    out_type = tkl.Memory[(*out_dims,), GLOBAL_ADDRESS_SPACE, output_dtype]
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(NF, BLOCK_N, 0),
        tkw.WaveConstraint(M, BLOCK_M / (ratio_m or 2)),
        tkw.WaveConstraint(NF, BLOCK_N / (ratio_n or 2)),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16),
        tkw.IteratorBindings({m: M, k: K, f: NF}),
    ]

    @tkw.wave(constraints)
    def conv(x: x_type, we: we_type, out: out_type):
        @tkw.iterate(K, init_args=[tkl.Register[M, NF, tkl.f32](0.0)])
        def repeat(acc):
            window = tkw.read(x, source=tuple(in_x[dim] for dim in x_dims), target=(m, k))
            filters = tkw.read(we, source=tuple(in_we[dim] for dim in we_dims), target=(f, k))
            return tkw.mma(window, filters, acc)

        tkw.write(tkw.cast(repeat, output_dtype), out, source=(m, f), target=out_places)

    symbols = {N: n, H: h, W: w, C: c, HF: hf, WF: wf, NF: nf, ADDRESS_SPACE: mem_space}
    return conv, symbols | {BLOCK_M: block_m or 64, BLOCK_N: block_n or 128, BLOCK_K: block_k or 32}
