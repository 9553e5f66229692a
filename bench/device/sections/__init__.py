"""What is timed: one file per family. A section is a class with

    wanted()        the compiler's words for each image that it needs
    tables(bench)   its tables; makes arms with `bench.arm`, measures them with `bench.measure` (arms.py)

and a name here, which `--only` takes.
"""
from sections import attention, clusters, conv, decode, dependent, eight_bit, gemm, moves, overlap, rows, stores

SECTIONS = {"auto": gemm.Auto, "few": gemm.FewRows, "f8": eight_bit.EightBit, "transpose": moves.Transpose, "unaligned": gemm.Unaligned,
            "square": gemm.Square, "pipelines": gemm.Pipelines, "attention": attention.Attention, "decode": decode.Decode, "rows": rows.Rows,
            "conv": conv.Convolution, "stores": stores.Stores, "clusters": clusters.Clusters,
            "dependent": dependent.Dependent, "overlap": overlap.Overlap}
