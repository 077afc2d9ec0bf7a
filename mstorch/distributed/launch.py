"""The older way to start a script in several processes: python -m mstorch.distributed.launch, without --use-env as with it."""
from __future__ import annotations

from collections.abc import Sequence

from .run import get_args_parser, run


def main(args: Sequence[str] | None = None) -> None:
    """The command line; ``--use-env`` is taken and changes nothing, as in torch."""
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", default=False, action="store_true")
    run(parser.parse_args(args))


if __name__ == "__main__":
    main()
