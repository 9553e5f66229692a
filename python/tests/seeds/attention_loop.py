@tkw.reduction(K2, init_args=[init_max, init_sum, c_reg])
def repeat(
    partial_max: tk1.Register[B, M, tk1.f32],
    partial_sum: tk1.Register[B, M, tk1.f32],
    acc: tk1.Register[B, N, M, tk1.f32],
):
    imm_reg = tk1.Register[B, K2, M, tk1.f32](0.0)
    q_reg = tkw.read(q)
    k_reg = tkw.read(k)
    inner_acc = tkw.mma(k_reg, q_reg, imm_reg, mfma_variant[0])
    x_j = tkw.permute(inner_acc, target_shape=[B, M, K2])
    k2_index = tkw.self_index(K2, tk1.i64)
    mask = tkw.apply_expr(k2_index, lambda x: x < K2)
    mask = tkw.broadcast(mask, target_shape=[M, K2])
    mask = tkw.cast(mask, tkw.i1)
    bias = tkw.select(mask, ZERO, MIN_INF)
    x_j = x_j + bias
    m_j = tkw.max(x_j, partial_max, dim=K2)
    e_delta_max = tkw.exp2(partial_max - m_j)
    e_delta = tkw.exp2(x_j - m_j)
    e_init = partial_sum * e_delta_max
    d_j = tkw.sum(e_delta, e_init, dim=K2)
    imm_f16 = tkw.cast(e_delta, tk1.f16)
    v_reg = tkw.read(v, mapping=v_mapping)
    new_acc = acc * e_delta_max
    acc = tkw.mma(v_reg, imm_f16, new_acc)
    return m_j, d_j, acc
