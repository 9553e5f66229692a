@tkw.wave(constraints)
def test(
    a: tk1.Memory[M, N, ADDRESS_SPACE, tk1.f16],
    b: tk1.Memory[M, N, ADDRESS_SPACE, tk1.f16],
):
    res = tkw.read(a)
    tkw.write(res, b)
