"""Neighbours that form a cluster and copy tiles to each other, beside workgroups that copy for themselves: products under `auto`."""
from sections import gemm

SIZES = [(4096, 4096, 4096), (8192, 8192, 8192), (8192, 28672, 4096)]
AUTO = ["--schedule", "auto"]
SERVED = [*AUTO, "--service-waves", "4"]
WAYS = [("auto", AUTO), ("service waves", SERVED), *((f"service waves, clusters {along}", [*SERVED, "--workgroups-per-cluster", along]) for along in ("2", "1x2", "4")),
        ("clusters 2", [*AUTO, "--workgroups-per-cluster", "2"])]


class Clusters:
    @staticmethod
    def wanted():
        return [gemm.words_of(*size, words, dtype) for size in SIZES for dtype in ("f16", "bf16") for _, words in WAYS]

    @staticmethod
    def tables(bench):
        return [gemm.table(bench, "{} GEMM {}x{}x{} ({} out), who copies what neighbours have in common".format(dtype, *size, dtype), size, WAYS, dtype)
                for dtype in ("f16", "bf16") for size in SIZES]
