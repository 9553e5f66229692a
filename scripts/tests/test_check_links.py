"""Dead links and lost pages in a small tree."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import check_links  # noqa: E402


class Links(unittest.TestCase):
    def errors(self, **files: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            (root / "docs").mkdir()
            for name, text in files.items():
                (root / (name.replace("__", "/") + ".md")).write_text(text)
            return check_links.check(root)

    def test_clean(self):
        self.assertEqual(self.errors(README="[a](docs/a.md#part) [web](https://x.org)", docs__a="[up](../README.md)"), [])

    def test_dead_link(self):
        self.assertEqual(self.errors(README="\n[b](docs/b.md)"), ["README.md:2: error: `docs/b.md` does not exist"])

    def test_code_is_no_link(self):
        self.assertEqual(self.errors(README="```\n[&](Value acc)[x](y)\n```\n`[x](y)`"), [])

    def test_lost_page(self):
        self.assertEqual(len(self.errors(README="", docs__a="")), 1)


if __name__ == "__main__":
    unittest.main()
