"""What one looks at: schedules and layouts as text, as data, and as pictures in a notebook's cell."""

from __future__ import annotations

import html
import json
import pathlib


class LoopSchedule:
    """When the instructions of one loop happen."""

    def __init__(self, found: dict):
        self.loop: str = found["loop"]
        self.algorithm: str = found["algorithm"]
        self.interval: int = found["interval"]
        self.stages: int = found["stages"]
        self.html: str = found["html"]
        self.svg: str = found["svg"]
        self.file: str = found["file"]
        self.trace: str = found["trace"]
        self._table, self._json = found["table"], found["json"]

    def data(self) -> dict:
        """Every instruction, entry and hazard, as `soliton schedule --json` has them."""
        return json.loads(self._json)

    def save(self, path) -> None:
        """Writes it in the format of the name: `.html`, `.svg`, `.json` (a trace for Perfetto), `.schedule` (to edit and
        give back as `override_schedule`), otherwise the table."""
        suffix = pathlib.Path(path).suffix
        text = {".html": self.html, ".svg": self.svg, ".json": self.trace, ".schedule": self.file}.get(suffix, self._table)
        pathlib.Path(path).write_text(text)

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        return f"<schedule of {self.loop}: {self.algorithm}, {self.stages} stages, interval {self.interval}>"


class Schedule:
    """The schedules of a kernel's innermost loops, in program order.

    >>> print(run.schedule())            # a table
    >>> run.schedule().show()            # in a notebook: the page with the timeline
    >>> run.schedule()[0].save("gemm.html")
    """

    def __init__(self, kernel: str, loops: list[LoopSchedule]):
        self.kernel = kernel
        self.loops = loops

    def __len__(self) -> int:
        return len(self.loops)

    def __getitem__(self, index: int) -> LoopSchedule:
        return self.loops[index]

    def __iter__(self):
        return iter(self.loops)

    def __str__(self) -> str:
        return "\n".join(map(str, self.loops)) or f"`{self.kernel}` has no loop\n"

    def show(self):
        """The page in a notebook's cell; elsewhere the table goes to standard output."""
        if not _is_notebook():
            print(self, end="")
            return None
        return self

    def _repr_html_(self) -> str:
        # A page of its own: its script and styles stay inside of the frame.
        frame = '<iframe srcdoc="{}" style="width:100%;height:640px;border:0" sandbox="allow-scripts"></iframe>'
        frames = [frame.format(html.escape(loop.html, quote=True)) for loop in self.loops]
        return "\n".join(frames) or f"<p>{html.escape(str(self))}</p>"


def _is_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class LayoutPicture:
    """Who holds which element of a tile. A notebook's cell shows the picture, `print` the table."""

    def __init__(self, found: dict):
        self.title: str = found["title"]
        self.svg: str = found["svg"]
        self._text, self._json = found["text"], found["json"]

    def data(self) -> dict:
        """For each element its `[wave, lane, register]`."""
        return json.loads(self._json)

    def save(self, path) -> None:
        """`.svg` for the picture, `.json` for the data, otherwise the table."""
        suffix = pathlib.Path(path).suffix
        pathlib.Path(path).write_text({".svg": self.svg, ".json": self._json}.get(suffix, self._text))

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<layout {self.title}>"
