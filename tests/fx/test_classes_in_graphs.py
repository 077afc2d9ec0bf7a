"""Classes whose construction from proxies is a node of a graph (``ProxyableClassMeta``)."""
from __future__ import annotations

import pytest


def _traced(torch):
    class Pair(metaclass=torch.fx.ProxyableClassMeta):
        def __init__(self, left, right):
            self.left, self.right = left, right

        def total(self):
            return self.left + self.right

    return Pair, torch.fx.symbolic_trace(lambda x, y: Pair(x, right=[y][0]).total() * 2)


def test_an_object_is_made_in_the_graph(both):
    def body(torch):
        Pair, traced = _traced(torch)
        nodes = [(node.op, node.target if isinstance(node.target, str) else node.target is Pair) for node in traced.graph.nodes][:4]
        return nodes, traced(torch.ones(2), torch.ones(2)), Pair(1, 2).total(), isinstance(Pair(1, 2), Pair)

    both(body)


@pytest.mark.parametrize("nested", [False, True])
def test_what_new_returns_is_taken(both, nested):
    def body(torch):
        class Other(metaclass=torch.fx.ProxyableClassMeta):
            def __new__(cls, *args):
                return (3, args)

            def __init__(self, *args):
                seen.append(args)

        seen = []
        traced = torch.fx.symbolic_trace(lambda x: Other([x] if nested else x))
        return Other(1), seen, [node.op for node in traced.graph.nodes]

    both(body)
