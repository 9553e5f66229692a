"""Arms of ours: images, loaded, bound to sets of buffers, run once and compared before anybody times them. Arms of Triton, where it is."""
import functools

from launch import Kernel
from protocol import measure


class Bench:
    """The device and the images, what went wrong so far, and whether power-limited speeds are measured too."""

    def __init__(self, driver, compiler, steady=True, wanted=""):
        self.driver, self.compiler, self.steady, self.wanted, self.problems, self.left_out = driver, compiler, steady, wanted, [], []

    def measure(self, arms):
        return measure(arms, self.steady)

    def arm(self, arms, name, plan, check):
        """Adds an arm of ours: `plan` is a list of (words of an image, its arguments for each set of buffers), launched one after the
        other. It runs once on the first set; `check` says what is wrong with the result, or nothing."""
        import torch

        if self.wanted not in name:
            return
        try:
            steps = [[kernel.bound(each) for each in sets] for kernel, sets in
                     ((Kernel(self.driver, self.compiler, words), sets) for words, sets in plan)]
            functions = [functools.partial(run_all, runs) if len(runs) > 1 else runs[0] for runs in zip(*steps)]
            functions[0]()
            torch.cuda.synchronize()
            wrong = check()
        except RuntimeError as error:
            wrong = str(error)
        if wrong:
            self.problems.append(f"{name}: {wrong}")
        else:
            arms[name] = functions


    def triton(self, arms, name, launch, sets, check):
        """Adds an arm of triton_arms.py, which `launch(its module, *a set of buffers)` runs. What Triton cannot do, or does wrong, is none."""
        import torch

        if self.wanted not in name:
            return None
        try:
            import triton_arms

            if not triton_arms.TRITON:
                return self.leave_out(triton_arms.WHY_NOT)
            functions = [functools.partial(launch, triton_arms, *each) for each in sets]
            functions[0]()
            torch.cuda.synchronize()
            wrong = check()
        except Exception as error:  # what a compiler of others may throw is its own affair
            wrong = f"{type(error).__name__}: {error}".splitlines()[0]
        if wrong:
            return self.leave_out(f"{name}: {wrong}")
        arms[name] = functions

    def leave_out(self, why):
        if why not in self.left_out:
            self.left_out.append(why)


def run_all(runs):
    for run in runs:
        run()


def difference(result, wanted, bound):
    """What is wrong with a result that may be off by `bound` of the largest number wanted; None where nothing is."""
    error = ((result.float() - wanted).abs().max() / wanted.abs().max()).item()
    return None if error < bound else f"relative error {error}"
