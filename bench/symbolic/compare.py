"""Soliton's symbolic engine against SymPy on the same corpus, the same steps and the same facts.

    python3 compare.py BUILD/bin/SymbolicBench [--json ../results/symbolic.json]

Steps: build the expression from symbols, substitute the tile sizes, simplify. SymPy is told what it can be told:
symbols are integers, non-negative or positive; Soliton gets the same facts in this comparison.

    cold    SymPy's cache is cleared before each expression; Soliton meets it for the first time in the process
    warm    SymPy's build + subs *alone* with everything cached, against all three steps of Soliton, memos kept
    again   Soliton with its memos dropped before each expression

Both results are evaluated at the corpus's points and must equal plain integer arithmetic; `larger` counts results of
Soliton that have more distinct nodes than SymPy's. One-shot times are processor time on both sides; Soliton's repeated
times are medians of wall time.
"""

import argparse
import gc
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import sympy
from sympy.core.cache import clear_cache

import corpus


class xor(sympy.Function):
    """Bitwise exclusive or, as Wave defines it for SymPy."""

    nargs = 2
    is_integer = True
    is_nonnegative = True

    @classmethod
    def eval(cls, x, y):
        if isinstance(x, sympy.Integer) and isinstance(y, sympy.Integer):
            return sympy.Integer(int(x) ^ int(y))


OPERATIONS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "floor({} / {})",
    "ceildiv": "ceiling({} / {})",
    "mod": "Mod({}, {})",
    "xor": "xor({}, {})",
    "minimum": "Min({}, {})",
    "lt": "Lt({}, {})",
    "le": "Le({}, {})",
    "conj": "And({}, {})",
    "select": "Piecewise(({1}, {0}), ({2}, True))",
}


def symbol(name):
    positive = name in corpus.POSITIVE or name in corpus.STATIC
    return sympy.Symbol(name, integer=True, positive=True) if positive else sympy.Symbol(name, integer=True, nonnegative=True)


def builder(program):
    """A Python function that makes the expression of a recorded program with SymPy's operators."""
    lines = ["def build():"]
    for i, (name, operands) in enumerate(program):
        if name == "const":
            value = f"Integer({operands[0]})"
        elif name == "symbol":
            value = f"symbol({operands[0]!r})"
        else:
            value = OPERATIONS[name].format(*[f"t{o}" for o in operands])
        lines.append(f"    t{i} = {value}")
    lines.append(f"    return t{len(program) - 1}")
    scope = {"symbol": symbol, "xor": xor}
    for name in ("Integer", "floor", "ceiling", "Mod", "Min", "Lt", "Le", "And", "Piecewise"):
        scope[name] = getattr(sympy, name)
    exec("\n".join(lines), scope)
    return scope["build"]


def as_number(value):
    return int(bool(value)) if value in (sympy.true, sympy.false) else int(value)


def nodes(e):
    return len(set(sympy.preorder_traversal(e)))


def run_sympy(entries):
    out = []
    for number, (name, program, config, values) in enumerate(entries):
        build = builder(program)
        binding = {symbol(o[0]): config[o[0]] for n, o in program if n == "symbol" and o[0] in config}
        gc.collect()
        clear_cache()
        start = time.process_time()
        built = build()
        after_build = time.process_time()
        bound = built.subs(binding)
        after_subs = time.process_time()
        result = sympy.simplify(bound)
        end = time.process_time()
        build().subs(binding)
        warm = []
        for _ in range(3):
            begin = time.process_time()
            build().subs(binding)
            warm.append(time.process_time() - begin)
        right = all(as_number(result.subs({symbol(k): v for k, v in p.items()})) == truth for p, truth in values)
        out.append(
            {
                "name": name,
                "right": right,
                "cold": {
                    "build": (after_build - start) * 1e6,
                    "substitute": (after_subs - after_build) * 1e6,
                    "simplify": (end - after_subs) * 1e6,
                },
                "warm": min(warm) * 1e6,
                "nodes": nodes(result),
                "result": str(result),
            }
        )
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{len(entries)} {name:40s}", end="", file=sys.stderr, flush=True)
    return out


