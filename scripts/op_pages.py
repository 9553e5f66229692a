"""The pages of docs/ops, and the program that runs their examples, from docs/ops/ops.toml and the public headers.

What an operation does and shows is in ops.toml, its C++ form is the header's, its element types are those that the table
docs/ops/types.md found. An operation of the headers that no entry covers, or an entry of something else, is an error.
"""

import re
import textwrap
import tomllib
from pathlib import Path

OPS = "soliton/frontend/Ops.h"
KERNEL = "soliton/frontend/Kernel.h"
SOURCE = "docs/ops/ops.toml"
NOTE = "<!-- Written by scripts/gen_docs.py; change docs/ops/ops.toml instead. -->\n"
NOT_OPERATIONS = {"name", "diagnostics", "program"}  # of Kernel
TARGETS = ("gfx942", "gfx950", "sm_90a")
FIELDS = {"section", "covers", "what", "op", "expr", "code", "type", "out_type", "in", "out", "rows", "errors", "form"}


# ---- What the headers have -------------------------------------------------------------------------------------------


def macro_forms(text: str) -> dict[str, list[str]]:
    """Functions that a macro of the header declares: `SOLITON_UNARY(exp)`."""
    forms: dict[str, list[str]] = {}
    for macro, body in re.findall(r"^#define (SOLITON_\w+)\(NAME\)\s*\\\n((?:.*\\\n)*.*)$", text, re.M):
        joined = re.sub(r"\s+", " ", body.replace("\\\n", " "))
        shapes = [shape.strip() + ";" for shape in joined.split(";") if "NAME(" in shape]
        for name in re.findall(rf"^{macro}\((\w+)\)", text, re.M):
            forms[name] = [shape.replace("NAME", name) for shape in shapes]
    return forms


def function_forms(root: Path) -> dict[str, list[str]]:
    """Every function of Ops.h with its declarations, as an author reads them: without the place that fills itself in."""
    text = (root / OPS).read_text()
    forms = macro_forms(text)
    plain = re.sub(r"^#define (?:.*\\\n)*.*$", "", text, flags=re.M)
    for shape, name in re.findall(r"^((?:Value|void|Expr|Extreme|Sorted|MemoryRef|std::vector<Value>) (\w+|operator\S+?)\((?:[^;]|\n)*?\);)", plain, re.M):
        forms.setdefault(name, []).append(re.sub(r"\s+", " ", shape))
    place = r",? ?Place place = std::source_location::current\(\)"
    return {name: [re.sub(place, "", shape) for shape in shapes] for name, shapes in forms.items()}


def kernel_operations(root: Path) -> set[str]:
    public = (root / KERNEL).read_text().split("\nprivate:")[0]
    found = re.findall(r"^  (?:MemoryRef|void|Value|auto|std::[\w:<>, ]+) (\w+)\((?!std::move)", public, re.M)
    return set(found) - NOT_OPERATIONS


# ---- What the table found --------------------------------------------------------------------------------------------


def table(root: Path) -> tuple[list[str], dict[str, list[list[str]]]]:
    """Element types, and for each row and type what each target says: an id, or nothing where it is right."""
    lines = (root / "docs" / "ops" / "types.md").read_text().splitlines()
    ids = {row[1]: row[2] for row in (re.match(r"\| (\w+) \| `([\w-]+)` \|$", line) for line in lines) if row}
    types, rows = [], {}
    for line in lines:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and cells[0] == "operation":
            types = cells[1:]
        elif types and cells and cells[0].startswith("`"):
            each = [cell.split() for cell in cells[1:]]
            each = [cell * 3 if len(cell) == 1 else cell for cell in each]
            rows[cells[0].strip("`").replace("\\|", "|")] = [["" if c == "✓" else ids[c] for c in cell] for cell in each]
    return types, rows


def type_lines(types: list[str], row: list[list[str]]) -> list[tuple[str, str]]:
    """(what happens, types), the types that are right first."""
    groups: dict[str, list[str]] = {"every target": []}
    for name, cell in zip(types, row):
        if not any(cell):
            key = "every target"
        elif len(set(cell)) == 1:
            key = f"`{cell[0]}`"
        else:
            good = [target for target, said in zip(TARGETS, cell) if not said]
            bad = sorted({said for said in cell if said})
            key = f"{', '.join(good)}; elsewhere {', '.join(f'`{each}`' for each in bad)}"
        groups.setdefault(key, []).append(f"`{name}`")
    return [(key, " ".join(names)) for key, names in groups.items() if names]


