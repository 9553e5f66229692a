@tkw.wave(constraints)
def conv(
    x: tk1.Memory[N, H, W, C, ADDRESS_SPACE, tk1.f16],
    we: tk1.Memory[HF, WF, C, NF, ADDRESS_SPACE, tk1.f16],
    out: tk1.Memory[N, H_OUT, W_OUT, NF, GLOBAL_ADDRESS_SPACE, tk1.f32],
):
    c_reg = tk1.Register[M, NF, tk1.f32](0.0)

    @tkw.reduction(K, init_args=[c_reg])
    def repeat(acc: tk1.Register[M, NF, tk1.f32]) -> tk1.Register[M, NF, tk1.f32]:
        a_reg = tkw.read(x, mapping=x_mapping)
        b_reg = tkw.read(we, mapping=w_mapping)
        acc = tkw.mma(a_reg, b_reg, acc)
        return acc

    tkw.write(repeat, out, mapping=out_mapping)
