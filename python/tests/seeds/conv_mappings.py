i = tkw.IndexMapping.iterator(0)
j = tkw.IndexMapping.iterator(1)
x_mapping = tkw.IndexMapping(
    num_iterators=2,
    inputs={
        N: i // SZ_OUT,
        C: j % C,
        H: (i % SZ_OUT) % W_OUT * stride + (j // C) % WF,
        W: (i % SZ_OUT) // W_OUT * stride + (j // C) // WF,
    },
    outputs={M: i, K: j},
)
w_mapping = tkw.IndexMapping(
    num_iterators=2,
    inputs={NF: i % NF, C: j % C, HF: (j // C) % WF, WF: (j // C) // WF},
    outputs={NF: i, K: j},
)
