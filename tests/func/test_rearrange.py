"""torch.func.rearrange against torch: shapes, strides, values, gradients, errors."""
from __future__ import annotations

import pytest

PATTERNS = [
    ("a b c -> c b a", {}),
    ("a b c -> (a b) c", {}),
    ("a b c -> a (c b)", {}),
    ("a (b1 b2) c -> b1 a b2 c", {"b1": 2}),
    ("a (b1 b2) c -> (a b2) (c b1)", {"b2": 2, "b1": 2}),
    ("... c -> c ...", {}),
    ("a ... -> (...) a", {}),
    ("...->(...)", {}),
    ("... -> ...", {}),
    ("a b c ... -> ... a b c", {}),
    ("a b c -> a b c 1", {}),
    ("a b c -> a () b c", {}),
    ("a b (c 1) -> (1 a) b c", {}),
    ("1 b c -> b c", {}),
    ("a b c -> (a b c)", {"a": 2}),
    ("a  b c->a   c b", {}),
]
WRONG = [
    ("a b c", {}),
    ("a b -> b a", {}),
    ("a b c d ... -> ... a b c d", {}),
    ("a b c -> a b", {}),
    ("a a b -> a b", {}),
    ("a 3 b -> a b 3", {}),
    ("a b c -> a 0 b c", {}),
    ("a b c -> a b c", {"d": 3}),
    ("a b c -> a b c", {"a": 3}),
    ("a (b1 b2) c -> b1 b2 a c", {"b1": 3}),
    ("a (b1 b2) c -> b1 b2 a c", {}),
    ("a (b1 b2) c -> b1 b2 a c", {"b1": 4, "b2": 2}),
    ("a b c -> a (b c", {}),
    ("a b c) -> a b c", {}),
    ("a b ((c)) -> a b c", {}),
    ("a b c -> ... a b c", {}),
    ("(...) a-> ... a", {}),
    ("a b .. -> a b ..", {}),
    ("a b... ... -> a b ...", {}),
    ("a b c# -> a b c", {}),
    ("_a b c -> _a b c", {}),
    ("a 1b c -> a 1b c", {}),
    ("a b c -> a b c", {"a": "2"}),
]


@pytest.mark.parametrize(("pattern", "lengths"), PATTERNS)
def test_patterns(pattern, lengths, both):
    def body(t):
        x = t.arange(24.0).reshape(2, 4, 3)[: 1 if pattern[0] == "1" else 2].requires_grad_()
        result = t.func.rearrange(x, pattern, **lengths)
        result.sin().sum().backward()
        return result, x.grad

    both(body, strides="1 " not in pattern + " " and "()" not in pattern)


@pytest.mark.parametrize(("pattern", "lengths"), WRONG)
def test_wrong_patterns(pattern, lengths, both):
    both(lambda t: t.func.rearrange(t.zeros(2, 4, 3), pattern, **lengths))


def test_several_tensors_and_none(both):
    both(lambda t: t.func.rearrange([t.zeros(2, 3), t.ones(2, 3)], "n a b -> a (n b)"))
    both(lambda t: [t.func.rearrange(t.tensor(3), "->"), t.func.rearrange(t.zeros(0, 2), "(a d) b -> (a b) d", d=2)])


def test_views(both):
    def body(t):
        x = t.zeros(2, 4, 3)
        t.func.rearrange(x, "a (b c) d -> c a b d", c=2)[1] += 5
        return x

    both(body)
