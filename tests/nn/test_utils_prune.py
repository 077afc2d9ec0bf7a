"""Pruning, fusion, stateless calls and other utilities of torch.nn.utils, compared with torch."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.utils.prune  # noqa: F401 - not imported by torch itself

from tests.against_torch import state

Both = Callable[..., Any]


PRUNERS: dict[str, Callable[[Any, Any], Any]] = {
    "identity": lambda p, m: p.identity(m, "weight"),
    "random share": lambda p, m: p.random_unstructured(m, "weight", 0.3),
    "random count": lambda p, m: p.random_unstructured(m, "weight", 5),
    "l1": lambda p, m: p.l1_unstructured(m, "weight", 0.5),
    "l1 none": lambda p, m: p.l1_unstructured(m, "weight", 0),
    "random channels": lambda p, m: p.random_structured(m, "weight", 2, dim=0),
    "ln channels": lambda p, m: p.ln_structured(m, "weight", 0.5, n=2, dim=1),
    "l1 channels": lambda p, m: p.ln_structured(m, "weight", 1, n=1, dim=-1),
    "twice": lambda p, m: p.ln_structured(p.l1_unstructured(m, "weight", 0.3), "weight", 1, n=2, dim=0),
    "thrice": lambda p, m: p.l1_unstructured(p.random_structured(p.l1_unstructured(m, "weight", 3), "weight", 1, 0), "weight", 3),
}


@pytest.mark.parametrize("name", PRUNERS)
def test_prune(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        prune = torch.nn.utils.prune
        layer = torch.nn.Linear(5, 4)
        PRUNERS[name](prune, layer)
        x = torch.ones(2, 5)
        layer(x).sum().backward()
        result = [state(layer), layer.weight.detach().clone(), layer.weight_orig.grad, prune.is_pruned(layer)]
        result += [[type(hook).__name__ for hook in layer._forward_pre_hooks.values()]]
        twin = copy.deepcopy(prune.remove(layer, "weight"))
        return [*result, state(twin), prune.is_pruned(layer), [n for n, _ in layer.named_parameters()], layer(x).detach()]

    both(body, strides=False)


def test_scores_masks_and_global(both: Both) -> None:
    def body(torch: Any) -> Any:
        prune = torch.nn.utils.prune
        net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
        prune.l1_unstructured(net[0], "bias", 1, importance_scores=torch.tensor([3.0, 1.0, 2.0]))
        prune.custom_from_mask(net[2], "bias", torch.tensor([0, 1]))
        pairs = ((net[0], "weight"), (net[2], "weight"))
        prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.4)
        prune.global_unstructured(pairs, pruning_method=prune.RandomUnstructured, amount=3)
        loose = prune.L1Unstructured(2).prune(torch.tensor([3.0, -1.0, 2.0]))
        return state(net), net(torch.ones(1, 4)).detach(), loose

    both(body)


@pytest.mark.parametrize("body", [
    lambda t, p, m: p.random_unstructured(m, "weight", 1.5),
    lambda t, p, m: p.random_unstructured(m, "weight", -1),
    lambda t, p, m: p.random_unstructured(m, "weight", "much"),
    lambda t, p, m: p.l1_unstructured(m, "weight", 1000),
    lambda t, p, m: p.ln_structured(m, "bias", 1, n=2, dim=0),
    lambda t, p, m: p.ln_structured(m, "weight", 1, n=2, dim=4),
    lambda t, p, m: p.remove(m, "weight"),
    lambda t, p, m: p.l1_unstructured(m, "weight", 1, importance_scores=t.ones(2)),
    lambda t, p, m: p.PruningContainer().add_pruning_method(3),
])  # fmt: skip
def test_prune_errors(both: Both, body: Callable[..., Any]) -> None:
    both(lambda torch: body(torch, torch.nn.utils.prune, torch.nn.Linear(3, 3)))


def test_global_prune_of_channels(both: Both) -> None:
    def body(torch: Any) -> Any:
        prune = torch.nn.utils.prune
        prune.global_unstructured([(torch.nn.Linear(3, 3), "weight")], prune.LnStructured, amount=1, n=2)

    both(body, message='Only "unstructured" PRUNING_TYPE supported for the `pruning_method`.')


def _ready(torch: Any, layer: Any, bn: Any) -> Any:
    for name in ("running_mean", "running_var", "weight", "bias"):
        if getattr(bn, name) is not None:
            getattr(bn, name).data.uniform_(0.5, 1.5)
    return layer.eval(), bn.eval()


@pytest.mark.parametrize("kind", ["conv", "conv without bias", "plain norm", "transposed", "linear"])
def test_fusion(both: Both, kind: str) -> None:
    def body(torch: Any) -> Any:
        nn, utils = torch.nn, torch.nn.utils
        if kind == "linear":
            layer, bn = _ready(torch, nn.Linear(4, 3), nn.BatchNorm1d(3))
            fused, x = utils.fuse_linear_bn_eval(layer, bn), torch.randn(2, 4)
        elif kind == "transposed":
            layer, bn = _ready(torch, nn.ConvTranspose2d(2, 3, 3), nn.BatchNorm2d(3))
            fused, x = utils.fuse_conv_bn_eval(layer, bn, transpose=True), torch.randn(2, 2, 5, 5)
        else:
            bn = nn.BatchNorm2d(3, affine=kind != "plain norm")
            layer, bn = _ready(torch, nn.Conv2d(2, 3, 3, bias=kind == "conv"), bn)
            fused, x = utils.fuse_conv_bn_eval(layer, bn), torch.randn(2, 2, 5, 5)
        assert torch.allclose(fused(x), bn(layer(x)), atol=1e-5)
        return state(fused), fused(x).detach()

    both(body, rtol=1e-4, atol=1e-5, strides=False)


def test_fusion_needs_eval(both: Both) -> None:
    both(lambda torch: torch.nn.utils.fuse_conv_bn_eval(torch.nn.Conv2d(1, 1, 1), torch.nn.BatchNorm2d(1)))
    both(lambda torch: torch.nn.utils.fuse_linear_bn_eval(torch.nn.Linear(1, 2).eval(), torch.nn.BatchNorm1d(3).eval()))


def test_skip_init_draws_nothing(both: Both) -> None:
    def body(torch: Any) -> Any:
        layer = torch.nn.utils.skip_init(torch.nn.Linear, 3, 2, bias=False)
        return tuple(layer.weight.shape), list(layer.state_dict()), torch.rand(2)

    both(body)
    both(lambda torch: torch.nn.utils.skip_init(int))
    both(lambda torch: torch.nn.utils.skip_init(torch.nn.ReLU))


def test_memory_format(both: Both) -> None:
    def body(torch: Any) -> Any:
        net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.ConvTranspose2d(3, 2, 3), torch.nn.Linear(5, 2))
        torch.nn.utils.convert_conv2d_weight_memory_format(net, torch.channels_last)
        x = torch.randn(2, 2, 5, 5)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(2):
            optimizer.zero_grad()
            loss = net(x).square().sum()
            loss.backward()
            optimizer.step()
        return [p.stride() for p in net.parameters()], net[0].weight.detach(), loss.detach()

    both(body, rtol=1e-4, atol=1e-5)


class TestStateless:
    """Tests of torch.nn.utils.stateless.functional_call, which has the same rules as torch.func's."""

    @staticmethod
    def net(torch: Any, tied: bool = False) -> Any:
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2))
        if tied:
            net[2].weight = net[0].weight
        return net

    def test_replaces_and_restores(self, both: Both) -> None:
        def body(torch: Any) -> Any:
            net = self.net(torch)
            own = net[0].weight
            tensors = {"0.weight": torch.ones(2, 2, requires_grad=True), "1.running_mean": torch.zeros(2)}
            result = torch.nn.utils.stateless.functional_call(net, tensors, torch.tensor([[1.0, 2.0], [0.0, 1.0]]))
            result.sum().backward()
            return result, tensors["0.weight"].grad, tensors["1.running_mean"], state(net), net[0].weight is own

        both(body)

    @pytest.mark.parametrize("names", [["0.weight"], ["2.weight"], ["0.weight", "2.weight"]])
    @pytest.mark.parametrize("tie_weights", [True, False])
    def test_ties(self, both: Both, names: list[str], tie_weights: bool) -> None:
        def body(torch: Any) -> Any:
            tensors = {name: torch.full((2, 2), i + 1.0) for i, name in enumerate(names)}
            net = self.net(torch, tied=True).eval()
            call = torch.nn.utils.stateless.functional_call
            return call(net, tensors, (torch.ones(1, 2),), tie_weights=tie_weights).detach()

        both(body)

    @pytest.mark.parametrize("tie_weights", [False, True])
    def test_as_a_context(self, both: Both, tie_weights: bool) -> None:
        def body(torch: Any) -> Any:
            class Counting(torch.nn.Module):
                def __init__(self) -> None:
                    super().__init__()
                    self.register_buffer("count", torch.zeros(1))

                def forward(self, x: Any) -> Any:
                    self.count = self.count + 1
                    return x

            stateless = torch.nn.utils.stateless
            net = torch.nn.Sequential(self.net(torch, tied=True).eval(), Counting())
            own, tensors = net[0][0].weight, {"0.0.weight": torch.ones(2, 2), "1.count": torch.tensor([9.0])}
            untied = stateless._untie_named_tensors_map(net, tensors)
            with stateless._reparametrize_module(net, tensors, tie_weights) as entered:
                inside = [entered, net[0][0].weight is tensors["0.0.weight"], net[0][2].weight is tensors["0.0.weight"], net(torch.ones(1, 2))]
                names = [name for name, _ in net.named_parameters()]
            try:
                with stateless._reparametrize_module(net, {"0.0.bias": torch.ones(2)}, stack_weights=True):
                    raise ValueError
            except ValueError:
                return inside, names, tensors["1.count"], net[1].count, net[0][0].weight is own, sorted(untied), state(net)

        both(body)

    def test_errors(self, both: Both) -> None:
        call = lambda torch, net, *args, **kwargs: torch.nn.utils.stateless.functional_call(net, *args, **kwargs)
        both(lambda torch: call(torch, torch.nn.Linear(1, 1), {"weight": torch.ones(1, 1)}, torch.ones(1, 1), strict=True))
        both(lambda torch: call(torch, torch.nn.Linear(1, 1, False), {"weight": torch.ones(1, 1), "b": torch.ones(1)},
                                torch.ones(1, 1), strict=True))  # fmt: skip

        def raises(torch: Any) -> Any:
            net = torch.nn.Linear(2, 1)
            own = net.weight
            try:
                call(torch, net, {"weight": torch.ones(1, 3)}, torch.ones(1, 2))
            except RuntimeError:
                return net.weight is own

        both(raises)


