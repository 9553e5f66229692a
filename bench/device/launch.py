"""Images of compiled kernels, loaded by the CUDA driver and launched on torch's stream.

    kernel = Kernel(Driver(), Compiler("build/bin/soliton"), ["copy", "--dtype", "f16", "--size", "M=64,N=64"])
    kernel.bound([a, b])()                 # launches the plan of the image for these tensors
    Compiler("build/bin/soliton", "images").compile([...])      # only writes the image, which another machine finds there
"""
import ctypes
import hashlib
import json
import os
import struct
import subprocess
import tempfile

# Of a file, with room for an ending.
LONGEST_NAME = 200

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


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("threads", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint)]


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
        swizzle = {0: 0, 32: 1, 64: 2, 128: 3}[spec["swizzle"]]
        steps = (ctypes.c_uint32 * rank)(*([1, *spec["steps"], 1] if "steps" in spec else [1] * rank))
        if "lower" in spec:
            lower, upper = ((ctypes.c_int * (rank - 2))(*spec[name]) for name in ("lower", "upper"))
            self.check(self.cuda.cuTensorMapEncodeIm2col(ctypes.c_void_p(at), types[spec["dtype"]], rank, ctypes.c_void_p(address), sizes, strides, lower, upper,
                                                         *spec["box"], steps, 0, swizzle, 2, 0), "cuTensorMapEncodeIm2col")
            return (ctypes.c_uint8 * 128).from_buffer(room, at - ctypes.addressof(room))
        box = (ctypes.c_uint32 * rank)(*spec["box"])
        self.check(self.cuda.cuTensorMapEncodeTiled(ctypes.c_void_p(at), types[spec["dtype"]], rank, ctypes.c_void_p(address), sizes, strides, box, steps,
                                                    0, swizzle, 2, 0), "cuTensorMapEncodeTiled")
        return (ctypes.c_uint8 * 128).from_buffer(room, at - ctypes.addressof(room))

    def launch(self, step, function, grid, parameters, stream, may_begin_early=True):
        """One kernel of a plan, with its cluster, and before what is ahead of it has ended where it waits for that itself."""
        pointers = (ctypes.c_void_p * len(parameters))(*[ctypes.addressof(each) for each in parameters])
        attributes, count = (LaunchAttribute * 2)(), 0
        if step["cluster"] != [1, 1, 1]:
            attributes[count].id, attributes[count].value[:3] = 4, step["cluster"]
            count += 1
        if step["dependent"] and may_begin_early:
            attributes[count].id, attributes[count].value[0] = 6, 1
            count += 1
        config = LaunchConfig((ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*step["threads"]), step["dynamic_shared_bytes"], stream, attributes, count)
        self.check(self.cuda.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None), "cuLaunchKernelEx of " + step["entry"])

    def zero(self, address, size, stream):
        self.check(self.cuda.cuMemsetD8Async(ctypes.c_void_p(address), ctypes.c_ubyte(0), ctypes.c_size_t(size), ctypes.c_void_p(stream)), "cuMemsetD8Async")


class Compiler:
    """Makes images, or finds them where they were made before."""

    def __init__(self, soliton, folder=""):
        self.soliton, self.folder = soliton, folder
        self.own = None if folder else tempfile.TemporaryDirectory()

    def path(self, words):
        name = "_".join(words).replace("--", "").replace("=", "").replace(",", "-")
        if len(name) > LONGEST_NAME:
            name = name[:LONGEST_NAME] + hashlib.sha256(name.encode()).hexdigest()[:16]
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

    def bound(self, arguments):
        """A function that launches the plan on torch's current stream for these tensors and scalars (values of ctypes)."""
        import torch

        symbols = [arguments[s["argument"]].shape[s["dim"]] * s.get("factor", 1) - s.get("less", 0) for s in self.manifest["symbols"]]
        scalars = [each for each in arguments if isinstance(each, ctypes._SimpleCData)]
        parameters = [ctypes.c_void_p(each.data_ptr()) for each in arguments if not isinstance(each, ctypes._SimpleCData)]
        workspace, zeroed = None, []
        if self.manifest["workspace"]["bytes"] != "0":
            workspace = torch.empty(max(evaluate(self.manifest["workspace"]["bytes"], symbols), 256), dtype=torch.uint8, device="cuda")
            parameters.append(ctypes.c_void_p(workspace.data_ptr()))
            zeroed = [(workspace.data_ptr() + evaluate(offset, symbols), evaluate(size, symbols)) for offset, size in self.manifest["workspace"]["zeroed"]]
        parameters += scalars + [ctypes.c_int32(value) for value in symbols]

        def mapped(spec):
            base = arguments[spec["argument"]].data_ptr() if "argument" in spec else workspace.data_ptr()
            return self.driver.tensor_map(spec, base + evaluate(spec["offset"], symbols), symbols)

        launches = [(step, function, [evaluate(size, symbols) for size in step["grid"]], parameters + [mapped(spec) for spec in step.get("tensor_maps", [])])
                    for function, step in zip(self.functions, self.steps)]
        launches = [each for each in launches if min(each[2]) > 0]
        kept = (arguments, workspace)

        def run():
            assert kept
            stream = torch.cuda.current_stream().cuda_stream
            for address, size in zeroed:
                self.driver.zero(address, size, stream)
            for number, (step, function, grid, given) in enumerate(launches):
                # Behind a fill, which is no kernel, a launch begins when that has ended.
                self.driver.launch(step, function, grid, given, stream, may_begin_early=number > 0 or not zeroed)

        return run
