"""The layering check on small trees: each rule is broken once, and a clean tree is clean."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import check_layering  # noqa: E402
from layers import LAYERS  # noqa: E402


class Layering(unittest.TestCase):
    def errors(self, **files: str) -> list[str]:
        """The violations of a tree; `soliton__layout__A_h` stands for soliton/layout/A.h."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name.replace("__", "/").replace("_txt", ".txt").replace("_h", ".h").replace(
                    "_cpp", ".cpp"
                ).replace("_td", ".td")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_layering.check(Path(folder))

    def test_table_has_no_cycle(self):
        order = list(LAYERS)
        for name, layer in LAYERS.items():
            for other in layer.may_include:
                self.assertLess(order.index(other), order.index(name), f"{name} includes {other}")

    def test_clean_tree(self):
        found = self.errors(
            soliton__layout__Layout_h='#include "soliton/symbolic/Expr.h"\n#include "soliton/layout/Dim.h"\n',
            soliton__ir__Wave_h='#include "soliton/layout/Layout.h"\n#include "mlir/IR/Dialect.h"\n',
        )
        self.assertEqual(found, [])

    def test_upward_include(self):
        found = self.errors(soliton__symbolic__Expr_h='\n#include "soliton/layout/Layout.h"\n')
        self.assertEqual(len(found), 1)
        self.assertIn("soliton/symbolic/Expr.h:2: error: `symbolic` must not include `layout`", found[0])

    def test_unknown_layer(self):
        found = self.errors(soliton__magic__Wand_h="", soliton__layout__A_h='#include "soliton/magic/Wand.h"\n')
        self.assertEqual(len(found), 2)

    def test_mlir_in_a_layer_without(self):
        found = self.errors(
            soliton__layout__Layout_cpp="#include <llvm/ADT/SmallVector.h>\n",
            soliton__layout__LayoutTest_cpp='#include "mlir/Analysis/Presburger/IntegerRelation.h"\n',
        )
        self.assertEqual(len(found), 1)
        self.assertIn("layer without MLIR", found[0])

    def test_emulator_is_for_its_own_back_end(self):
        text = '#include "soliton/emulator/Program.h"\n'
        self.assertEqual(self.errors(soliton__backend__emulator__Translate_cpp=text), [])
        self.assertEqual(len(self.errors(soliton__backend__amd__Memory_cpp=text)), 1)

    def test_back_ends_are_strangers(self):
        found = self.errors(soliton__backend__amd__Memory_cpp='#include "soliton/backend/nvidia/Memory.h"\n')
        self.assertEqual(len(found), 1)
        self.assertIn("must not know", found[0])

    def test_chip_names(self):
        found = self.errors(
            soliton__target__Gfx942_cpp='auto name = "gfx942";\n',
            soliton__layout__Layout_cpp='// as on gfx942\nbool fast = name == "sm_90a"; /* gfx950 */\n',
            soliton__layout__LayoutTest_cpp='auto name = "gfx942";\n',
            soliton__ir__Ops_td='let summary = "for gfx942";\nlet description = [{ gfx950 }];\n',
        )
        self.assertEqual(len(found), 1)
        self.assertIn("soliton/layout/Layout.cpp:2: error: names the chip `sm_90a`", found[0])

    def test_a_slash_in_a_string_is_no_comment(self):
        found = self.errors(soliton__layout__A_cpp='auto a = "http://x", b = "gfx942";\n')
        self.assertEqual(len(found), 1)

    def test_public_headers(self):
        found = self.errors(
            cmake__PublicHeaders_txt="# all of them\nsoliton/soliton.h\nsoliton/support/A.h\nsoliton/support/Gone.h\n",
            soliton__soliton_h='#include "soliton/support/A.h"\n#include "soliton/support/B.h"\n',
            soliton__support__A_h='#include "llvm/ADT/ArrayRef.h"\n',
            soliton__support__B_h="",
            kernels__Gemm_cpp='#include "soliton/soliton.h"\n#include "soliton/support/B.h"\n',
        )
        text = "\n".join(found)
        self.assertIn("soliton/soliton.h:2: error: a public header includes `soliton/support/B.h`", text)
        self.assertIn("a public header includes `llvm/ADT/ArrayRef.h`", text)
        self.assertIn("`soliton/support/Gone.h` does not exist", text)
        self.assertIn("kernels/Gemm.cpp:2: error: `soliton/support/B.h` is no public header", text)

    def test_link_dependencies(self):
        found = self.errors(
            soliton__layout__CMakeLists_txt="soliton_add_layer(SolitonLayout\n  SOURCES A.cpp\n"
            "  DEPENDS SolitonSupport SolitonIr # not allowed\n  TESTS T.cpp)\n"
        )
        self.assertEqual(found, ["soliton/layout/CMakeLists.txt:1: error: `layout` must not link `SolitonIr`"])


if __name__ == "__main__":
    unittest.main()
