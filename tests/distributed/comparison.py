"""Every collective with 0, 1 and 1,000,003 elements, compared with torch's gloo: python -m tests.distributed.comparison 2 4"""
from __future__ import annotations

import os
import sys

from tests.distributed import collective_cases, together


def main(sizes):
    os.environ[collective_cases.LARGE] = "1"
    for size in sizes:
        want, got = (together.run(library, collective_cases.__name__, size) for library in ("torch", "mstorch"))
        for rank in range(size):
            for name in want[rank]:
                together.same(want[rank][name], got[rank][name], f"{name}, rank {rank} of {size}")
        print(f"{size} processes: {len(want[0])} cases as gloo's, each with {', '.join(map(str, (0, 1, 1_000_003)))} elements", flush=True)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [2, 4])
