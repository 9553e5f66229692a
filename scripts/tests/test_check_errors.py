"""Which ways of naming an id in a test count."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import check_errors  # noqa: E402

DEFINITIONS = """// comment
SOLITON_DIAGNOSTIC(MmaUnknown, "mma-unknown", "no such thing")
SOLITON_DIAGNOSTIC(NoDevice, "no-device", "none")
SOLITON_DIAGNOSTIC(WriteDims, "write-dims", "other dimensions")
"""


class Coverage(unittest.TestCase):
    def untested(self, **files: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("soliton/support", "test"):
                (root / name).mkdir(parents=True)
            (root / "soliton/support/Diagnostics.def").write_text(DEFINITIONS)
            for name, text in files.items():
                (root / name.replace("__", "/").replace("_cpp", ".cpp").replace("_mlir", ".mlir")).write_text(text)
            return [text for _, text in check_errors.untested(root)[0]]

    def test_all_spellings(self):
        found = self.untested(
            soliton__support__ATest_cpp='EXPECT_EQ(id, DiagId::MmaUnknown); has("no-device");',
            test__a_mlir="// expected-error {{... [write-dims]}}",
        )
        self.assertEqual(found, [])

    def test_code_is_no_test(self):
        found = self.untested(soliton__support__A_cpp="report(DiagId::MmaUnknown); report(DiagId::NoDevice);")
        self.assertEqual(found, ["mma-unknown", "no-device", "write-dims"])


if __name__ == "__main__":
    unittest.main()