# ---- Examples --------------------------------------------------------------------------------------------------------


def symbols_of(code: str) -> list[str]:
    return re.search(r'symbols<"([^"]+)">', code).group(1).split()


def example_code(name: str, entry: dict) -> str:
    if "code" in entry:
        return entry["code"].strip()
    kind = entry.get("type", "f32")
    tensors = [each for each, value in entry["in"].items() if isinstance(value, list)]
    first = [f'{each} = kernel.memory("{each}", {{M}}, global, {kind})' for each in tensors]
    out = f'out = kernel.memory("out", {{M}}, global, {entry.get("out_type", kind)})'
    return "\n".join(
        [
            'auto [M] = symbols<"M">();',
            f'Kernel kernel{{"{name}", {{WorkgroupConstraint(M, 64, 0), HardwareConstraint{{}}}}}};',
            "auto " + ", ".join([*first, out]) + ";",
            f"write({entry['expr']}, out);",
        ]
    )


def extents(value) -> list[int]:
    return [len(value), *extents(value[0])] if isinstance(value, list) else []


def flat(value) -> list[float]:
    return [x for each in value for x in flat(each)] if isinstance(value, list) else [value]


def sizes_of(code: str, entry: dict) -> dict[str, int]:
    """The sizes that the numbers have: from the shapes of the memories that hold them."""
    sizes: dict[str, int] = {}
    for memory, value in {**entry["in"], **entry["out"]}.items():
        shape = re.search(rf'kernel\.memory\("{memory}", \{{([^}}]*)\}}', code)
        for dim, extent in zip(shape.group(1).split(", ") if shape else [], extents(value)):
            if dim.isidentifier() and sizes.setdefault(dim, extent) != extent:  # `K/32` follows from K
                raise SystemExit(f"error: {SOURCE}: `{memory}` gives `{dim}` another size")
    return sizes


def number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)


def braces(value) -> str:
    return "{" + ", ".join(braces(each) for each in value) + "}" if isinstance(value, list) else number(value)


def example_function(name: str, entry: dict) -> str:
    code = example_code(name, entry)
    sizes = "".join(f"{{symbol(\"{dim}\"), {size}}}, " for dim, size in sizes_of(code, entry).items()).removesuffix(", ")

    def arrays(values: dict) -> str:
        return ", ".join(f'{{"{each}", {{{", ".join(map(number, flat(value)))}}}}}' for each, value in values.items())

    body = "\n".join("  " + line for line in code.splitlines())
    return (
        f"static Kernel {name}Example() {{\n{body}\n  return kernel;\n}}\n"
        f'static const Example k_{name}{{"{name}", {name}Example, {{{sizes}}}, {{{arrays(entry["in"])}}}, {{{arrays(entry["out"])}}}}};\n'
    )


def examples_file(entries: dict) -> str:
    text = "// Written by scripts/gen_docs.py; change docs/ops/ops.toml instead.\n// clang-format off\n"
    text += "\n".join(example_function(name, entry) for name, entry in entries.items())
    listed = "".join(f"&k_{name}, " for name in entries).removesuffix(", ")
    return text + f"\nstatic const Example *const kExamples[] = {{{listed}}};\n// clang-format on\n"


# ---- Pages -----------------------------------------------------------------------------------------------------------


def forms_of(name: str, entry: dict, functions: dict[str, list[str]]) -> str:
    if "form" in entry:
        return entry["form"].strip()
    if name not in functions and not entry.get("covers"):
        raise SystemExit(f"error: {SOURCE}: `{name}` is a member of Kernel; say its `form`")
    return "\n".join(shape for each in entry.get("covers", [name]) for shape in functions[each])


def errors_of(entry: dict, rows: list[list[list[str]]], sentences: dict[str, str]) -> str:
    named = {said for row in rows for cell in row for said in cell if said} | set(entry.get("errors", []))
    unknown = sorted(named - sentences.keys())
    if unknown:
        raise SystemExit(f"error: {SOURCE}: there is no id `{unknown[0]}`")
    lines = [f"| `{each}` | {sentences[each]} |" for each in sorted(named)]
    return "\n## Errors\n\n| id | what it means |\n| --- | --- |\n" + "\n".join(lines) + "\n" if lines else ""


