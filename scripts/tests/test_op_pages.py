"""Pages of operations: what the headers have, what the table found, and that nothing is left out."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import op_pages  # noqa: E402

OPS = """
#define SOLITON_UNARY(NAME)                                                                                            \\
  Value NAME(const Value &operand, OpOptions options = {}, Place place = std::source_location::current());
SOLITON_UNARY(exp)
#undef SOLITON_UNARY
Value operator+(Operand lhs, Operand rhs);
void write(const Value &value, const MemoryRef &memory,
           Place place = std::source_location::current());
"""
KERNEL = """
class Kernel {
public:
  Value fill(std::vector<Expr> dims);
  const std::string &name() const;

private:
  Value hidden(int x);
"""
TABLE = """
| letter | id |
| --- | --- |
| a | `elementwise-type` |

| operation | i1 | f32 | f64 |
| --- | --- | --- | --- |
| `exp` | a | ✓ | ✓ ✓ a |
"""
ENTRY = """
[{name}]
section = "All"
covers = ["{covers}"]
what = "A sentence. Another one."
expr = "exp(read(x))"
in = {{ x = [0, 1] }}
out = {{ out = [1, 2.5] }}
rows = {rows}
"""
FILL = ENTRY.format(name="fill", covers="fill", rows="[]").replace('covers = ["fill"]', 'form = "Value Kernel::fill();"')
ALL = FILL + "".join(
    ENTRY.format(name=name, covers=covers, rows=rows)
    for name, covers, rows in (("exp", "exp", '["exp"]'), ("add", "operator+", "[]"), ("write", "write", "[]"))
)


class Pages(unittest.TestCase):
    def make(self, entries: str = ALL, sentences: dict[str, str] | None = None) -> dict[str, str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in (
                (op_pages.OPS, OPS),
                (op_pages.KERNEL, KERNEL),
                (op_pages.SOURCE, entries),
                ("docs/ops/types.md", TABLE),
                ("docs/dialect.md", "#### `wave.unary` (::soliton)"),
            ):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return op_pages.op_pages(root, {"elementwise-type": "no such type"} if sentences is None else sentences)

    def test_every_operation_has_a_page(self):
        made = self.make()
        self.assertEqual(
            sorted(made), ["docs/ops/README.md", *(f"docs/ops/{name}.md" for name in ("add", "exp", "fill", "write")), "test/ops/Examples.inc"]
        )
        page = made["docs/ops/exp.md"]
        self.assertIn("Value exp(const Value &operand, OpOptions options = {});", page)
        self.assertIn("| every target | `f32` |", page)
        self.assertIn("| `elementwise-type` | `i1` |", page)
        self.assertIn("| gfx942, gfx950; elsewhere `elementwise-type` | `f64` |", page)
        self.assertIn("| `out` after | `{1, 2.5}` |", page)
        self.assertIn("void write(const Value &value, const MemoryRef &memory);", made["docs/ops/write.md"])
        self.assertIn('{"x", {0, 1}}', made["test/ops/Examples.inc"])

    def test_what_is_left_out_is_an_error(self):
        for entries, said in (
            (ALL.replace("operator+", "exp"), r"`operator\+` of the public headers has no page"),
            (ALL + ENTRY.format(name="sin", covers="sin", rows="[]"), "`sin` is no operation"),
            (ALL.replace('rows = ["exp"]', 'rows = ["sin"]'), "no row `sin`"),
            (ALL.replace("section", 'chapter = ""\nsection', 1), "the field `chapter`"),
            (ALL.replace("[exp]", '[exp]\nop = "wave.sin"'), "does not have"),
            (ALL.replace('form = "Value Kernel::fill();"', ""), "say its `form`"),
            (ALL.replace("[exp]", '[exp]\nerrors = ["nowhere"]'), "no id `nowhere`"),
        ):
            with self.subTest(said), self.assertRaisesRegex(SystemExit, said):
                self.make(entries)


if __name__ == "__main__":
    unittest.main()
