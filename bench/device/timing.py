#!/usr/bin/env python3
"""Times kernels of the library beside cuBLAS and torch in one process, by one protocol, and prints tables.

  python3 bench/device/timing.py --soliton build/bin/soliton
  python3 bench/device/timing.py --soliton dist/soliton-bundle/bin/soliton --only transpose,unaligned --out tables.md
  python3 bench/device/timing.py --prepare images      # on a machine with the compiler
  python3 bench/device/timing.py --images images       # on one with the GPU

Every arm is captured into a CUDA graph of launches that walk through several sets of buffers (250 MB at least, so that no launch
finds its operands in a cache), with random inputs. *burst*: 80 ms idle, then one graph of about 3 ms; median of five rounds in which
the arms take turns, starting with another one each time. *steady*: after 1.5 s of heating 0.3 s unmeasured and 0.3 s timed of each arm,
forwards and backwards. Kernels come from `soliton compile --emit image`, are loaded by the driver and launched on torch's stream; the
result of each arm is compared with torch's in f32 first.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

OPERATIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b, "min": min, "max": max, "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b), "gt": lambda a, b: int(a > b), "ge": lambda a, b: int(a >= b), "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b), "and": lambda a, b: int(bool(a and b)), "or": lambda a, b: int(bool(a or b)),
    "xor": lambda a, b: a ^ b, "shl": lambda a, b: a << b, "shr": lambda a, b: a >> b,
}


def evaluate(text, symbols):
    """The value of a formula of an image: postfix, `s0` is the first symbol."""
    stack = []
    for word in text.split():
        if word == "select":
            otherwise, then, condition = stack.pop(), stack.pop(), stack.pop()
            stack.append(then if condition else otherwise)
        elif word == "not":
            stack.append(int(not stack.pop()))
        elif word in OPERATIONS:
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATIONS[word](left, right))
        else:
            stack.append(symbols[int(word[1:])] if word[0] == "s" else int(word))
    return stack.pop()


def read_image(path):
    """The manifest of an image file and the code of each kernel of its plan."""
    data = open(path, "rb").read()
    manifest_bytes, = struct.unpack_from("<Q", data, 16)
    manifest, code = json.loads(data[40:40 + manifest_bytes]), data[40 + manifest_bytes:]
    further = sum(step["code_bytes"] for step in manifest["further"])
    codes, place = [code[:len(code) - further]], len(code) - further
    for step in manifest["further"]:
        codes.append(code[place:place + step["code_bytes"]])
        place += step["code_bytes"]
    return manifest, codes


class Driver:
    """The few calls of the CUDA driver that a launch needs."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def check(self, status, what):
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{what}: {status} {text.value}")

    def function(self, code, entry, shared):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.cuda.cuModuleLoadData(ctypes.byref(module), code + b"\0"), "cuModuleLoadData of " + entry)
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, entry.encode()), "cuModuleGetFunction of " + entry)
        if shared > 48 * 1024:
            self.check(self.cuda.cuFuncSetAttribute(function, 8, shared), f"{shared} bytes of shared memory")
        return function

    def tensor_map(self, spec, address, symbols):
        """The 128 bytes that a kernel takes for a tensor of which it copies boxes, as soliton/runtime/TensorMaps.h says."""
        types = {"i8": 0, "f8e4m3fn": 0, "f8e5m2": 0, "i16": 1, "i32": 3, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
        room = (ctypes.c_uint8 * 192)()  # aligned to 64 bytes inside
        at = -(-ctypes.addressof(room) // 64) * 64
        rank = len(spec["sizes"])
        sizes = (ctypes.c_uint64 * rank)(*[evaluate(each, symbols) for each in spec["sizes"]])
        strides = (ctypes.c_uint64 * max(rank - 1, 1))(*[evaluate(each, symbols) for each in spec["strides"]])
        box, steps = (ctypes.c_uint32 * rank)(*spec["box"]), (ctypes.c_uint32 * rank)(*[1] * rank)
        self.check(self.cuda.cuTensorMapEncodeTiled(ctypes.c_void_p(at), types[spec["dtype"]], rank, ctypes.c_void_p(address), sizes, strides, box, steps,
                                                    0, {0: 0, 32: 1, 64: 2, 128: 3}[spec["swizzle"]], 2, 0), "cuTensorMapEncodeTiled")
        return (ctypes.c_uint8 * 128).from_buffer(room, at - ctypes.addressof(room))

    def launch(self, function, grid, threads, shared, parameters, stream):
        pointers = (ctypes.c_void_p * len(parameters))(*[ctypes.addressof(each) for each in parameters])
        self.check(self.cuda.cuLaunchKernel(function, *grid, *threads, shared, ctypes.c_void_p(stream), pointers, None), "cuLaunchKernel")


class Compiler:
    """Makes images, or finds them where they were made before."""

    def __init__(self, soliton, folder=""):
        self.soliton, self.folder = soliton, folder
        self.own = None if folder else tempfile.TemporaryDirectory()

    def path(self, words):
        name = "_".join(words).replace("--", "").replace("=", "").replace(",", "-")
        return os.path.join(self.folder or self.own.name, name + ".image")

    def compile(self, words):
        done = subprocess.run([self.soliton, "compile", *words, "--target", "sm_90a", "--emit", "image", "-o", self.path(words)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(" ".join(words) + ": " + done.stderr.strip()[:300])

    def image(self, words):
        if self.own:
            self.compile(words)
        elif not os.path.exists(self.path(words)):
            raise RuntimeError(" ".join(words) + ": was not prepared")
        return read_image(self.path(words))


class Kernel:
    """A compiled kernel: a plan of launches, as soliton/runtime/KernelImage.h says."""

    def __init__(self, driver, compiler, words):
        self.driver = driver
        self.manifest, codes = compiler.image(words)
        self.steps = [self.manifest] + self.manifest["further"]
        self.functions = [driver.function(code, step["entry"], step["dynamic_shared_bytes"]) for code, step in zip(codes, self.steps)]

    def bound(self, tensors):
        """A function that launches the plan for these tensors on torch's current stream."""
        import torch

        symbols = [tensors[s["argument"]].shape[s["dim"]] for s in self.manifest["symbols"]]
        parameters = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
        bytes_needed, workspace = evaluate(self.manifest["workspace"]["bytes"], symbols), None
        if self.manifest["workspace"]["bytes"] != "0":
            workspace = torch.empty(max(bytes_needed, 256), dtype=torch.uint8, device="cuda")
            parameters.append(ctypes.c_void_p(workspace.data_ptr()))
        parameters += [ctypes.c_int32(value) for value in symbols]

        def mapped(spec):
            base = tensors[spec["argument"]].data_ptr() if "argument" in spec else workspace.data_ptr()
            return self.driver.tensor_map(spec, base + evaluate(spec["offset"], symbols), symbols)

        launches = [(function, [evaluate(size, symbols) for size in step["grid"]], step["threads"], step["dynamic_shared_bytes"],
                     parameters + [mapped(spec) for spec in step.get("tensor_maps", [])])
                    for function, step in zip(self.functions, self.steps)]
        launches = [each for each in launches if min(each[1]) > 0]
        kept = (tensors, workspace)

        def run():
            assert kept
            for function, grid, threads, shared, given in launches:
                self.driver.launch(function, grid, threads, shared, given, torch.cuda.current_stream().cuda_stream)

        return run


# --- The protocol ------------------------------------------------------------------------------------------------------------------


def graph_of(functions, launches):
    import torch

    for function in functions:
        function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches):
            functions[i % len(functions)]()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def microseconds(graph, times):
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e3 / times


def measure(arms):
    """{name: (burst, steady)} in microseconds a launch; arms are {name: functions, one per set of buffers}."""
    graphs = {}
    for name, functions in arms.items():
        once = microseconds(graph_of(functions, len(functions)), 3) / len(functions)
        launches = max(len(functions), int(3000 / once))
        graphs[name] = (graph_of(functions, launches), launches)
    burst, steady = {name: [] for name in arms}, {name: [] for name in arms}
    names = list(arms)
    for turn in range(5):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            time.sleep(0.08)
            burst[name].append(microseconds(graphs[name][0], 1) / graphs[name][1])
    until = time.time() + 1.5
    while time.time() < until:
        microseconds(graphs[names[0]][0], 10)
    for order in (names, names[::-1]):
        for name in order:
            graph, launches = graphs[name]
            count = max(1, int(0.3e6 / (burst[name][-1] * launches)))
            microseconds(graph, count)
            steady[name].append(microseconds(graph, count) / launches)
    return {name: (statistics.median(burst[name]), statistics.mean(steady[name])) for name in arms}


def sets_of(make, bytes_each):
    return [make() for _ in range(max(2, -(-250_000_000 // bytes_each)))]


# --- What is timed -----------------------------------------------------------------------------------------------------------------

SQUARE = [("modulo", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64"), ("modulo", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=32,WAVES_M=2,WAVES_N=4"),
          ("modulo", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,WAVES_M=2,WAVES_N=4"), ("cp_async_multistage", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32"),
          ("modulo", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32"), ("prefetch", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64")]


# Matrix instructions of four waves that read shared memory by themselves: instruction, schedule, tiles.
GROUPS = [("F32_64x256x16_F16", schedule, "BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,WAVES_M=8,WAVES_N=1") for schedule in ("prefetch", "modulo")]
GROUPS += [("F32_64x128x16_F16", "prefetch", "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1"),
           ("F32_64x256x16_F16", "prefetch", "BLOCK_M=128,BLOCK_N=256,BLOCK_K=32,WAVES_M=8,WAVES_N=1")]

UNALIGNED = (4095, 4097, 4099)
# What nobody said anything about: sizes, and element types.
AUTO = [(4096, 4096, 4096), (8192, 8192, 8192), (8192, 28672, 4096), (2048, 2048, 2048), (128, 4096, 4096), (16, 4096, 4096), (16, 8192, 8192), UNALIGNED]
AUTO_WORDS = ["--schedule", "auto"]
DIRECT = ["--schedule", "modulo", "--direct-copies", "on"]
ROWS = [("as chosen, 128x128x64", [*DIRECT, "--set", SQUARE[0][1]]), ("as chosen, 128x256x64", [*DIRECT, "--set", SQUARE[2][1]]),
        ("as chosen, 128x128x32", [*DIRECT, "--set", SQUARE[4][1]]),
        ("as chosen, cp_async_multistage, 128x128x32", ["--schedule", "cp_async_multistage", "--set", SQUARE[3][1]]),
        ("as chosen, sizes known at launch, 128x128x32", [*DIRECT, "--set", SQUARE[4][1], "--dynamic", "M,N,K"]),
        ("rows as they are, 128x128x64", ["--schedule", "modulo", "--padded-rows", "off", "--set", SQUARE[0][1]])]
TILES = [("64x64", []), ("64x128", ["--set", "BLOCK_M=64,BLOCK_N=128"]), ("128x64", ["--set", "BLOCK_M=128,BLOCK_N=64"])]
MOVED = 8192


def square_choices():
    return [(f"{s}, direct copies, {'x'.join(v.split('=')[1] for v in tile.split(',')[:3])}", ["--schedule", s, "--direct-copies", "on", "--set", tile])
            for s, tile in SQUARE] + [
        (f"{mma}, {s}, direct copies, {'x'.join(v.split('=')[1] for v in tile.split(',')[:3])}",
         ["--mma", mma, "--schedule", s, "--direct-copies", "on", "--set", tile]) for mma, s, tile in GROUPS]


def gemm_words(m, n, k, words, dtype="f16"):
    return ["gemm", "--dtype", f"{dtype}-{dtype}", "--size", f"M={m},N={n},K={k}", *words]


def move_words(kernel, words):
    return [kernel, "--dtype", "f16", "--size", f"M={MOVED},N={MOVED}", *words]


def prepare(compiler):
    """Compiles everything that is timed; what cannot be is said."""
    all_words = [gemm_words(n, n, n, words) for n in (2048, 4096, 8192) for _, words in square_choices()]
    all_words += [gemm_words(*UNALIGNED, words) for _, words in ROWS]
    all_words += [gemm_words(*size, AUTO_WORDS, dtype) for size in AUTO for dtype in ("f16", "bf16")]
    all_words += [move_words(kernel, words) for kernel in ("copy", "transpose") for _, words in TILES]
    wrong = []

    def one(words):
        try:
            compiler.compile(words)
        except RuntimeError as error:
            wrong.append(str(error))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, all_words))
    print(f"{len(all_words) - len(wrong)} of {len(all_words)} images written")
    for text in wrong:
        print("- " + text)
    return 1 if wrong else 0


def gemm_arms(driver, compiler, m, n, k, choices, problems, dtype="f16"):
    """cuBLAS and ours on the same buffers; results are compared with f32 first."""
    import torch

    element, bound = {"f16": (torch.float16, 2e-3), "bf16": (torch.bfloat16, 1e-2)}[dtype]

    def make():
        a, b = (torch.randn(rows, k, device="cuda", dtype=element) for rows in (m, n))
        return a, b, torch.empty(m, n, device="cuda", dtype=element)

    sets = sets_of(make, 2 * (m * k + n * k + m * n))
    arms = {"cuBLAS": [lambda a=a, b=b, c=c: torch.matmul(a, b.T, out=c) for a, b, c in sets]}
    reference = sets[0][0].float() @ sets[0][1].float().T
    for name, words in choices:
        try:
            kernel = Kernel(driver, compiler, gemm_words(m, n, k, words, dtype))
            functions = [kernel.bound(each) for each in sets]
            sets[0][2].fill_(float("nan"))
            functions[0]()
            torch.cuda.synchronize()
            error = ((sets[0][2].float() - reference).abs().max() / reference.abs().max()).item()
            if not error < bound:
                problems.append(f"{name} at {m}x{n}x{k}: relative error {error}")
                continue
            arms[name] = functions
        except RuntimeError as error:
            problems.append(f"{name} at {m}x{n}x{k}: {error}")
    return arms


def gemm_table(title, arms, flops):
    rows = measure(arms)
    lines = ["", title, "", "| arm | burst us | TFLOP/s | ratio | steady us | TFLOP/s | ratio |", "| --- | --- | --- | --- | --- | --- | --- |"]
    base = rows["cuBLAS"]
    for name, (burst, steady) in rows.items():
        lines.append(f"| {name} | {burst:.1f} | {flops / burst / 1e6:.0f} | {base[0] / burst:.3f} | {steady:.1f} | {flops / steady / 1e6:.0f} | {base[1] / steady:.3f} |")
    return lines


def time_square(driver, compiler, problems):
    lines = []
    for n in (2048, 4096, 8192):
        lines += gemm_table(f"f16 GEMM {n}³ (f16 out)", gemm_arms(driver, compiler, n, n, n, square_choices(), problems), 2.0 * n**3)
    return lines


def time_unaligned(driver, compiler, problems):
    m, n, k = UNALIGNED
    return gemm_table(f"f16 GEMM {m}x{n}x{k} (f16 out): rows that are not aligned", gemm_arms(driver, compiler, m, n, k, ROWS, problems), 2.0 * m * n * k)


def time_auto(driver, compiler, problems):
    """Nothing but the sizes is said."""
    lines = []
    for dtype in ("f16", "bf16"):
        for m, n, k in AUTO:
            arms = gemm_arms(driver, compiler, m, n, k, [("auto", AUTO_WORDS)], problems, dtype)
            lines += gemm_table(f"{dtype} GEMM {m}x{n}x{k} ({dtype} out), `--schedule auto`", arms, 2.0 * m * n * k)
    return lines


def time_transpose(driver, compiler, problems):
    import torch

    n = MOVED
    sets = sets_of(lambda: (torch.randn(n, n, device="cuda", dtype=torch.float16), torch.empty(n, n, device="cuda", dtype=torch.float16)), 4 * n * n)
    arms = {"torch copy_": [lambda a=a, b=b: b.copy_(a) for a, b in sets], "torch transpose": [lambda a=a, b=b: b.copy_(a.T) for a, b in sets]}
    for kernel_name in ("copy", "transpose"):
        for tile, words in TILES:
            try:
                kernel = Kernel(driver, compiler, move_words(kernel_name, words))
                functions = [kernel.bound(each) for each in sets]
                functions[0]()
                torch.cuda.synchronize()
                wanted = sets[0][0] if kernel_name == "copy" else sets[0][0].T
                if not torch.equal(sets[0][1], wanted):
                    problems.append(f"{kernel_name} {tile} is wrong")
                    continue
                arms[f"{kernel_name}, {tile}"] = functions
            except RuntimeError as error:
                problems.append(f"{kernel_name} {tile}: {error}")
    rows = measure(arms)
    copy = min(rows["torch copy_"][0], *[us for name, (us, _) in rows.items() if name.startswith("copy")] or [rows["torch copy_"][0]])
    lines = ["", f"f16 {n}x{n}: bandwidth beside the fastest copy of the same run", "", "| arm | burst us | TB/s | of the copy | steady us |", "| --- | --- | --- | --- | --- |"]
    for name, (burst, steady) in rows.items():
        lines.append(f"| {name} | {burst:.1f} | {4.0 * n * n / burst / 1e6:.2f} | {copy / burst:.3f} | {steady:.1f} |")
    return lines


PARTS = {"auto": time_auto, "transpose": time_transpose, "unaligned": time_unaligned, "square": time_square}


def tables(compiler, only=None):
    """(lines of Markdown, problems)"""
    import torch

    torch.zeros(1, device="cuda")
    driver, lines, problems = Driver(), [], []
    for name in only or PARTS:
        lines += PARTS[name](driver, compiler, problems)
        torch.cuda.empty_cache()
    return lines + [""] + ["- " + problem for problem in problems], problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soliton", default="build/bin/soliton")
    parser.add_argument("--only", default="", help="parts, separated by commas: " + ", ".join(PARTS))
    parser.add_argument("--out", default="", help="also write the tables to this file")
    parser.add_argument("--prepare", default="", help="only compile, into this folder")
    parser.add_argument("--images", default="", help="the folder with what was compiled before")
    arguments = parser.parse_args()
    if arguments.prepare:
        os.makedirs(arguments.prepare, exist_ok=True)
        return prepare(Compiler(arguments.soliton, arguments.prepare))
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch sees no CUDA device")
    except ImportError as error:
        print(f"cannot run here: {error}")
        return 77
    lines, problems = tables(Compiler(arguments.soliton, arguments.images), [part for part in arguments.only.split(",") if part])
    print("\n".join(lines))
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
