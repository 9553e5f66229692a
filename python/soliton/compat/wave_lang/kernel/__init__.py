"""The kernel language: `import wave_lang.kernel as tk`, then `tk.lang` and `tk.wave`."""

from . import lang, wave

__all__ = ["lang", "wave"]
