"""First and second derivatives at special points, in all orders of modes, held against torch.

    python -m tests.func.special_points              # all functions (ten minutes); with words: those whose text has one of them

Where torch contradicts itself (its orders of modes disagree, or some are NaN), mstorch's orders have to agree with each other; EXCEPTIONS
lists the rest, each with its reason.
"""
from __future__ import annotations

import collections
import math
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import torch as reference

import mstorch
import mstorch.func
from tests.func.special_functions import OF_ELEMENTS, OF_SHARES, OF_VECTORS, POINTS, SHARES, VECTORS

ORDERS = ("r", "f", "rr", "fr", "rf", "ff")
"""First derivatives in reverse and forward mode; second ones: reverse over reverse, forward over reverse, and so on."""

# By a regular expression for the text of the function: why mstorch differs from torch there.
EXCEPTIONS = {
    r"hypot|atan2|addcdiv|log_ndtr|xlogy|kl_div\(torch\.zeros": "products of 1e-160 and of 1e160 leave the range of float64",
    r"vector_norm\(x,\.5\)": "infinity minus or times infinity",
    r"prod|pinv|svdvals": "products and decompositions of infinities",
    r"^x\.var\(\)|var_mean": "the variance of one element is NaN, and so is its derivative",
    r"^torch\.linalg\.norm\(torch\.outer\(x,x\),(2|'nuc')\)": "singular values that are equal have no second derivative",
    r"reduce\(x,'prod'|reduce\(0,.*'prod'\)": "torch's error for several zeros is raised in transforms, too",
    r"^x\.logit\(\)": "at -0 torch's plain backward gives infinity, as mstorch, and its transforms give minus infinity",
    r"^torch\.(complex|view_as_real).*(angle|sgn)\(\)": "at complex infinities and zeros together",
    r"slogdet": "of a singular matrix torch raises in some orders, and gives NaN in others",
    r"^torch\.polar\(x,x\)\.real": "torch's gradient of polar is that of a positive absolute value",
}  # fmt: skip


def _weights(torch: Any, result: Any) -> Any:
    return torch.linspace(1, 2, max(result.numel(), 1), dtype=torch.float64)[: result.numel()].reshape(result.shape)


def outcome(torch: Any, text: str, points: list[float], direction: list[float]) -> dict[str, Any]:
    """Return the derivatives of ``text`` in each order, as lists; the name of the error where one is raised."""
    f = eval(f"lambda x: {text}", {"torch": torch, "F": torch.nn.functional, "inf": math.inf})
    x, v = torch.tensor(points, dtype=torch.float64), torch.tensor(direction, dtype=torch.float64)
    grad, jvp = torch.func.grad, torch.func.jvp

    def total(x: Any) -> Any:
        result = f(x)
        return (result * _weights(torch, result)).sum()

    runs = {
        "r": lambda: grad(total)(x), "f": lambda: jvp(f, (x,), (v,))[1], "rr": lambda: grad(lambda y: (grad(total)(y) * v).sum())(x),
        "fr": lambda: jvp(grad(total), (x,), (v,))[1], "rf": lambda: grad(lambda y: jvp(total, (y,), (v,))[1])(x),
        "ff": lambda: jvp(lambda y: jvp(f, (y,), (v,))[1], (x,), (v,))[1],
    }  # fmt: skip
    found: dict[str, Any] = {}
    for order, run in runs.items():
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = run()
                weights = _weights(torch, result).reshape(-1).tolist() if order in ("f", "ff") else None
                found[order] = result.detach().reshape(-1).tolist()
                if weights is not None:
                    found[f"{order} weighted"] = [a * b for a, b in zip(found[order], weights)]
            except Exception as error:  # noqa: BLE001 - torch's class of error is what is compared
                found[order] = type(error).__name__
    return found


def near(a: float, b: float) -> bool:
    """Return whether two numbers are equal but for rounding, or both NaN, or the same infinity."""
    if a == b or a != a and b != b:
        return True
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= 1e-6 * max(1, abs(a))


def _all_near(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, str) or isinstance(b, str) else len(a) == len(b) and all(map(near, a, b))


def agrees_with_itself(found: dict[str, Any], direction: list[float], second: bool) -> bool:
    """Return whether the orders agree: products with the direction and the weights are equal, and nothing is NaN."""
    names = ("rr", "fr", "rf", "ff") if second else ("r", "f")
    if any(isinstance(found[name], str) or any(map(math.isnan, found[name])) for name in names):
        return False
    whole = [math.fsum(a * b for a, b in zip(found[name], direction)) for name in names[:-1]]
    whole.append(math.fsum(found[f"{names[-1]} weighted"]))
    if second and not (_all_near(found["rr"], found["fr"]) and _all_near(found["rr"], found["rf"])):
        return False
    return all(near(whole[0], other) for other in whole[1:])


