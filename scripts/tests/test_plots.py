"""Results of the GPU's bench: what a table says, runs put together, pictures and the page made from them."""

import importlib.util
import json
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

DEVICE = Path(__file__).resolve().parent.parent.parent / "bench" / "device"


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, DEVICE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


results, plots = load("results"), load("plots")


def arm(*bursts, steady=()):
    return {"burst_us": list(bursts), "steady_us": list(steady)}


def table(arms, base=("cuBLAS",), section="auto", title="f16 GEMM 8x8x8 (f16 out), `--schedule auto`", unit="TFLOP/s", work=1e6, **run):
    return {"section": section, "title": title, "base": list(base), "work": work, "unit": unit, "arms": arms, "device": "H200", "date": "a day", "command": "c", **run}


class Tables(unittest.TestCase):
    def test_a_ratio_is_the_bases_median_by_ours(self):
        (row,) = results.rows_of(table({"cuBLAS": arm(10, 12, 11, steady=[20, 22]), "auto": arm(5, 7, 5.5, steady=[21])}))
        self.assertEqual((row.label, row.arm, row.ratio), ("f16 GEMM 8x8x8", "auto", 2))
        self.assertEqual((row.least, row.most), (11 / 7, 11 / 5))
        self.assertEqual(row.steady_ratio, 1)
        self.assertEqual(row.rate, 1 / 5.5)

    def test_what_a_user_gets_counts_though_another_arm_is_faster(self):
        arms = {"cuBLAS": arm(10), "ring, 64 rows": arm(4), "auto": arm(20), "Triton": arm(40)}
        (row,) = results.rows_of(table(arms))
        self.assertEqual((row.arm, row.ratio, row.beside), ("auto", 0.5, {"Triton": 0.25}))

    def test_a_table_of_several_kernels_has_a_row_each(self):
        arms = {"torch copy_": arm(10), "copy": arm(12), "row_softmax, a wave": arm(20), "row_softmax, auto": arm(25), "rms_norm, two": arm(30), "Triton row_softmax": arm(40)}
        rows = results.rows_of(table(arms, base=("torch copy_", "copy"), unit="TB/s", title="f16 8x8: bandwidth beside the fastest copy"))
        self.assertEqual([(row.label, row.arm) for row in rows], [("copy, f16 8x8", "copy"), ("row_softmax, f16 8x8", "row_softmax, auto"), ("rms_norm, f16 8x8", "rms_norm, two")])
        self.assertEqual([row.beside for row in rows], [{}, {"Triton row_softmax": 0.25}, {}])

    def test_of_several_autos_the_fastest_counts(self):
        arms = {"torch copy_": arm(10), "cuDNN": arm(30), "auto, 1 parts": arm(40), "auto, 2 parts": arm(20)}
        (row,) = [row for row in results.rows_of(table(arms, base=("torch copy_",), unit="TB/s", section="decode"))]
        self.assertEqual((row.arm, row.ratio), ("auto, 2 parts", 0.5))

    def test_without_its_base_a_table_says_nothing(self):
        self.assertEqual(results.rows_of(table({"auto": arm(5)})), [])

    def test_later_runs_replace_whole_sections(self):
        first = [table({}, section="auto", title="old"), table({}, section="rows", title="kept")]
        second = [table({}, section="auto", title="new"), table({}, section="conv", title="added")]
        self.assertEqual([(each["section"], each["title"]) for each in results.merged([first, second])], [("auto", "new"), ("rows", "kept"), ("conv", "added")])

    def test_a_run_says_its_device_once(self):
        one = {"section": "auto", "title": "t"}
        self.assertEqual(results.tables_in({"device": "d", "date": "n", "command": "c", "tables": [one]}), [{"device": "d", "date": "n", "command": "c", **one}])
        self.assertEqual(results.tables_in({"tables": [{"device": "own", **one}]})[0]["device"], "own")


class Pictures(unittest.TestCase):
    def made(self, *tables):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "run.json").write_text(json.dumps({"tables": tables}))
            (path / "page.md").write_text(f"before\n{plots.BEGIN}\nold\n{plots.END}\nafter\n")
            return {each.name: content for each, content in plots.outputs(path / "run.json", path / "page.md", path).items()}

    def test_a_picture_has_a_bar_and_a_number_for_each_row(self):
        made = self.made(table({"cuBLAS": arm(10, steady=[10]), "auto": arm(8, steady=[12]), "Triton": arm(16)}))
        self.assertEqual(sorted(made), ["h200-gemm.svg", "page.md"])
        root = xml.fromstring(made["h200-gemm.svg"])
        words = " ".join(root.itertext())
        self.assertIn("1.250 ×", words)
        self.assertIn("f16 GEMM 8x8x8", words)
        classes = [each.get("class") for each in root.iter()]
        self.assertEqual([classes.count(name) for name in ("burst", "steady", "triton")], [1, 1, 1])
        self.assertIn("prefers-color-scheme: dark", made["h200-gemm.svg"])

    def test_titles_are_escaped(self):
        made = self.made(table({"cuBLAS": arm(10), "auto": arm(8)}, title="a < b & c"))
        self.assertIn("a < b & c", " ".join(xml.fromstring(made["h200-gemm.svg"]).itertext()))

    def test_what_is_beyond_the_scale_stays_inside_the_picture(self):
        made = self.made(table({"cuBLAS": arm(100), "auto": arm(8)}))
        self.assertIn("12.500 ×", " ".join(xml.fromstring(made["h200-gemm.svg"]).itertext()))
        self.assertIn("beyond the scale", made["h200-gemm.svg"])
        self.assertLess(plots.Lanes(plots.PICTURES[0]).x(12.5), plots.WIDTH - plots.RIGHT + 1)

    def test_the_page_keeps_what_was_written_by_hand(self):
        page = self.made(table({"cuBLAS": arm(10), "auto": arm(20)}))["page.md"]
        self.assertTrue(page.startswith("before\n") and page.endswith("\nafter\n"))
        self.assertNotIn("\nold\n", page)
        self.assertIn("| f16 GEMM 8x8x8 | auto | 0.500 |", page)
        self.assertIn("0 of 1 are as fast as cuBLAS or faster; the furthest behind is f16 GEMM 8x8x8, 0.500 ×.", page)

    def test_pictures_and_page_are_those_of_the_results(self):
        root = DEVICE.parent.parent
        made = plots.outputs(root / "bench" / "results" / "h200-timing.json", root / "docs" / "performance.md", root / "docs" / "pictures")
        for path, content in made.items():
            self.assertEqual(path.read_text(), content, f"{path.name}: run python3 bench/device/plots.py")


if __name__ == "__main__":
    unittest.main()
