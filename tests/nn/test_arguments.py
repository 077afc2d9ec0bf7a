"""Layers with empty batches and invalid arguments, with torch's messages."""
from __future__ import annotations

import pytest

EMPTY = {
    "encoder": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16), [(4, 0, 8)]),
    "decoder": (lambda nn: nn.TransformerDecoderLayer(8, 2, 16), [(4, 0, 8), (3, 0, 8)]),
    "transformer": (lambda nn: nn.Transformer(8, 2, 1, 1, 16, batch_first=True), [(0, 4, 8), (0, 3, 8)]),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_batches(both, name):
    def body(torch):
        make, shapes = EMPTY[name]
        inputs = [torch.empty(shape, requires_grad=True) for shape in shapes]
        result = make(torch.nn)(*inputs)
        result.sum().backward()
        return result.shape, [x.grad.shape for x in inputs]

    both(body)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 5), (2, 3, 0), (0, 3, 5, 7)])
def test_losses_of_nothing(both, shape, reduction):
    def body(torch):
        x = torch.empty(shape, requires_grad=True)
        loss = torch.nn.functional.nll_loss(x, torch.empty((shape[0], *shape[2:]), dtype=torch.int64), reduction=reduction)
        loss.backward(torch.ones_like(loss))
        return loss, x.grad

    both(body)


SAMPLES = {
    "no channels": ((2, 0, 3, 3), (2, 2, 2, 2)), "no batch": ((0, 2, 3, 3), (0, 2, 2, 2)), "no pixels": ((1, 2, 0, 3), (1, 2, 2, 2)),
    "few dimensions": ((1, 2, 2), (1, 1, 1, 2)), "other dimensions": ((1, 1, 2, 2), (1, 1, 1, 1, 2)), "no dimensions": ((1,), (1,)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_grid_sample(both, name):
    x, grid = SAMPLES[name]
    both(lambda torch: torch.nn.functional.grid_sample(torch.ones(x), torch.zeros(grid), align_corners=False))


@pytest.mark.parametrize("cell", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("sizes", [((3, 10), (3, 21)), ((3, 10), (1, 20)), ((1, 10), (3, 20))])
def test_states_of_cells(both, cell, sizes):
    def body(torch):
        x, h = (torch.ones(size) for size in sizes)
        return getattr(torch.nn, cell)(10, 20)(x, (h, h) if cell == "LSTMCell" else h)

    both(body)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("shape", [(0, 3, 3), (3, 0, 3), (0, 3), (2, 3, 0), (3, 3, 3, 3), (3,)])
def test_padding_of_empty_dimensions(both, mode, shape):
    both(lambda torch: torch.nn.functional.pad(torch.ones(shape), (1, 1), mode=mode))


@pytest.mark.parametrize("kind", ["uint8", "int32", "bool", "complex64", "float16"])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_dtypes_of_interpolation(both, mode, kind):
    both(lambda torch: torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2).to(getattr(torch, kind)), scale_factor=2, mode=mode))


@pytest.mark.parametrize("name", ["elu_", "celu_"])
@pytest.mark.parametrize("slope", [-2.0, 0.5])
def test_slopes_below_zero_in_place(both, name, slope):
    def body(torch):
        x = torch.tensor([-1.0, 1.0], requires_grad=True)
        getattr(torch.nn.functional, name)(x.clone(), slope).backward(torch.ones(2))
        return x.grad

    both(body)


def test_targets_of_a_margin_keep_their_shape(both):
    both(lambda torch: torch.nn.functional.multi_margin_loss(torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1]), reduction="none"))


@pytest.mark.parametrize("persistent", [True, False])
def test_buffers_of_modules_that_do_not_know_persistence(both, persistent):
    def body(torch):
        class Module(torch.nn.Module):
            def register_buffer(self, name, tensor):
                super().register_buffer(name, tensor, True)

        module = Module()
        module.b = torch.nn.Buffer(torch.ones(2), persistent=persistent)
        return list(module.state_dict())

    both(body)


CALLS = {
    "device and number": lambda torch: ("cuda", 3), "device and bool": lambda torch: ("cpu", True),
    "too many": lambda torch: ("cpu", torch.float32, False, "torch.float"), "dtype and device": lambda torch: (torch.float32, "cpu"),
    "two devices": lambda torch: ("cpu", "cpu"), "tensor and number": lambda torch: (torch.ones(1), 1),
    "all": lambda torch: ("cpu", torch.float64, False, True), "nothing": lambda torch: (),
}  # fmt: skip


@pytest.mark.parametrize("owner", ["tensor", "module"])
@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_to(both, name, owner):
    def body(torch):
        whole = torch.ones(2) if owner == "tensor" else torch.nn.BatchNorm1d(2)
        found = whole.to(*CALLS[name](torch))
        return found if owner == "tensor" else found.weight

    both(body)


def test_to_like_a_tensor_by_name(both):
    both(lambda torch: torch.ones(2).to(tensor=torch.ones(1, dtype=torch.float64)))


def test_complex_modules_warn(both):
    def body(torch):
        with pytest.warns(UserWarning, match="Complex modules are a new feature"):
            return torch.nn.BatchNorm1d(2).to(torch.complex64).weight

    both(body)


@pytest.mark.parametrize("name", ["logsigmoid", "softshrink"])
def test_activations_into_a_tensor(both, name):
    def body(torch):
        x, out = torch.tensor([-1.0, 0.2, 3.0]), torch.empty(3)
        return getattr(torch.nn.functional, name)(x, out=out) is out, out

    both(body)


@pytest.mark.parametrize("place", [-5, -4, 3, 4])
@pytest.mark.parametrize("call", [
    lambda torch, place: torch.nn.functional.embedding(torch.tensor([[1, 2]]), torch.ones(4, 3), place),
    lambda torch, place: torch.nn.functional.embedding_bag(torch.tensor([[1, 2]]), torch.ones(4, 3), padding_idx=place),
    lambda torch, place: torch.nn.Embedding(4, 3, place).padding_idx, lambda torch, place: torch.nn.EmbeddingBag(4, 3, padding_idx=place).padding_idx,
])  # fmt: skip
def test_places_of_padding(both, call, place):
    both(lambda torch: call(torch, place))
