"""Typed signatures of mstorch's own functions, for those without an operator schema in torch."""
from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mstorch._src.core.built_in import written

from .schemas import Form, Parameter, union

# Types of parameters by name, for functions whose own annotation is Any.
BY_NAME = {
    **dict.fromkeys(
        "input target weight tensor input1 input2 anchor positive negative other grid theta indices mat1 mat2 query key value x x1 x2 "
        "log_probs targets input_lengths target_lengths logits bias offsets per_sample_weights pos_weight "
        "linear_weight a b A B mat_a mat_b offs _random_samples self v running_var var input_weight sorter src "
        "out_proj_weight key_padding_mask attn_mask q_proj_weight "
        "k_proj_weight v_proj_weight static_k static_v window"
        .split(),
        "Tensor",
    ),
    **dict.fromkeys(
        "running_mean running_var linear_bias in_proj_weight in_proj_bias bias_k bias_v out_proj_bias".split(), "Tensor | None"
    ),
    **dict.fromkeys("kernel_size stride padding dilation output_size output_padding".split(), "Int | Ints"),
    **dict.fromkeys("normalized_shape size shape pad".split(), "Ints"),
    **dict.fromkeys("padding_idx dim dim0 dim1 blank ignore_index start_dim end_dim num_groups hop_length win_length".split(), "Int"),
    **dict.fromkeys(
        "p eps alpha beta momentum margin delta tau lower upper norm_type max_norm scale k negative_slope dropout_p".split(), "Float"
    ),
    **dict.fromkeys("size_average reduce return_indices requires_grad pin_memory training inplace is_causal need_weights".split(), "Bool"),
    "reduction": "Text", "mode": "Text", "out": "Tensor", "dtype": "DType", "device": "Place", "layout": "Layout",
    "memory_format": "MemoryFormat", "generator": "Generator", "tensors": "Tensors", "out_dtype": "DType",
    "output_ratio": "Float | Sequence[Float]",
    "scale_factor": "Float | Sequence[Float]", "distance_function": "Callable[[Tensor, Tensor], Tensor]",
}  # fmt: skip
OF_FUNCTION = {
    ("interpolate", "size"): "Int | Ints", ("upsample", "size"): "Int | Ints", ("upsample_bilinear", "size"): "Int | Ints",
    ("upsample_nearest", "size"): "Int | Ints", ("gaussian_nll_loss", "var"): "Tensor | Float",
    ("ctc_loss", "input_lengths"): "Tensor | Ints", ("ctc_loss", "target_lengths"): "Tensor | Ints",
}  # fmt: skip
# Words of annotations → the names of the stubs.
_WORDS = {
    "int": "Int", "float": "Float", "bool": "Bool", "str": "Text", "complex": "Complex", "dtype": "DType", "memory_format": "MemoryFormat",
    "TensorBase": "Tensor",
}  # fmt: skip


RESULTS = {"multi_head_attention_forward": "tuple[Tensor, Tensor | None]"}


def with_indices(form: Form) -> list[Form]:
    """Return the forms of a pooling function, with a form for ``return_indices=True`` if it has that parameter."""
    if not any(p.name == "return_indices" for p in form.parameters) or form.result != "Tensor":
        return [form]
    place = next(i for i, p in enumerate(form.parameters) if p.name == "return_indices")
    without, given = (replace(form.parameters[place], type=f"Literal[{value}]") for value in (False, True))
    before, after = form.parameters[:place], form.parameters[place + 1 :]
    both = "tuple[Tensor, Tensor]"
    named, needed = [replace(p, kind="named") for p in after], [replace(p, default=None) for p in before]
    return [
        replace(form, parameters=(*before, without, *after)),
        replace(form, parameters=(*before, replace(given, kind="named", default=None), *named), result=both),
        replace(form, parameters=(*needed, replace(given, default=None), *after), result=both),
    ]


def own_form(function: Callable[..., Any], method: bool = False) -> Form:
    """Return the form given by a function's own signature."""
    shown = inspect.signature(written(function))
    parameters = []
    for position, parameter in enumerate(shown.parameters.values()):
        if method and position == 0 or parameter.kind is parameter.VAR_KEYWORD or parameter.annotation is parameter.empty:
            continue  # those without annotation are second names
        kind = {parameter.KEYWORD_ONLY: "named", parameter.VAR_POSITIONAL: "star"}.get(parameter.kind, "plain")
        default = None if parameter.default is parameter.empty else _default(parameter.default)
        parameters.append(Parameter(parameter.name, _type(function.__name__, parameter, default), default, kind))
    declared = _words(str(shown.return_annotation)).replace("Any", "Tensor")
    return Form(tuple(parameters), RESULTS.get(function.__name__, declared))


def _default(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, (bool, int, float, str)) else "..."


def _words(annotation: str) -> str:
    return re.sub(r"\w+", lambda word: _WORDS.get(word[0], word[0]), annotation.replace("torch.Tensor", "Tensor"))


def _type(function: str, parameter: inspect.Parameter, default: str | None) -> str:
    declared = _words(str(parameter.annotation)).replace("Sequence[Int]", "Ints")
    if "Any" in declared:
        declared = OF_FUNCTION.get((function, parameter.name)) or BY_NAME.get(parameter.name, declared)
    return union(declared, "None") if default == "None" else declared
