"""Arms of ours: images, loaded, bound to sets of buffers, run once and compared before anybody times them."""
import functools

from launch import Kernel
from protocol import measure


class Bench:
    """The device and the images, what went wrong so far, and whether power-limited speeds are measured too."""

    def __init__(self, driver, compiler, steady=True):
        self.driver, self.compiler, self.steady, self.problems = driver, compiler, steady, []

    def measure(self, arms):
        return measure(arms, self.steady)

    def arm(self, arms, name, plan, check):
        """Adds an arm of ours: `plan` is a list of (words of an image, its arguments for each set of buffers), launched one after the
        other. It runs once on the first set; `check` says what is wrong with the result, or nothing."""
        import torch

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


def run_all(runs):
    for run in runs:
        run()


def difference(result, wanted, bound):
    """What is wrong with a result that may be off by `bound` of the largest number wanted; None where nothing is."""
    error = ((result.float() - wanted).abs().max() / wanted.abs().max()).item()
    return None if error < bound else f"relative error {error}"
