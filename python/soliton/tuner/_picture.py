"""The curve of a search: the latency of each candidate, and the best so far."""

from __future__ import annotations

import html
import math

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 240, 70, 40


def curve(latencies: list[float], title: str, times: str) -> str:
    """An SVG; candidates that were refused have no dot."""
    known = [each * 1e6 for each in latencies if math.isfinite(each)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    span = (high - low) or 1.0
    across = lambda i: LEFT + (WIDTH - LEFT - 20) * i / max(len(latencies) - 1, 1)  # noqa: E731
    up = lambda us: 30 + (HEIGHT - 30 - BOTTOM) * (high - us) / span  # noqa: E731
    dots, steps, best = [], [], math.inf
    for i, each in enumerate(latencies):
        if not math.isfinite(each):
            continue
        dots.append(f'<circle cx="{across(i):.1f}" cy="{up(each * 1e6):.1f}" r="3" fill="#8aa"/>')
        best = min(best, each * 1e6)
        steps.append(f"{across(i):.1f},{up(best):.1f}")
    texts = [(LEFT, 18, f"{title}: {len(latencies)} candidates, us {times}"), (4, up(high) + 4, f"{high:.2f}"), (4, up(low) + 4, f"{low:.2f}")]
    words = "".join(f'<text x="{x:.0f}" y="{y:.0f}" font-size="12" font-family="sans-serif">{html.escape(text)}</text>' for x, y, text in texts)
    line = f'<polyline points="{" ".join(steps)}" fill="none" stroke="#06c" stroke-width="2"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">{"".join(dots)}{line}{words}</svg>'
