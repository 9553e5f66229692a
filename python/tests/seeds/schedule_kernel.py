@wave.wave(constraints)
def gemm_prefetch(
    a: Memory[M, K, ADDRESS_SPACE_0, f16],
    b: Memory[K, N, ADDRESS_SPACE_0, f16],
    c: Memory[M, N, ADDRESS_SPACE, f16],
):
    c_reg = Register[M, N, f32](0.0)

    @wave.iterate(K, init_args=[c_reg], tag="k_loop")
    def repeat(acc):
        a_reg = wave.read(a, tag="read_a")
        b_reg = wave.read(b, tag="read_b")
        repeat = wave.mma(a_reg, b_reg, acc, tag="mma")
        return repeat

    wave.write(repeat, c)
