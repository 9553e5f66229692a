"""A small page: its files, its commands, its pictures."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import run_tutorial  # noqa: E402

PAGE = """# Words

```cpp a.txt
one
two
```

```console
$ cat a.txt
one
two
$ cp a.txt a.svg
```

![alt](pictures/a.svg)

```
$ false
```
"""


class FakePython:
    """An interpreter that is there, or the reason why it is not."""

    def __init__(self, reason: str = ""):
        self.reason = reason

    def environment(self):
        return None if self.reason else {"PATH": str(Path(sys.executable).parent), "PYTHONPATH": "somewhere"}


class Page(unittest.TestCase):
    def execute(self, page: str, picture: str = "one\ntwo\n", update: bool = False):
        """(passed, failed, the page afterwards, the picture afterwards)"""
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            root = Path(folder).resolve()
            (root / "work").mkdir()
            (root / "pictures").mkdir()
            kept = root / "pictures" / "a.svg"
            kept.write_text(picture)
            (root / "page.md").write_text(page)
            runner = run_tutorial.Runner(root / "page.md", root / "work", root, FakePython())
            runner.steps()
            runner.pictures(update)
            return runner.passed, runner.failed, runner.updated(), kept.read_text()

    def test_files_commands_and_pictures(self):
        self.assertEqual(self.execute(PAGE), (3, 0, PAGE, "one\ntwo\n"))

    def test_another_output_is_a_failure_and_can_be_written(self):
        passed, failed, page, _ = self.execute(PAGE.replace("$ cat a.txt\none\n", "$ cat a.txt\n1\n"))
        self.assertEqual((passed, failed, page), (2, 1, PAGE))

    def test_missing_output_is_a_failure(self):
        self.assertEqual(self.execute(PAGE.replace("$ cat a.txt\none\ntwo\n", "$ cat a.txt\n"))[:3], (2, 1, PAGE))

    def test_a_command_that_fails_is_a_failure(self):
        passed, failed, page, _ = self.execute(PAGE.replace("cat a.txt", "cat b.txt"))
        self.assertEqual((passed, failed), (2, 1))
        self.assertIn("cat b.txt\none\n", page)

    def test_another_picture_is_a_failure_and_can_be_written(self):
        self.assertEqual(self.execute(PAGE, "old")[:2], (2, 1))
        self.assertEqual(self.execute(PAGE, "old", update=True), (3, 0, PAGE, "one\ntwo\n"))

    def test_a_picture_that_nobody_draws_is_a_failure(self):
        self.assertEqual(self.execute(PAGE.replace("cp a.txt a.svg", "true"))[:2], (2, 1))

    def test_programs_of_python_run_with_the_package_or_are_skipped_with_the_reason(self):
        page = "```python a.py\nimport os\nprint(os.environ.get('PYTHONPATH'))\n```\n```console\n$ python a.py\nsomewhere\n$ echo $PYTHONPATH\n\n```\n"
        for python, counts in ((FakePython(), (2, 0, 0)), (FakePython("no network"), (1, 0, 1))):
            said = io.StringIO()
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
                root = Path(folder).resolve()
                (root / "page.md").write_text(page)
                runner = run_tutorial.Runner(root / "page.md", root, root, python)
                runner.steps()
            self.assertEqual((runner.passed, runner.failed, runner.skipped), counts, said.getvalue())
        self.assertIn("skipped: page.md: line 6: python a.py: no network", said.getvalue())

    def test_pages_of_a_folder_come_in_order_after_its_readme(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("02-b.md", "01-a.md", "README.md", "notes.txt"):
                (root / name).write_text("")
            names = lambda only: [page.name for page in run_tutorial.pages(root, only)]  # noqa: E731
            self.assertEqual(names(""), ["README.md", "01-a.md", "02-b.md"])
            self.assertEqual(names("02"), ["README.md", "02-b.md"])
            self.assertEqual(run_tutorial.pages(root / "01-a.md", ""), [root / "01-a.md"])
            with self.assertRaises(SystemExit):
                names("03")

    def test_malformed_pages(self):
        for text in ("```console\nout\n```", "```cpp a.txt\nopen"):
            with self.assertRaises(ValueError):
                run_tutorial.parse(text)


class Placeholders(unittest.TestCase):
    def test_in_a_line(self):
        self.assertTrue(run_tutorial.matches(["took … ms, (a+b)"], ["took 1.5 ms, (a+b)"]))
        self.assertFalse(run_tutorial.matches(["took … ms"], ["took 1.5 s"]))
        self.assertFalse(run_tutorial.matches(["a … b"], ["a 1", "2 b"]))

    def test_for_lines(self):
        self.assertTrue(run_tutorial.matches(["a", "…", "z"], ["a", "z"]))
        self.assertTrue(run_tutorial.matches(["a", "…", "z"], ["a", "b", "c", "z"]))
        self.assertFalse(run_tutorial.matches(["a", "…", "z"], ["a", "b", "c"]))

    def test_without(self):
        self.assertTrue(run_tutorial.matches([], []))
        self.assertFalse(run_tutorial.matches([], ["x"]))


if __name__ == "__main__":
    unittest.main()
