"""Deprecated launcher, python -m mstorch.distributed.launch: ``--use-env`` is always in effect."""
from __future__ import annotations

from collections.abc import Sequence

from .run import get_args_parser, run


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; ``--use-env`` is accepted and has no effect, as in torch."""
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", default=False, action="store_true")
    run(parser.parse_args(args))


if __name__ == "__main__":
    main()
