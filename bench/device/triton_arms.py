"""Kernels in Triton, written as its users write them: a matrix product, attention forward, a row softmax. Arms beside ours where Triton is.

    if TRITON:                                      # otherwise WHY_NOT says what is missing
        matmul(a, b, c)                             c[M, N] = a[M, K] · b[N, K]ᵀ
        attention(q, k, v, o, scale, causal)        tensors [B, H, S, D]
        softmax(a, b)                               along the rows

Tiles, waves and stages are picked by Triton's own tuner from the lists below when a size is first met, before anything is timed.
"""
try:
    import triton
    import triton.language as tl

    TRITON, WHY_NOT = True, ""
except ImportError as error:
    TRITON, WHY_NOT = False, f"Triton is not installed: {error}"

if TRITON:
    PRODUCTS = [triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": 8}, num_warps=warps, num_stages=stages)
                for m, n, k, warps, stages in ((128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 4, 4),
                                               (64, 128, 64, 4, 4), (16, 64, 128, 4, 5))]
    ATTENTION = [triton.Config({"BM": m, "BN": n}, num_warps=warps, num_stages=stages)
                 for m, n, warps, stages in ((128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3))]

    @triton.autotune(configs=PRODUCTS, key=["M", "N", "K"])
    @triton.jit
    def product_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, WHOLE_K: tl.constexpr):
        # Programs take tiles in bands of GROUP rows of tiles, so that what they read stays in the cache.
        number, rows, columns = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
        band = number // (GROUP * columns)
        height = min(rows - band * GROUP, GROUP)
        row = band * GROUP + number % (GROUP * columns) % height
        column = number % (GROUP * columns) // height
        m, n, k = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
        left = a + (m % M)[:, None] * K + k[None, :]
        right = b + (n % N)[None, :] * K + k[:, None]
        sums = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(0, tl.cdiv(K, BK)):
            if WHOLE_K:
                x, y = tl.load(left), tl.load(right)
            else:
                x = tl.load(left, mask=k[None, :] < K - step * BK, other=0.0)
                y = tl.load(right, mask=k[:, None] < K - step * BK, other=0.0)
            sums = tl.dot(x, y, sums)
            left += BK
            right += BK
        tl.store(c + m[:, None] * N + n[None, :], sums.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))

    def matmul(a, b, c):
        (m, k), n = a.shape, b.shape[0]
        product_kernel[lambda chosen: (triton.cdiv(m, chosen["BM"]) * triton.cdiv(n, chosen["BN"]),)](a, b, c, m, n, k, WHOLE_K=k % 128 == 0)

    @triton.jit
    def attend(sums, total, largest, q, keys, values, first, last, m, S, factor, D: tl.constexpr, BN: tl.constexpr, MASKED: tl.constexpr):
        """Keys from `first` on, before `last`; `masked` where a query may not see all of them."""
        columns, depth = tl.arange(0, BN), tl.arange(0, D)
        for start in range(first, last, BN):
            start = tl.multiple_of(start, BN)
            k = tl.load(keys + (start + columns)[None, :] * D + depth[:, None])
            scores = tl.dot(q, k) * factor
            if MASKED:
                scores = tl.where(m[:, None] >= (start + columns)[None, :], scores, float("-inf"))
            above = tl.maximum(largest, tl.max(scores, 1))
            weights, shrink = tl.math.exp2(scores - above[:, None]), tl.math.exp2(largest - above)
            v = tl.load(values + (start + columns)[:, None] * D + depth[None, :])
            total = total * shrink + tl.sum(weights, 1)
            sums = tl.dot(weights.to(v.dtype), v, sums * shrink[:, None])
            largest = above
        return sums, total, largest

    @triton.autotune(configs=ATTENTION, key=["S", "D", "CAUSAL"])
    @triton.jit
    def attention_kernel(q, k, v, o, factor, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
        place = tl.program_id(1).to(tl.int64) * S * D
        row = tl.program_id(0)
        m, depth = row * BM + tl.arange(0, BM), tl.arange(0, D)
        queries = tl.load(q + place + m[:, None] * D + depth[None, :])
        sums, total = tl.zeros((BM, D), dtype=tl.float32), tl.zeros((BM,), dtype=tl.float32)
        largest = tl.full((BM,), float("-inf"), dtype=tl.float32)
        if CAUSAL:
            sums, total, largest = attend(sums, total, largest, queries, k + place, v + place, 0, row * BM, m, S, factor, D, BN, False)
            sums, total, largest = attend(sums, total, largest, queries, k + place, v + place, row * BM, (row + 1) * BM, m, S, factor, D, BN, True)
        else:
            sums, total, largest = attend(sums, total, largest, queries, k + place, v + place, 0, S, m, S, factor, D, BN, False)
        tl.store(o + place + m[:, None] * D + depth[None, :], (sums / total[:, None]).to(o.dtype.element_ty))

    def attention(q, k, v, o, scale, causal):
        """As many keys as queries, in whole tiles of 128."""
        b, h, s, d = q.shape
        attention_kernel[lambda chosen: (s // chosen["BM"], b * h)](q, k, v, o, scale * 1.4426950408889634, s, d, CAUSAL=causal)

    @triton.jit
    def softmax_kernel(a, b, N, COLUMNS: tl.constexpr):
        row, columns = tl.program_id(0).to(tl.int64), tl.arange(0, COLUMNS)
        x = tl.load(a + row * N + columns, mask=columns < N, other=float("-inf")).to(tl.float32)
        weights = tl.exp(x - tl.max(x, 0))
        tl.store(b + row * N + columns, (weights / tl.sum(weights, 0)).to(b.dtype.element_ty), mask=columns < N)

    def softmax(a, b):
        columns = triton.next_power_of_2(a.shape[1])
        softmax_kernel[(a.shape[0],)](a, b, a.shape[1], COLUMNS=columns, num_warps=4 if columns <= 2048 else 8 if columns <= 4096 else 16)
