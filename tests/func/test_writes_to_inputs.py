"""The inputs of a reverse-mode transform are leaves inside it: nothing can write to them, or through them to the user's tensors."""
from __future__ import annotations

from typing import Any

import pytest

TRANSFORMS = {
    "grad": "torch.func.grad(f)(x)",
    "grad_and_value": "torch.func.grad_and_value(f)(x)",
    "vjp": "torch.func.vjp(f, x)[0]",
    "jacrev": "torch.func.jacrev(f)(x)",
    "hessian of jacrev": "torch.func.jacrev(torch.func.jacrev(f))(x)",
    "grad of grad": "torch.func.grad(lambda y: torch.func.grad(f)(y).sum())(x)",
    "vmap of grad": "torch.func.vmap(torch.func.grad(f))(x[None])",
    "second argument": "torch.func.grad(lambda a, y: f(y), argnums=1)(1, x)",
}
WRITES = {
    "mul_": "x.mul_(2)",
    "setitem": "x.__setitem__(0, 5.0)",
    "view": "x[:1].add_(1)",
    "reshaped": "x.view(3, 1).zero_()",
    "out": "torch.add(x, 1, out=x)",
    "clone": "x.clone().mul_(2)",
    "computed": "(x * 1).mul_(2)",
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", WRITES)
def test_writes(both: Any, transform: str, write: str) -> None:
    if (transform, write) == ("vmap of grad", "out"):
        pytest.skip("vmap refuses out= before autograd is asked")

    def body(torch: Any) -> Any:
        def f(x: Any) -> Any:
            eval(WRITES[write], {"torch": torch, "x": x})
            return (x.sin() * x).sum()

        x = torch.tensor([1.0, 2.0, 3.0])
        try:
            found = eval(TRANSFORMS[transform], {"torch": torch, "f": f, "x": x})
        except RuntimeError as error:
            found = str(error).split("\n")[0]
        return found, x

    both(body, strides=False)
