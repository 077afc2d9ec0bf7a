"""Operations and their derivatives, written once for any library of arrays; README.md explains."""