def test_linear_cross_entropy(both: Both) -> None:
    def body(torch: Any) -> Any:
        torch_nn = torch.nn
        x = torch.randn(9, 4, requires_grad=True)
        target = torch.tensor([0, 2, 1, -100, 4, 3, 2, 2, 0])
        results = []
        for reduction in ("mean", "sum", "none"):
            for rows in (None, 1, 4, 100):
                options = None if rows is None else torch_nn.LinearCrossEntropyOptions(batch_chunk_size=rows)
                layer = torch_nn.LinearCrossEntropyLoss(4, 5, bias=True, reduction=reduction, options=options, weight=torch.rand(5) + 1)
                loss = layer(x, target)
                (loss * torch.linspace(1, 2, loss.numel()).reshape(loss.shape)).sum().backward()
                results += [loss.detach(), x.grad.clone(), layer.linear.weight.grad, layer.linear.bias.grad]
                x.grad = None
        return results, repr(torch_nn.LinearCrossEntropyLoss(4, 5, options=torch_nn.LinearCrossEntropyOptions()))

    both(body, rtol=1e-4, atol=1e-5)
    both(lambda torch: torch.nn.LinearCrossEntropyLoss(2, 3, weight=torch.ones(2)))
    both(lambda torch: torch.nn.LinearCrossEntropyOptions(chunking_method="some"))
    both(lambda torch: torch.nn.LinearCrossEntropyOptions(batch_chunk_size=0))