def types_of(name: str, entry: dict, types: list[str], rows: dict) -> str:
    names = entry.get("rows", [name])
    if not names:
        return ""
    text = "\n## Element types and targets\n\n| | types |\n| --- | --- |\n"
    for each in names:
        prefix = f"`{each}`: ".replace("|", "\\|") if len(names) > 1 else ""
        text += "".join(f"| {prefix}{key} | {found} |\n" for key, found in type_lines(types, rows[each]))
    return text + "\nAs the [table](types.md) found; an id says that the type is refused with it.\n"


def page(name: str, entry: dict, functions: dict, types: list[str], rows: dict, sentences: dict[str, str]) -> str:
    text = NOTE + f"# {name}\n\n{textwrap.fill(entry['what'], 120, break_on_hyphens=False)}\n"
    if "op" in entry:
        text += f"\nIn programs it is `{entry['op']}` ([dialect.md](../dialect.md)).\n"
    text += f"\n## C++\n\n```cpp\n{forms_of(name, entry, functions)}\n```\n"
    text += f"\n## Example\n\n```cpp\n{example_code(name, entry)}\n```\n\n| | |\n| --- | --- |\n"
    for kind, values in (("before", entry["in"]), ("after", entry["out"])):
        text += "".join(f"| `{each}` {kind} | `{braces(value)}` |\n" for each, value in values.items())
    text += "\nRun on the emulators of all targets by `build/bin/SolitonOpsTests`.\n"
    text += types_of(name, entry, types, rows)
    return text + errors_of(entry, [rows[each] for each in entry.get("rows", [name])], sentences)


def index_page(entries: dict) -> str:
    text = NOTE + "# Operations\n\nOne page each, with its form, an example that is run, element types and errors. "
    text += "[types.md](types.md) is the table of all\nof them; [language.md](../language.md) says how they fit together.\n"
    for section in dict.fromkeys(entry["section"] for entry in entries.values()):
        text += f"\n## {section}\n\n| | |\n| --- | --- |\n"
        for name, entry in entries.items():
            if entry["section"] == section:
                summary = re.split(r"(?<=\.)\s", entry["what"])[0]
                text += f"| [{name}]({name}.md) | {summary} |\n"
    return text


def check_coverage(root: Path, entries: dict, functions: dict) -> None:
    covered = {each for name, entry in entries.items() for each in entry.get("covers", [name])}
    there = set(functions) | kernel_operations(root)
    for missing in sorted(there - covered):
        raise SystemExit(f"error: {SOURCE}: `{missing}` of the public headers has no page")
    for extra in sorted(covered - there):
        raise SystemExit(f"error: {SOURCE}: `{extra}` is no operation of {OPS} or {KERNEL}")
    dialect = (root / "docs" / "dialect.md").read_text()
    for name, entry in entries.items():
        if extra := sorted(entry.keys() - FIELDS):
            raise SystemExit(f"error: {SOURCE}: `{name}` has the field `{extra[0]}`, which nothing reads")
        if "op" in entry and f"`{entry['op']}` (" not in dialect:
            raise SystemExit(f"error: {SOURCE}: `{name}` names the op `{entry['op']}`, which docs/dialect.md does not have")


def check_rows(entries: dict, rows: dict) -> None:
    """Every operation of the table has a page, and the other way round unless it says that it has no element type."""
    named = {each for name, entry in entries.items() for each in entry.get("rows", [name])}
    for missing in sorted(named - rows.keys()):
        raise SystemExit(f"error: docs/ops/types.md has no row `{missing}`; add it to test/ops/Operations.cpp")


def op_pages(root: Path, sentences: dict[str, str]) -> dict[str, str]:
    """Every file that follows from ops.toml, by its path."""
    entries = tomllib.loads((root / SOURCE).read_text())
    functions, (types, rows) = function_forms(root), table(root)
    check_coverage(root, entries, functions)
    check_rows(entries, rows)
    made = {f"docs/ops/{name}.md": page(name, entry, functions, types, rows, sentences) for name, entry in entries.items()}
    return {**made, "docs/ops/README.md": index_page(entries), "test/ops/Examples.inc": examples_file(entries)}
