"""torch.utils.tensorboard.summary: conversion of values to the messages of event files."""
from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from ..._src.backend.arrays import Array
from ..._tensor import Tensor

PluginData = SummaryMetadata.PluginData


def make_np(x: Any) -> Array:
    """Convert a tensor or number to an array. Raise NotImplementedError for other values, including lists."""
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, Tensor):
        x = x.detach().cpu()
        return (x.float() if x.dtype.name == "bfloat16" else x).numpy()
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")


def _plugin(name: str, content: bytes = b"") -> SummaryMetadata:
    return SummaryMetadata(plugin_data=PluginData(plugin_name=name, content=content))


def scalar(name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False) -> Summary:
    """Return the message of a scalar. Raise AssertionError for more than one element."""
    value = make_np(tensor).squeeze()
    assert value.ndim == 0, (
        f"Tensor should contain one element (0 dimensions). Was given size: {value.size} and {value.ndim} dimensions."
    )
    number = float(value)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    proto = TensorProto(double_val=[number], dtype="DT_DOUBLE") if double_precision else TensorProto(float_val=[number], dtype="DT_FLOAT")
    return Summary(value=[Summary.Value(tag=name, tensor=proto, metadata=_plugin("scalars"))])


def tensor_proto(tag: str, tensor: Any) -> Summary:
    """Return the message of a float32 or float64 tensor with all its values."""
    array = make_np(tensor)
    kinds = {"float32": ("DT_FLOAT", "float_val"), "float64": ("DT_DOUBLE", "double_val"), "int32": ("DT_INT32", "int_val"),
             "int64": ("DT_INT64", "int64_val"), "bool": ("DT_BOOL", "bool_val")}  # fmt: skip
    if str(array.dtype) not in kinds:
        raise ValueError(f"{tag} has unsupported tensor dtype {array.dtype}")
    word, field = kinds[str(array.dtype)]
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in array.shape])
    proto = TensorProto(dtype=word, tensor_shape=shape, **{field: array.reshape(-1).tolist()})
    return Summary(value=[Summary.Value(tag=tag, metadata=_plugin("tensor"), tensor=proto)])


def histogram_raw(
    name: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any, bucket_counts: Any
) -> Summary:
    """Return the message of a histogram given by its buckets."""
    counted = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts
    )
    return Summary(value=[Summary.Value(tag=name, histo=counted)])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Summary:
    """Return the message of a histogram, without the empty bins at its ends."""
    array = make_np(values).astype(float).reshape(-1)
    if array.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(array, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        limits = np.append(limits[:-1][::step], limits[-1])
    used = np.flatnonzero(counts)
    if used.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = int(used[0]), int(used[-1]) + 1
    # One empty bin in front marks the left edge of the first nonempty bin.
    kept = counts[max(first - 1, 0) : last] if first > 0 else np.concatenate([[0], counts[:last]])
    edges = limits[first : last + 1]
    return histogram_raw(
        name, array.min(), array.max(), len(array), array.sum(), array.dot(array), edges.tolist(), kept.tolist()
    )


def convert_to_HWC(tensor: Array, input_format: str) -> Array:
    """Convert an image, or several side by side, to height, width, channel with three channels."""
    letters = input_format.upper()
    assert len(set(letters)) == len(letters), f"You can not use the same dimension shordhand twice. input_format: {input_format}"
    assert tensor.ndim == len(letters), (
        f"size of input tensor and input format are different. tensor shape: {tensor.shape}, input_format: {input_format}"
    )
    if len(letters) == 4:
        images = tensor.transpose([letters.find(c) for c in "NCHW"])
        images = np.concatenate([images] * 3, 1) if images.shape[1] == 1 else images
        count, channels, height, width = images.shape
        columns = min(count, 8)
        rows = -(-count // columns)
        grid = np.zeros((channels, height * rows, width * columns), dtype=images.dtype)
        for i, image in enumerate(images):
            y, x = divmod(i, columns)
            grid[:, y * height : (y + 1) * height, x * width : (x + 1) * width] = image
        return grid.transpose(1, 2, 0)
    if len(letters) == 3:
        image = tensor.transpose([letters.find(c) for c in "HWC"])
        return np.concatenate([image] * 3, 2) if image.shape[2] == 1 else image
    image = tensor.transpose([letters.find(c) for c in "HW"])
    return np.stack([image] * 3, 2)


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """Return the message of a PNG image; floats are in [0, 1], uint8 in [0, 255]."""
    from PIL import Image

    array = make_np(tensor)
    pixels = convert_to_HWC(array, dataformats)
    if array.dtype != np.uint8:
        pixels = (pixels.astype(np.float32) * 255).clip(0, 255)
    pixels = pixels.astype(np.uint8)
    height, width, channels = pixels.shape
    picture = Image.fromarray(pixels).resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    content = io.BytesIO()
    picture.save(content, format="PNG")
    drawn = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=content.getvalue())
    return Summary(value=[Summary.Value(tag=tag, image=drawn)])


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """Return the message of 16-bit WAV audio; samples are in [-1, 1]."""
    samples = make_np(tensor).squeeze()
    assert samples.ndim == 1, "input tensor should be 1 dimensional."
    whole = (np.clip(samples, -1, 1) * np.iinfo(np.int16).max).astype("<i2")
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(whole.tobytes())
    sound = Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=whole.size, encoded_audio_string=content.getvalue(),
        content_type="audio/wav",
    )  # fmt: skip
    return Summary(value=[Summary.Value(tag=tag, audio=sound)])


