"""torch.utils.tensorboard.writer: event files for TensorBoard."""
from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ..._src.backend.arrays import Array
from . import summary as messages


class FileWriter:
    """Writer of one event file in a folder."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """Return the log folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a message as an event."""
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write pending data to the disk."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write pending data and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Open a closed file again."""
        self.event_writer.reopen()


def _figure_image(figure: Any, close: bool) -> Array:
    """Return a matplotlib figure as channels, height, width."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]
    if close:
        pyplot.close(figure)
    return np.moveaxis(pixels, 2, 0)


class SummaryWriter:
    """Writes values with tags and steps to event files in ``log_dir`` (``runs/<time>_<host><comment>``)."""

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10, flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            log_dir = os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.all_writers: dict[str, FileWriter] | None = None
        self.file_writer: FileWriter | None = None
        self._get_file_writer()
        positive = [1e-12]
        while positive[-1] * 1.1 < 1e20:
            positive.append(positive[-1] * 1.1)
        self.default_bins = [-edge for edge in reversed(positive)] + [0] + positive

    def _get_file_writer(self) -> FileWriter:
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        return self.file_writer

    def get_logdir(self) -> Any:
        """Return the log folder."""
        return self.log_dir

    def _add(self, message: Any, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(message, step, walltime)

    # Numbers

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Add a number."""
        message = messages.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(message, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add several numbers to one chart, each in a subfolder."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            own = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if own not in self.all_writers:
                self.all_writers[own] = FileWriter(own, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[own].add_summary(messages.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a tensor."""
        self._add(messages.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow", walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """Add a histogram of values; ``bins`` is an argument of ``numpy.histogram``, or "tensorflow"."""
        chosen = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(messages.histogram(tag, values, chosen, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any, bucket_counts: Any,
        global_step: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a histogram given by its buckets."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        message = messages.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(message, global_step, walltime)

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: Any = None, num_thresholds: int = 127, weights: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add the precision-recall curve of predictions in [0, 1]."""
        labels, predictions = messages.make_np(labels), messages.make_np(predictions)
        self._add(messages.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    # Images, audio, texts

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """Add an image."""
        self._add(messages.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "NCHW"
    ) -> None:
        """Add several images, side by side."""
        listed = isinstance(img_tensor, list)
        array = np.stack([messages.make_np(one) for one in img_tensor]) if listed else messages.make_np(img_tensor)
        self._add(messages.image(tag, array, dataformats=dataformats), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Add a matplotlib figure, or a list of them, as an image."""
        if isinstance(figure, list):
            self.add_images(tag, np.stack([_figure_image(one, close) for one in figure]), global_step, walltime)
        else:
            self.add_image(tag, _figure_image(figure, close), global_step, walltime)

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100, walltime: float | None = None
    ) -> None:
        """Add audio with samples in [-1, 1]."""
        self._add(messages.audio(tag, snd_tensor, sample_rate=sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a text, shown as Markdown."""
        self._add(messages.text(tag, text_string), global_step, walltime)

    # Experiments and charts

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: Any = None,
        run_name: str | None = None, global_step: Any = None,
    ) -> None:  # fmt: skip
        """Add hyperparameters and the resulting metrics, in a subfolder."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        parts = messages.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(str(self._get_file_writer().get_logdir()), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as own:
            for part in parts:
                own._add(part, global_step, None)
            for name, value in metric_dict.items():
                own.add_scalar(name, value, global_step)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Add a chart layout: category → title → ("Multiline" or "Margin", tags)."""
        self._add(messages.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags: Sequence[str], category: str = "default", title: str = "untitled") -> None:
        """Add a chart of several numbers."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: Sequence[str], category: str = "default", title: str = "untitled") -> None:
        """Add a chart of a number with its lower and upper bound."""
        assert len(tags) == 3
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """Raise NotImplementedError: mstorch has no TorchScript graph to show."""
        raise NotImplementedError("mstorch: torch.jit runs Python and has no graph for SummaryWriter.add_graph")

    # The files

    def flush(self) -> None:
        """Write pending data to the disk."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write pending data and close the files; the next value that is logged opens new files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.close()


__all__ = ["FileWriter", "SummaryWriter"]
