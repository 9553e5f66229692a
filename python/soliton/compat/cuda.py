""""cuda" means the CPU where there is no GPU: `torch.zeros(…, device="cuda")`, `tensor.cuda()`, `tensor.to("cuda:0")`."""

from __future__ import annotations

import importlib.util


def is_needed() -> bool:
    """Is torch there, and no GPU?"""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return not torch.cuda.is_available()


def _is_cuda(value) -> bool:
    import torch

    if isinstance(value, str):
        return value == "cuda" or value.startswith("cuda:")
    return isinstance(value, torch.device) and value.type == "cuda"


def _on_cpu(value):
    return "cpu" if _is_cuda(value) else value


def _mode():
    import torch
    from torch.overrides import TorchFunctionMode

    class CudaIsCpu(TorchFunctionMode):
        """Every call of torch passes here."""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = {name: _on_cpu(value) for name, value in (kwargs or {}).items()}
            if function is torch.Tensor.cuda:
                return args[0]
            if function is torch.Tensor.to:
                args = (args[0], *map(_on_cpu, args[1:]))
            return function(*args, **kwargs)

    return CudaIsCpu()


def enter() -> None:
    """For the rest of the process."""
    import torch

    _mode().__enter__()
    torch.cuda.synchronize = lambda device=None: None
