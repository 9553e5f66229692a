constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0)]
constraints += [tkw.WorkgroupConstraint(N, BLOCK_N, 1)]
constraints += [tkw.TilingConstraint(K, BLOCK_K)]
constraints += [tkw.WaveConstraint(M, BLOCK_M / 2)]
constraints += [tkw.WaveConstraint(N, BLOCK_N / 2)]

constraints += [tkw.HardwareConstraint(threads_per_wave=64, mma_type=F32_16x16x16_F16)]

if dynamic_dims:
    constraints += [tkw.Assumption(K > BLOCK_K * 4)]

@tkw.wave(constraints)
def gemm(
    a: tk1.Memory[M, K, ADDRESS_SPACE, tk1.f16],
    b: tk1.Memory[N, K, ADDRESS_SPACE, tk1.f16],
    c: tk1.Memory[M, N, GLOBAL_ADDRESS_SPACE, tk1.f32],
):
    c_reg = tk1.Register[M, N, tk1.f32](0.0)
    @tkw.reduction(K, init_args=[c_reg])
    def repeat(acc: tk1.Register[M, N, tk1.f32]) -> tk1.Register[M, N, tk1.f32]:
        a_reg = tkw.read(a)
        b_reg = tkw.read(b)
        acc = tkw.mma(a_reg, b_reg, acc)
        return acc

    tkw.write(repeat, c)