def text(tag: str, text: str) -> Summary:
    """Return the message of a text, shown as Markdown."""
    proto = TensorProto(
        dtype="DT_STRING", string_val=[text.encode("utf_8")], tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    )
    content = TextPluginData(version=0).SerializeToString()
    return Summary(value=[Summary.Value(tag=f"{tag}/text_summary", metadata=_plugin("text", content), tensor=proto)])


# Precision and recall


def compute_curve(labels: Array, predictions: Array, num_thresholds: int | None = None, weights: Any = 1.0) -> Array:
    """Return true positives, false positives, true negatives, false negatives, precision and recall as rows, with a column per threshold.
    """
    count = 127 if num_thresholds is None else num_thresholds
    weight = np.float64(1.0 if weights is None else weights)
    places = np.int32(np.floor(predictions * (count - 1)))
    truth = labels.astype(float)
    limits = (0, count - 1)
    positives = np.histogram(places, bins=count, range=limits, weights=truth * weight)[0]
    negatives = np.histogram(places, bins=count, range=limits, weights=(1.0 - truth) * weight)[0]
    tp, fp = np.cumsum(positives[::-1])[::-1], np.cumsum(negatives[::-1])[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    tiny = 1e-7
    return np.stack((tp, fp, tn, fn, tp / np.maximum(tiny, tp + fp), tp / np.maximum(tiny, tp + fn)))


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any, num_thresholds: int = 127, weights: Any = None
) -> Summary:
    """Return the message of a precision-recall curve given by its counts."""
    data = np.stack((tp, fp, tn, fn, precision, recall))
    count = min(num_thresholds, 127)
    content = PrCurvePluginData(version=0, num_thresholds=count).SerializeToString()
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in data.shape])
    proto = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=shape)
    return Summary(value=[Summary.Value(tag=tag, metadata=_plugin("pr_curves", content), tensor=proto)])


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Summary:
    """Return the message of the precision-recall curve of predictions in [0, 1]."""
    count = min(num_thresholds, 127)
    return pr_curve_raw(tag, *compute_curve(labels, predictions, count, weights), num_thresholds=count)


# Hyperparameters


def _hyperparameter(name: str, value: Any, session: Any, domain: list[Any] | None) -> Any:
    if isinstance(value, Tensor):
        value = float(make_np(value).reshape(-1)[0])
    kind = "STRING" if isinstance(value, str) else "FLOAT64" if isinstance(value, (int, float)) else None
    if kind is None:
        raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
    field = "string_value" if kind == "STRING" else "number_value"
    setattr(session.hparams[name], field, value)
    allowed = None if domain is None else struct_pb2.ListValue(values=[struct_pb2.Value(**{field: one}) for one in domain])
    return api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(f"DATA_TYPE_{kind}"), domain_discrete=allowed)


def hparams(
    hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: Any = None
) -> tuple[Summary, Summary, Summary]:
    """Return three messages of an experiment: the definitions of its hyperparameters and metrics, the values of this run, and the run's
    end."""
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for name, allowed in domains.items():
        kind = type(hparam_dict.get(name))
        if name not in hparam_dict or not isinstance(allowed, list) or not all(isinstance(one, kind) for one in allowed):
            raise TypeError(f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}].")
    session = plugin_data_pb2.SessionStartInfo()
    infos = [
        _hyperparameter(name, value, session, domains.get(name)) for name, value in hparam_dict.items() if value is not None
    ]
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]

    def message(tag: str, **content: Any) -> Summary:
        data = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
        return Summary(value=[Summary.Value(tag=tag, metadata=_plugin(metadata.PLUGIN_NAME, data.SerializeToString()))])

    return (
        message(metadata.EXPERIMENT_TAG, experiment=api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)),
        message(metadata.SESSION_START_INFO_TAG, session_start_info=session),
        message(metadata.SESSION_END_INFO_TAG, session_end_info=plugin_data_pb2.SessionEndInfo(
            status=api_pb2.Status.Value("STATUS_SUCCESS"))),
    )  # fmt: skip


def custom_scalars(layout: dict[str, dict[str, Any]]) -> Summary:
    """Return the message of a chart layout: category → title → ("Multiline" or "Margin", tags)."""
    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                assert len(tags) == 3
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                made.append(layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                made.append(layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags)))
        categories.append(layout_pb2.Category(title=category, chart=made))
    content = layout_pb2.Layout(category=categories).SerializeToString()
    proto = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto())
    return Summary(value=[Summary.Value(tag="custom_scalars__config__", tensor=proto, metadata=_plugin("custom_scalars"))])

