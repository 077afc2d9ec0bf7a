"""Functions that torch has in two forms: of all elements, with neither ``dim`` nor ``keepdim``, and along ``dim``; bools as dimensions."""
import pytest

TWICE = ["sum", "mean", "prod", "max", "min", "median", "nanmedian"]
ARGUMENTS = [
    {}, {"dim": None}, {"dim": None, "keepdim": True}, {"keepdim": True}, {"keepdim": False}, {"dim": 1}, {"dim": 1, "keepdim": True},
    {"dim": True}, {"dim": -1, "keepdim": False},
]  # fmt: skip


def input_of(torch):
    return torch.arange(12.0, dtype=torch.float64).reshape(3, 4).requires_grad_()


def shown(result):
    if isinstance(result, tuple):
        return [shown(part) for part in result]
    return result, None if result.grad_fn is None else result.grad_fn.name()


def kind_of_error(call):
    """Return the result, or the class of what is raised: messages of the parser are the public form's, and tested there."""
    try:
        return shown(call())
    except Exception as error:  # noqa: BLE001
        return type(error).__name__


@pytest.mark.parametrize("given", ARGUMENTS, ids=str)
@pytest.mark.parametrize("name", [*TWICE, "logsumexp", "squeeze", "sort", "argmax", "amax", "all"])
def test_forms_of_a_reduction(both, name, given):
    both(lambda torch: kind_of_error(lambda: getattr(torch, name)(input_of(torch), **given)))
    both(lambda torch: kind_of_error(lambda: getattr(input_of(torch), name)(**given)))
    if len(given) == 1 and "dim" in given:
        both(lambda torch: kind_of_error(lambda: getattr(input_of(torch), name)(given["dim"])))


@pytest.mark.parametrize("call", [
    "x.roll(True, 0)", "x.roll(1, True)", "x.roll((1,), (True,))", "x.roll((True,), (1,))", "x.roll((1, 1), (0, True))", "x.unsqueeze(True)",
    "x.unsqueeze(dim=False)", "x.transpose(True, 0)", "x.transpose(0, True)", "x.permute(True, 0, 2)", "x.permute((2, 0, True))", "x.flip(True)",
    "x.flip([0, True])", "x.movedim(True, 0)", "x.movedim((True,), (0,))", "x.squeeze((True,))", "x.view(True, -1)", "x.reshape(-1, True)",
    "x.expand(True, 2, 3, 4)", "x.repeat(True, 1, 1)", "x.repeat(1, 1, True)", "x.tile((True, 1))", "torch.ones(True)", "torch.ones(2, True)",
    "torch.zeros([2, True])", "torch.full((True,), 1.0)", "x.new_ones(True)", "x.narrow(True, 0, 1)", "x.narrow(1, True, 1)",
    "x.narrow(1, 0, True)", "x.select(1, True)", "x.select(True, 0)", "x.gather(True, torch.zeros(2, 3, 4).long())", "x.unbind(True)",
    "x.diagonal(0, True, 2)", "x.unflatten(True, (3, 1))", "x.sum((True,))", "x.sum([0, True])", "x.amax([0, True])", "x.cumsum(True)",
    "torch.fft.fftn(x, dim=(True,))", "torch.stack([x], True)", "torch.cat([x], True)", "x.renorm(2, True, 1.0)", "torch.rot90(x, 1, (True, 0))",
    "x.sum(numpy.int64(1))", "x.unsqueeze(numpy.int64(1))", "x.select(1, torch.tensor(1))", "x.narrow(0, torch.tensor(1), 1)",
])  # fmt: skip
def test_bools_are_no_dimensions(both, call):
    def of(torch):
        import numpy

        x = torch.arange(24.0).reshape(2, 3, 4)
        return kind_of_error(lambda: eval(call, {"torch": torch, "x": x, "numpy": numpy}))

    both(of)


@pytest.mark.parametrize("dim", [1, -1, 0.0, True, [1]], ids=str)
@pytest.mark.parametrize("name", [*TWICE, "argmax", "sort", "cumsum", "std"])
def test_a_tensor_named_as_the_dimension(both, name, dim):
    """It is a number there, where without the name it would be the other operand of ``max``."""
    both(lambda torch: kind_of_error(lambda: getattr(torch, name)(input_of(torch), dim=torch.tensor(dim))))
    both(lambda torch: kind_of_error(lambda: getattr(input_of(torch), name)(dim=torch.tensor(dim))))
