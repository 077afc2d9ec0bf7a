"""Training and inference of sixteen networks beside torch: the seven of ``networks.py`` and the nine of ``more_networks.py``.

    python benchmarks/by_network.py [--only TEXT] [--rounds 3] [--markdown FILE]

Each library has one process, of one thread, and the two take turns at each network. What is compared is the CPU time of a step, the least
of several, so that other load on the machine matters little.
"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import argparse
import pathlib
from statistics import geometric_mean
from typing import Any

from _measure import LIBRARIES, Server, ask_in_turn, least_of_rounds, serve
from jobs import inference, training
from more_networks import MORE
from networks import NETWORKS

NETWORKS.update(MORE)
Row = tuple[str, str, float, float]


def answer(torch: Any, question: Any) -> dict[str, Any]:
    """Time a step of a network, in milliseconds."""
    kind, name = question
    step = (training if kind == "train" else inference)(torch, name)
    return {"time": least_of_rounds(step, 10, 0.02, 0.5) / 1e3}


def compare(kind: str, name: str, servers: dict[str, Server], rounds: int) -> Row:
    """Time a network in both libraries in turn."""
    least = ask_in_turn(servers, (kind, name), rounds)
    return kind, name, least["torch"]["time"], least["mstorch"]["time"]


def as_markdown(rows: list[Row]) -> str:
    """Return the means and the rows as tables."""
    lines = ["| | geometric mean of mstorch / torch | largest |", "|---|---|---|"]
    for kind in ("train", "infer"):
        ratios = [ours / theirs for own, _, theirs, ours in rows if own == kind]
        if ratios:
            step = "a training step" if kind == "train" else "an inference step"
            lines.append(f"| {step}, {len(ratios)} networks | {geometric_mean(ratios):.2f} | {max(ratios):.2f} |")
    lines += ["", "| network | torch, ms | mstorch, ms | ratio |", "|---|---|---|---|"]
    lines += [f"| {kind} {name} | {theirs:.3g} | {ours:.3g} | {ours / theirs:.2f} |" for kind, name, theirs, ours in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="networks whose name has this text: 'train gpt'")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--serve", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, answer)
        return
    servers, rows = {library: Server(__file__, library) for library in LIBRARIES}, []
    try:
        for kind in ("train", "infer"):
            for name in NETWORKS:
                if options.only in f"{kind} {name}":
                    rows.append(compare(kind, name, servers, options.rounds))
                    print(f"{kind} {name}: torch {rows[-1][2]:.3g} ms, mstorch {rows[-1][3]:.3g} ms", file=sys.stderr, flush=True)
    finally:
        for server in servers.values():
            server.end()
    text = as_markdown(rows)
    print(text)
    if options.markdown is not None:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