def run_ours(program, entries):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.txt"
        with path.open("w") as file:
            sys.stdout, keep = file, sys.stdout
            corpus.write()
            sys.stdout = keep
        done = subprocess.run([program, str(path)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{program} failed: {done.stderr}")
    ours = json.loads(done.stdout)["expressions"]
    assert [e["name"] for e in ours] == [e[0] for e in entries]
    return ours


def total(times):
    return times["build"] + times["substitute"] + times["simplify"]


def summarize(ours, theirs):
    """One row per group of the corpus, and one for all."""
    groups = {}
    for a, b in zip(ours, theirs):
        for key in (a["name"].split(".")[0], "all"):
            groups.setdefault(key, []).append((a, b))
    rows = []
    for key, pairs in sorted(groups.items(), key=lambda item: item[0] == "all"):
        cold = [total(b["cold"]) / total(a["first"]) for a, b in pairs]
        warm = [b["warm"] / total(a["warm"]) for a, b in pairs]
        rows.append(
            {
                "group": key,
                "expressions": len(pairs),
                "ours_first_us": sum(total(a["first"]) for a, _ in pairs) / len(pairs),
                "ours_again_us": sum(total(a["again"]) for a, _ in pairs) / len(pairs),
                "ours_warm_us": sum(total(a["warm"]) for a, _ in pairs) / len(pairs),
                "sympy_cold_us": sum(total(b["cold"]) for _, b in pairs) / len(pairs),
                "sympy_warm_us": sum(b["warm"] for _, b in pairs) / len(pairs),
                "ratio_cold": sum(total(b["cold"]) for _, b in pairs) / sum(total(a["first"]) for a, _ in pairs),
                "ratio_cold_median": statistics.median(cold),
                "ratio_cold_least": min(cold),
                "ratio_warm": sum(b["warm"] for _, b in pairs) / sum(total(a["warm"]) for a, _ in pairs),
                "ratio_warm_median": statistics.median(warm),
                "ratio_warm_memos_dropped": sum(b["warm"] for _, b in pairs) / sum(total(a["again"]) for a, _ in pairs),
                "nodes": sum(a["nodes"] for a, _ in pairs),
                "nodes_full_facts": sum(a["nodes_full_facts"] for a, _ in pairs),
                "nodes_sympy": sum(b["nodes"] for _, b in pairs),
                "larger": sum(a["nodes"] > b["nodes"] for a, b in pairs),
                "all_right": all(a["right"] and b["right"] for a, b in pairs),
            }
        )
    return rows


def print_table(rows):
    columns = [
        ("group", "group", "12"), ("n", "expressions", "4"), ("first us", "ours_first_us", "8.1f"),
        ("again us", "ours_again_us", "8.1f"), ("warm us", "ours_warm_us", "7.1f"), ("sympy cold", "sympy_cold_us", "10.0f"),
        ("sympy warm", "sympy_warm_us", "10.0f"), ("cold x", "ratio_cold", "7.0f"), ("warm x", "ratio_warm", "6.1f"),
        ("median", "ratio_warm_median", "6.1f"), ("nodes", "nodes", "6"), ("(full)", "nodes_full_facts", "6"),
        ("sympy", "nodes_sympy", "6"), ("larger", "larger", "6"),
    ]  # fmt: skip
    print(" ".join(f"{title:>{form.split('.')[0]}}" for title, _, form in columns), "right")
    for row in rows:
        print(" ".join(f"{row[key]:{'>' if isinstance(row[key], str) else ''}{form}}" for _, key, form in columns), row["all_right"])


def write_json(path, rows, ours, theirs):
    """The summary, then one line per expression."""
    head = {
        "what": "build + substitute + simplify of index expressions, microseconds per expression",
        "sympy": sympy.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "date": str(date.today()),
        "command": shlex.join(["python3", *sys.argv]),
        "summary": [{k: round(v, 1) if isinstance(v, float) else v for k, v in row.items()} for row in rows],
    }
    lines = []
    for a, b in zip(ours, theirs):
        lines.append(
            json.dumps(
                {
                    "name": a["name"],
                    "right": a["right"] and b["right"],
                    "ours_first": round(total(a["first"]), 2),
                    "ours_again": round(total(a["again"]), 2),
                    "ours_warm": round(total(a["warm"]), 2),
                    "sympy_cold": round(total(b["cold"])),
                    "sympy_warm": round(b["warm"]),
                    "nodes": [a["nodes"], a["nodes_full_facts"], b["nodes"]],
                    "ours": a["result"],
                    "sympy": b["result"],
                }
            )
        )
    text = json.dumps(head, indent=1)[:-2] + ',\n "expressions": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"
    json.loads(text)
    Path(path).write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built SymbolicBench")
    parser.add_argument("--json", help="write the results there")
    parser.add_argument("--every", type=int, default=1, help="only every n-th expression (for a quick look)")
    options = parser.parse_args()
    entries = list(corpus.entries())
    ours = run_ours(options.program, entries)[:: options.every]
    theirs = run_sympy(entries[:: options.every])
    rows = summarize(ours, theirs)
    print_table(rows)
    if options.json:
        write_json(options.json, rows, ours, theirs)
    return 0 if rows[-1]["all_right"] else 1


if __name__ == "__main__":
    sys.exit(main())
