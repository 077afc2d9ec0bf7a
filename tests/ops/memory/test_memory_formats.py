"""Results of layers keep the memory format of the input's strides."""
from __future__ import annotations

import pytest

LAYERS = {
    "max_pool": lambda torch, x: torch.nn.functional.max_pool2d(x, 2, return_indices=True),
    "avg_pool": lambda torch, x: torch.nn.functional.avg_pool2d(x, 2),
    "adaptive_avg": lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(x, 3),
    "adaptive_max": lambda torch, x: torch.nn.functional.adaptive_max_pool2d(x, 3),
    "unpool": lambda torch, x: torch.nn.functional.max_unpool2d(*torch.nn.functional.max_pool2d(x, 2, return_indices=True), 2),
    "pad": lambda torch, x: torch.nn.functional.pad(x, (1, 1, 2, 0)),
    "reflect": lambda torch, x: torch.nn.functional.pad(x, (1, 1, 2, 0), mode="reflect"),
    "replicate": lambda torch, x: torch.nn.functional.pad(x, (1, 1, 2, 0), mode="replicate"),
    "resize": lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2),
    "norm": lambda torch, x: torch.nn.functional.batch_norm(x, None, None, training=True),
}
DEEP = {
    "max_pool": lambda torch, x: torch.nn.functional.max_pool3d(x, 2),
    "avg_pool": lambda torch, x: torch.nn.functional.avg_pool3d(x, 2),
    "adaptive_avg": lambda torch, x: torch.nn.functional.adaptive_avg_pool3d(x, 3),
    "to one": lambda torch, x: torch.nn.functional.adaptive_avg_pool3d(x, 1),
    "adaptive_max": lambda torch, x: torch.nn.functional.adaptive_max_pool3d(x, 3),
    "reflect": lambda torch, x: torch.nn.functional.pad(x, (1,) * 6, mode="reflect"),
}


@pytest.mark.parametrize("kind", ["row-major", "channels last", "with gaps", "sparse pixels", "without a batch"])
@pytest.mark.parametrize("name", LAYERS)
def test_two_dimensions(both, name, kind):
    def body(torch):
        whole = torch.arange(2 * 3 * 8 * 8.0).reshape(2, 3, 8, 8)
        if kind != "row-major":
            whole = whole.to(memory_format=torch.channels_last)
        if kind == "with gaps":
            whole = whole[..., :6]
        if kind == "sparse pixels":
            whole = whole[:, :, ::2]
        if kind == "without a batch" and name not in ("norm", "resize"):
            whole = whole[0]
        return LAYERS[name](torch, whole)

    both(body)


@pytest.mark.parametrize("gaps", [True, False])
@pytest.mark.parametrize("name", DEEP)
def test_three_dimensions(both, name, gaps):
    def body(torch):
        whole = torch.arange(3 * 6 * 6 * 8.0).reshape(1, 3, 6, 6, 8).to(memory_format=torch.channels_last_3d)
        return DEEP[name](torch, whole[..., :6] if gaps else whole)

    both(body)


@pytest.mark.parametrize("shape", [(2, 1, 3, 3), (2, 3, 1, 1), (1, 1, 1, 1), (2, 3, 3, 3)])
def test_to_a_format_that_the_strides_leave_open(both, shape):
    def body(torch):
        x = torch.ones(shape)
        moved = x.to(memory_format=torch.channels_last)
        back = moved.to(memory_format=torch.contiguous_format)
        turned = x.transpose(0, 2).to(memory_format=torch.contiguous_format)
        return moved, moved is x, back, back is moved, turned

    both(body)


@pytest.mark.parametrize("call", ["add(x, x, out=o)", "sin(x, out=o)", "gt(x, 0, out=o)", "where(x > 0, x, x, out=o)", "mm(x, x, out=o)", "cumsum(x, 0, out=o)"])
@pytest.mark.parametrize("size", [0, 3])
def test_a_resized_out_gets_the_strides_of_the_result(both, call, size):
    def body(torch):
        o = torch.zeros(size)
        eval(f"torch.{call}", {"torch": torch, "x": torch.arange(4.0).as_strided((2, 2), (1, 2)), "o": o})
        return o

    both(body)


def test_channels_rearranged_keep_the_format(both):
    def body(t):
        found = []
        for shape in ((2, 8, 6, 4), (1, 4, 2, 2), (2, 4, 4, 4)):
            x = t.arange(float(t.Size(shape).numel())).reshape(shape).to(memory_format=t.channels_last)
            for made in (t.pixel_shuffle(x, 2), t.pixel_unshuffle(x, 2), t.channel_shuffle(x, 2), t.nn.ChannelShuffle(2)(x)):
                found += [made, list(made.stride()), made.is_contiguous(memory_format=t.channels_last)]
        return found

    both(body)


@pytest.mark.parametrize("form", [None, "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 4, 5, 6), (3, 4), (4,), (2, 1, 3, 3)])
@pytest.mark.parametrize("order", ["contiguous", "last", "turned"])
def test_formats_that_tensors_are_resized_to(both, form, shape, order):
    def body(torch, resized):
        template, x = torch.zeros(shape), torch.zeros(7)
        if order == "last" and len(shape) > 3:
            template = template.contiguous(memory_format=torch.channels_last if len(shape) == 4 else torch.channels_last_3d)
        elif order == "turned":
            template = template.transpose(0, -1)
        resized(x, template, None if form is None else getattr(torch, form))
        return x.shape, x.stride()

    both(lambda torch: body(torch, lambda x, template, form: x.resize_(template.shape, memory_format=form)))
    both(lambda torch: body(torch, lambda x, template, form: x.resize_as_(template, memory_format=form)))
