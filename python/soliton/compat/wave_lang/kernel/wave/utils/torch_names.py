"""torch's element types by name, for defaults of templates; without torch, Wave's own stand for them."""

from soliton._types import TYPES

try:
    import torch
except ModuleNotFoundError:
    torch = None


def _type(theirs: str, ours: str):
    return TYPES[ours] if torch is None else getattr(torch, theirs)


float16, float32, bfloat16 = _type("float16", "f16"), _type("float32", "f32"), _type("bfloat16", "bf16")
float8_e4m3fnuz, int32 = _type("float8_e4m3fnuz", "f8e4m3fnuz"), _type("int32", "i32")

__all__ = ["bfloat16", "float16", "float32", "float8_e4m3fnuz", "int32"]
