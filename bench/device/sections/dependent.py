"""Chains of small products, each of which multiplies what the one before it wrote: launches that begin when those ahead have ended, and
launches that begin before, with their weights waited for or not."""
from arms import difference, run_all
from launch import Kernel
from protocol import ROTATED_BYTES
from report import Table
from sections.gemm import words_of

# Rows, and columns of every link.
CHAINS = [(1, 4096), (16, 2048), (16, 4096), (64, 4096), (16, 8192), (128, 4096)]
EARLY = ["--dependent-launch", "on"]
STABLE = [*EARLY, "--stable", "b"]
# Two workgroups in a compute unit: without room for it the next launch's comes when ours ends.
WAYS = [("one after the other", []), ("begun early", EARLY), ("begun early, stable weights", STABLE),
        ("begun early, stable weights, room for two", [*STABLE, "--workgroups-per-unit", "2"]), ("room for two", ["--workgroups-per-unit", "2"])]


def links_of(n):
    """As many as no cache holds the weights of, and four at least; an even number, so that two buffers take turns."""
    return max(4, 2 * -(-ROTATED_BYTES // (4 * n * n)))


def table(bench, m, n):
    """cuBLAS and ours; a launch is a link. The chain's result is compared with one in f32."""
    import torch

    weights = [torch.randn(n, n, device="cuda", dtype=torch.float16) / n**0.5 for _ in range(links_of(n))]
    given = torch.randn(m, n, device="cuda", dtype=torch.float16)
    turns = [given.clone(), torch.empty_like(given)]
    wanted = given.float()
    for each in weights:
        wanted = (wanted @ each.float().T).half().float()

    def again():
        turns[0].copy_(given)
        turns[1].fill_(float("nan"))

    arms = {"cuBLAS": [lambda i=i, b=b: torch.matmul(turns[i % 2], b.T, out=turns[1 - i % 2]) for i, b in enumerate(weights)]}
    for name, words in WAYS:
        try:
            kernel = Kernel(bench.driver, bench.compiler, words_of(m, n, n, ["--schedule", "auto", *words]))
            functions = [kernel.bound([turns[i % 2], b, turns[1 - i % 2]]) for i, b in enumerate(weights)]
            again()
            run_all(functions)
            torch.cuda.synchronize()
            wrong = difference(turns[0], wanted, 1e-2)
        except RuntimeError as error:
            wrong = str(error)
        if wrong:
            bench.problems.append(f"{name}: {wrong}")
        else:
            arms[name] = functions
    again()
    return Table(f"f16 chain of GEMM {m}x{n}x{n}, a link", ("cuBLAS",), 2.0 * m * n * n, "TFLOP/s", bench.measure(arms))


class Dependent:
    @staticmethod
    def wanted():
        return [words_of(m, n, n, ["--schedule", "auto", *words]) for m, n in CHAINS for _, words in WAYS]

    @staticmethod
    def tables(bench):
        return [table(bench, *chain) for chain in CHAINS]