def test_chunks_in_half_precision(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.randn(6, 4).bfloat16().requires_grad_()
        w = torch.randn(5, 4).bfloat16().requires_grad_()
        loss = torch.nn.functional.linear_cross_entropy(
            x, w, torch.tensor([0, 2, 1, 4, 3, 2]), options=torch.nn.LinearCrossEntropyOptions()
        )
        loss.backward()
        return loss.detach(), x.grad, w.grad

    both(body, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("options", [{"output_size": 3}, {"output_ratio": 0.5, "return_indices": True}])
def test_fractional_pool(both: Both, rank: int, options: dict[str, Any]) -> None:
    def body(torch: Any) -> Any:
        pool = getattr(torch.nn, f"FractionalMaxPool{rank}d")(2, **options)
        x = torch.randn(2, 3, *(7, 8, 9)[:rank], requires_grad=True)
        found = pool(x)
        found = found if isinstance(found, tuple) else (found,)
        (found[0] * torch.linspace(1, 2, found[0].numel()).reshape(found[0].shape)).sum().backward()
        broken = x.detach().clone()
        broken[0, 0] = float("nan")
        samples = torch.tensor([[[0.3, 0.6, 0.9][:rank]] * 3] * 2)
        function = getattr(torch.nn.functional, f"fractional_max_pool{rank}d_with_indices")
        return found, x.grad, pool(x[0]), function(broken, 2, output_size=3, _random_samples=samples), torch.rand(2)

    both(body, strides=False)


@pytest.mark.parametrize("body", [
    lambda f, x: f.fractional_max_pool2d(x, 3),
    lambda f, x: f.fractional_max_pool2d(x, 3, output_size=(7, 7)),
    lambda f, x: f.fractional_max_pool2d(x, (3, 3, 3), output_size=4),
    lambda f, x: f.fractional_max_pool2d(x, 3, output_size=4, _random_samples=x[:, :, 0, :1]),
    lambda f, x: f.fractional_max_pool2d(x, 3, output_size=4, _random_samples=x.double()),
    lambda f, x: f.fractional_max_pool3d(x.unsqueeze(2), 1, output_size=(1, 4, 4)),
    lambda f, x: f.fractional_max_pool2d(x[:, :0], 3, output_size=4),
])  # fmt: skip
def test_fractional_pool_errors(both: Both, body: Callable[..., Any]) -> None:
    both(lambda torch: body(torch.nn.functional, torch.zeros(2, 3, 8, 9)))


def test_sync_batch_norm_and_data_parallel(both: Both) -> None:
    def body(torch: Any) -> Any:
        net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Sequential(torch.nn.BatchNorm1d(3)))
        net = torch.nn.DataParallel(torch.nn.SyncBatchNorm.convert_sync_batchnorm(net))
        x = torch.randn(2, 2, 5, 5)
        for _ in range(2):
            result = net(x)
        return result.detach(), state(net), net.eval()(x).detach(), repr(net)

    both(body, rtol=1e-4, atol=1e-5, strides=False)
    both(lambda torch: torch.nn.SyncBatchNorm(3)(torch.ones(3)))


def test_small_names(both: Both) -> None:
    both(lambda torch: torch.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": torch.float64}})["dtype"])
    both(lambda torch: torch.nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}}))
    both(lambda torch: list(torch.nn.Container(a=torch.nn.ReLU()).named_children())[0][0])
    both(lambda torch: torch.nn.functional.native_channel_shuffle(torch.arange(8.0).reshape(1, 4, 2, 1), 2))

    def dispatched(torch: Any) -> Any:
        chosen = torch.nn.functional.boolean_dispatch("flag", 1, False, lambda x, flag=0: x + 1, lambda x, flag=0: x, None, "f")
        return chosen(1), chosen(1, True), chosen(1, flag=True), chosen.__name__

    both(dispatched)

    def overridden(torch: Any) -> Any:
        class Own:
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return func.__name__, len(types), args

        f = torch.nn.functional
        own = Own()
        return (
            f.has_torch_function((own,)), f.has_torch_function_unary(1), f.has_torch_function_variadic(1, own),
            f.handle_torch_function(f.relu, (own,), 1)[:2],
        )  # fmt: skip

    both(overridden)


@pytest.mark.parametrize("shapes", [((8, 4), (2, 4, 8)), ((8, 8), (8, 4)), ((2, 3, 4), (4, 8)), ((2, 3, 4), (2, 4, 8))])
def test_grouped_mm(both: Both, shapes: tuple[Any, Any]) -> None:
    def body(torch: Any) -> Any:
        a, b = (torch.randn(*shape).bfloat16().float().requires_grad_() for shape in shapes)
        flat = 2 in (a.dim(), b.dim())
        offs = torch.tensor([4, 8], dtype=torch.int32) if flat else None
        result = torch.nn.functional.grouped_mm(a, b, offs=offs)
        return result.detach()

    both(body, strides=False, rtol=1e-4, atol=1e-4)
    both(lambda torch: torch.nn.functional.grouped_mm(torch.ones(4, 4), torch.ones(4, 4)))