def _at(found: dict[str, Any], places: list[int]) -> dict[str, Any]:
    return {name: values if isinstance(values, str) else [values[place] for place in places] for name, values in found.items()}


def verdicts(text: str, points: list[float], direction: list[float]) -> Iterator[tuple[str, str]]:
    """Yield for the first and the second derivatives a word, and what differs: "equal", "torch raises", "torch contradicts itself",
    "excepted" or "different"."""
    want, got = outcome(reference, text, points, direction), outcome(mstorch, text, points, direction)
    for orders, second in ((ORDERS[:2], False), (ORDERS[2:], True)):
        differing = [order for order in orders if not _all_near(want[order], got[order])]
        lists = [found[order] for order in differing for found in (want, got)]
        if text not in OF_VECTORS and differing and not any(isinstance(item, str) for item in lists):  # each point is judged alone
            places = [i for i in range(len(points)) if any(not near(want[order][i], got[order][i]) for order in differing)]
            judged, mine, way = _at(want, places), _at(got, places), [direction[place] for place in places]
        else:
            judged, mine, way = want, got, direction
        told = "; ".join(f"{order}: torch {want[order]}, mstorch {got[order]}" for order in differing)
        if not differing:
            yield "equal", ""
        elif all(isinstance(want[order], str) for order in differing):
            yield "torch raises", told  # where mstorch has a derivative that torch lacks
        elif not agrees_with_itself(judged, way, second) and agrees_with_itself(mine, way, second):
            yield "torch contradicts itself", told
        else:
            yield "excepted" if _excepted(text) else "different", told


def _excepted(text: str) -> bool:
    return any(re.search(pattern, text) for pattern in EXCEPTIONS)


def mapped_differences(text: str, points: list[float]) -> list[str]:
    """Return where derivatives under vmap, as in jacfwd and hessian, differ from those of each direction alone; functions that vmap
    refuses are left out."""
    func = mstorch.func
    f = eval(f"lambda x: {text}", {"torch": mstorch, "F": mstorch.nn.functional, "inf": math.inf})
    x, directions = mstorch.tensor(points, dtype=mstorch.float64), mstorch.eye(len(points), dtype=mstorch.float64)

    def total(x: Any) -> Any:
        result = f(x)
        return (result * _weights(mstorch, result)).sum()

    runs: dict[str, Any] = {
        "f": lambda x, v: func.jvp(f, (x,), (v,))[1], "fr": lambda x, v: func.jvp(func.grad(total), (x,), (v,))[1],
        "rr": lambda x, v: func.vjp(func.grad(total), x)[1](v)[0], "rf": lambda x, v: func.grad(lambda y: func.jvp(total, (y,), (v,))[1])(x),
    }  # fmt: skip
    found = []
    for order, run in runs.items():
        for batched in (False, True):
            mstorch.manual_seed(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    alone = [run(x, v).reshape(-1).tolist() for v in directions]
                    points_of_slices = x.expand(len(points), -1) if batched else x
                    mapped = func.vmap(run, (0 if batched else None, 0), randomness="same")(points_of_slices, directions)
                except (RuntimeError, ValueError):
                    continue
            for v, (one, other) in enumerate(zip(alone, mapped.reshape(len(points), -1).tolist(), strict=True)):
                if not _all_near(one, other):
                    found.append(f"{order}{' of mapped points' if batched else ''}, direction {v}: alone {one}, mapped {other}")
    return found


def cases() -> Iterator[tuple[str, str, list[float], list[float]]]:
    """Yield the text of each function, the name of the points, the points, and a direction."""
    for text in OF_ELEMENTS:
        for name, points in (("finite", POINTS[:14]), ("far", POINTS[14:])):
            yield text, name, points, [1.0] * len(points)
    for text in OF_SHARES:
        yield text, "shares", SHARES, [1.0] * len(SHARES)
    for text in OF_VECTORS:
        for name, points in VECTORS.items():
            yield text, name, points, [0.5 + i / max(len(points) - 1, 1) for i in range(len(points))]


def main(words: list[str]) -> int:
    """Print the differences and the totals; return the number of differences without a reason."""
    totals: collections.Counter[str] = collections.Counter()
    for text, name, points, direction in cases():
        if words and not any(word in text for word in words):
            continue
        for word, told in verdicts(text, points, direction):
            totals[word] += 1
            if word == "different":
                print(f"{text} at {name}: {told}", flush=True)
        if not _excepted(text):
            for told in mapped_differences(text, points):
                totals["different"] += 1
                print(f"{text} at {name}, under vmap: {told}", flush=True)
    print(", ".join(f"{word}: {count}" for word, count in sorted(totals.items())))
    return totals["different"]


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
