"""A handler of `debug_log` that writes a page of tables."""

import html
import pathlib


def html_viewer(logs: dict, path="debug_logs.html") -> None:
    """Writes every log as a table: `tkw.debug_log(x, handler=html_viewer)`."""
    parts = ["<!doctype html><meta charset=utf-8><title>debug logs</title>"]
    for label, entry in logs.items():
        shape = ", ".join(map(str, entry["symbolic_shape"]))
        parts.append(f"<h2>{html.escape(label)} [{html.escape(shape)}]</h2><pre>{html.escape(str(entry['value']))}</pre>")
    pathlib.Path(path).write_text("\n".join(parts))
