"""Who may include whom: the layer table as data, in the order in which a kernel travels.

    from layers import LAYERS            # LAYERS["layout"].may_include == ("support", "symbolic")

check_layering.py enforces it, gen_docs.py prints it into docs/architecture.md.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Layer:
    what: str
    may_include: tuple[str, ...]
    mlir: bool


LAYERS = {
    "support": Layer("strong types, diagnostics with ids and places, number formats", (), False),
    "symbolic": Layer("the integer algebra of index expressions", ("support",), False),
    "layout": Layer("who holds which element; address maps of shared memory", ("support", "symbolic"), False),
    "target": Layer("one table per chip: waves, memories, matrix instructions, counters", ("support", "layout"), False),
    "schedule": Layer("problems, schedules, their verifier and the algorithms", ("support", "target"), False),
    "display": Layer(
        "what schedules and layouts look like: tables, pages, pictures, traces",
        ("support", "layout", "target", "schedule"),
        False,
    ),
    "authoring": Layer(
        "what an author says about a schedule: in C++, in files, by name", ("support", "target", "schedule"), False
    ),
    "pipeline": Layer(
        "declarative software pipelines, alone and on a kernel's loop",
        ("support", "target", "schedule", "authoring"),
        False,
    ),
    "ir": Layer("the `wave` and `machine` dialects and the forms", ("support", "symbolic", "layout"), True),
    "frontend": Layer(
        "the kernel language: symbols, constraints, operations, tracing",
        ("support", "symbolic", "layout", "target", "ir"),
        True,
    ),
    "analysis": Layer(
        "read-only facts about programs", ("support", "symbolic", "layout", "target", "schedule", "ir"), True
    ),
    "transforms": Layer(
        "wave to wave and to the machine form, one pass a file",
        ("support", "symbolic", "layout", "target", "schedule", "authoring", "pipeline", "ir", "analysis"),
        True,
    ),
    "interpreter": Layer(
        "the reference: executes `wave` programs on whole tiles", ("support", "symbolic", "layout", "ir"), True
    ),
    "emulator": Layer(
        "executes the machine form as it will run, and judges it", ("support", "layout", "target"), False
    ),
    "backend": Layer(
        "machine form to HSACO, PTX or an emulator program",
        ("support", "symbolic", "layout", "target", "ir", "analysis"),
        True,
    ),
    "runtime": Layer("devices, launches, tensors, cache", ("support", "target", "emulator"), False),
    "driver": Layer(
        "the pipeline as a story, and the compiler's door",
        (
            *("support", "symbolic", "layout", "target", "schedule", "display", "authoring", "pipeline", "ir"),
            *("frontend", "analysis", "transforms", "interpreter", "emulator", "backend", "runtime"),
        ),
        True,
    ),
    "tuner": Layer(
        "search over tiles, layouts and schedules",
        ("support", "target", "schedule", "authoring", "runtime", "driver"),
        False,
    ),
}

# A folder inside a layer that may include more than its layer.
EXTRA = {"backend/emulator": ("emulator",)}

# Parts of one layer that must not know each other.
STRANGERS = [
    ("backend/amd", "backend/nvidia"),
    ("backend/nvidia", "backend/amd"),
    ("backend/emulator", "backend/amd"),
    ("backend/emulator", "backend/nvidia"),
]

# Folders outside soliton/ that see only the public headers.
PUBLIC_USERS = ("kernels", "examples", "python")

# Folders outside soliton/ that see everything, because they hold no logic of the compiler.
UNRESTRICTED_USERS = ("tools", "bench", "test")

# Where a chip may be called by its name.
CHIP_FOLDERS = ("soliton/target/", "soliton/backend/", "tools/", "bench/", "test/", "examples/")
CHIP = re.compile(r"\b(?:gfx\d+[a-z]*|sm_\d+[a-z]*)\b")

PUBLIC_HEADERS = "cmake/PublicHeaders.txt"


def is_test(path: str) -> bool:
    """Whether a file below soliton/ belongs to the tests beside the code."""
    name = path.rsplit("/", 1)[-1]
    return bool(re.search(r"Test\.(cpp|h)$|^Test|^Fake|^Random|Fuzz(er)?\.cpp$|^SamplePrograms\.", name))


def markdown_table() -> str:
    """The table as a page shows it; a layer whose folder does not exist yet is marked."""
    lines = ["| folder | what | may include | MLIR |", "| --- | --- | --- | --- |"]
    for name, layer in LAYERS.items():
        may_include = ", ".join(layer.may_include) or "–"
        what = layer.what if (ROOT / "soliton" / name).is_dir() else f"*planned:* {layer.what}"
        lines.append(f"| `soliton/{name}` | {what} | {may_include} | {'yes' if layer.mlir else 'no'} |")
    return "\n".join(lines) + "\n"
