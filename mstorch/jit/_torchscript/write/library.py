"""Functions of ``nn.functional`` that are several operators, or one with other arguments, as TorchScript's text."""

from __future__ import annotations

import ast
import functools
import re

from ..types import Type, read_type

_TEXT = '''
def relu(input: Tensor, inplace: bool=False) -> Tensor:
  return torch.relu_(input) if inplace else torch.relu(input)

def relu6(input: Tensor, inplace: bool=False) -> Tensor:
  return torch.relu6_(input) if inplace else torch.relu6(input)

def hardswish(input: Tensor, inplace: bool=False) -> Tensor:
  return torch.hardswish_(input) if inplace else torch.hardswish(input)

def hardsigmoid(input: Tensor, inplace: bool=False) -> Tensor:
  return torch.hardsigmoid_(input) if inplace else torch.hardsigmoid(input)

def silu(input: Tensor, inplace: bool=False) -> Tensor:
  return torch.silu_(input) if inplace else torch.silu(input)

def mish(input: Tensor, inplace: bool=False) -> Tensor:
  return torch.mish_(input) if inplace else torch.mish(input)

def selu(input: Tensor, inplace: bool=False) -> Tensor:
  return torch.selu_(input) if inplace else torch.selu(input)

def celu(input: Tensor, alpha: float=1.0, inplace: bool=False) -> Tensor:
  return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)

def elu(input: Tensor, alpha: float=1.0, inplace: bool=False) -> Tensor:
  return torch.elu_(input, alpha) if inplace else torch.elu(input, alpha)

def leaky_relu(input: Tensor, negative_slope: float=0.01, inplace: bool=False) -> Tensor:
  return torch.leaky_relu_(input, negative_slope) if inplace else torch.leaky_relu(input, negative_slope)

def hardtanh(input: Tensor, min_val: float=-1.0, max_val: float=1.0, inplace: bool=False) -> Tensor:
  return torch.hardtanh_(input, min_val, max_val) if inplace else torch.hardtanh(input, min_val, max_val)

def threshold(input: Tensor, threshold: float, value: float, inplace: bool=False) -> Tensor:
  return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)

def rrelu(input: Tensor, lower: float=0.125, upper: float=0.3333333333333333, training: bool=False, inplace: bool=False) -> Tensor:
  return torch.rrelu_(input, lower, upper, training) if inplace else torch.rrelu(input, lower, upper, training)

def softsign(input: Tensor) -> Tensor:
  return input / (torch.abs(input) + 1)

def tanhshrink(input: Tensor) -> Tensor:
  return input - torch.tanh(input)

def hardshrink(input: Tensor, lambd: float=0.5) -> Tensor:
  return torch.hardshrink(input, lambd)

def softmax(input: Tensor, dim: Optional[int]=None, dtype: Optional[int]=None) -> Tensor:
  if dim is None:
    dim = 0 if torch.dim(input) in [0, 1, 3] else 1
  return torch.softmax(input, dim, dtype)

def log_softmax(input: Tensor, dim: Optional[int]=None, dtype: Optional[int]=None) -> Tensor:
  if dim is None:
    dim = 0 if torch.dim(input) in [0, 1, 3] else 1
  return torch.log_softmax(input, dim, dtype)

def softmin(input: Tensor, dim: Optional[int]=None, dtype: Optional[int]=None) -> Tensor:
  return __torch__.torch.nn.functional.softmax(torch.neg(input), dim, dtype)

def dropout(input: Tensor, p: float=0.5, training: bool=True, inplace: bool=False) -> Tensor:
  return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)

def alpha_dropout(input: Tensor, p: float=0.5, training: bool=False, inplace: bool=False) -> Tensor:
  return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)

def dropout1d(input: Tensor, p: float=0.5, training: bool=True, inplace: bool=False) -> Tensor:
  x = input if torch.dim(input) == 3 else torch.unsqueeze(input, 0)
  y = torch.feature_dropout_(x, p, training) if inplace else torch.feature_dropout(x, p, training)
  return y if torch.dim(input) == 3 else torch.squeeze(y, 0)

def dropout2d(input: Tensor, p: float=0.5, training: bool=True, inplace: bool=False) -> Tensor:
  return torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)

def dropout3d(input: Tensor, p: float=0.5, training: bool=True, inplace: bool=False) -> Tensor:
  return torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)

def logsigmoid(input: Tensor) -> Tensor:
  return torch.log_sigmoid(input)

def stft(input: Tensor, n_fft: int, hop_length: Optional[int]=None, win_length: Optional[int]=None, window: Optional[Tensor]=None, center: bool=True, pad_mode: str="reflect", normalized: bool=False, onesided: Optional[bool]=None, return_complex: Optional[bool]=None) -> Tensor:
  signal = input
  if center:
    rows = torch.unsqueeze(input, 0) if torch.dim(input) == 1 else input
    padded = torch.pad(torch.unsqueeze(rows, 1), [n_fft // 2, n_fft // 2], pad_mode)
    signal = torch.squeeze(padded, 1) if torch.dim(input) == 2 else torch.view(padded, [-1])
  return torch.stft(signal, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)

def embedding_bag(input: Tensor, weight: Tensor, offsets: Optional[Tensor]=None, max_norm: Optional[float]=None, norm_type: float=2.0, scale_grad_by_freq: bool=False, mode: str="mean", sparse: bool=False, per_sample_weights: Optional[Tensor]=None, include_last_offset: bool=False, padding_idx: Optional[int]=None) -> Tensor:
  words = input
  starts = offsets
  weights = per_sample_weights
  if torch.dim(input) == 2:
    starts = torch.arange(0, torch.numel(input), torch.size(input, 1), dtype=ops.prim.dtype(input), device=ops.prim.device(input))
    words = torch.reshape(input, [-1])
    if weights is not None:
      weights = torch.reshape(weights, [-1])
  assert starts is not None, "offsets has to be a 1D Tensor"
  number = 0 if mode == "sum" else 1 if mode == "mean" else 2
  if max_norm is not None:
    with __torch__.torch.autograd.grad_mode.no_grad():
      renormed = torch.embedding_renorm_(torch.detach(weight), torch.contiguous(words), max_norm, norm_type)
  return (torch.embedding_bag(weight, words, starts, scale_grad_by_freq, number, sparse, weights, include_last_offset, padding_idx))[0]

def linear(input: Tensor, weight: Tensor, bias: Optional[Tensor]=None) -> Tensor:
  return torch.linear(input, weight, bias)

def normalize(input: Tensor, p: float=2.0, dim: int=1, eps: float=1e-12) -> Tensor:
  return input / torch.expand_as(torch.clamp_min(torch.norm(input, p, [dim], True), eps), input)

def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor]=None, bias: Optional[Tensor]=None, eps: float=1e-05) -> Tensor:
  return torch.layer_norm(input, normalized_shape, weight, bias, eps)

def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor]=None, bias: Optional[Tensor]=None, training: bool=False, momentum: float=0.1, eps: float=1e-05) -> Tensor:
  return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)

def instance_norm(input: Tensor, running_mean: Optional[Tensor]=None, running_var: Optional[Tensor]=None, weight: Optional[Tensor]=None, bias: Optional[Tensor]=None, use_input_stats: bool=True, momentum: float=0.1, eps: float=1e-05) -> Tensor:
  return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)

def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor]=None, bias: Optional[Tensor]=None, eps: float=1e-05) -> Tensor:
  return torch.group_norm(input, num_groups, weight, bias, eps)

def local_response_norm(input: Tensor, size: int, alpha: float=0.0001, beta: float=0.75, k: float=1.0) -> Tensor:
  squares = torch.unsqueeze(input * input, 1)
  if torch.dim(input) == 3:
    squares = torch.squeeze(torch.avg_pool2d(torch.constant_pad_nd(squares, [0, 0, size // 2, (size - 1) // 2], 0.0), [size, 1], [1, 1]), 1)
  else:
    sizes = torch.size(input)
    squares = torch.view(squares, [sizes[0], 1, sizes[1], sizes[2], -1])
    squares = torch.constant_pad_nd(squares, [0, 0, 0, 0, size // 2, (size - 1) // 2], 0.0)
    squares = torch.view(torch.squeeze(torch.avg_pool3d(squares, [size, 1, 1], [1, 1, 1]), 1), sizes)
  return input / torch.pow(squares * alpha + k, beta)

def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int]=None, max_norm: Optional[float]=None, norm_type: float=2.0, scale_grad_by_freq: bool=False, sparse: bool=False) -> Tensor:
  place = -1
  if padding_idx is not None:
    place = padding_idx if padding_idx >= 0 else torch.size(weight, 0) + padding_idx
  if max_norm is not None:
    with __torch__.torch.autograd.grad_mode.no_grad():
      renormed = torch.embedding_renorm_(torch.detach(weight), torch.contiguous(input), max_norm, norm_type)
  return torch.embedding(weight, input, place, scale_grad_by_freq, sparse)

def one_hot(tensor: Tensor, num_classes: int=-1) -> Tensor:
  return torch.one_hot(tensor, num_classes)

def _reduction_number(reduction: str) -> int:
  if reduction == "none":
    return 0
  if reduction == "mean":
    return 1
  assert reduction == "sum", torch.add(reduction, " is not a valid value for reduction")
  return 2

def _reduced(value: Tensor, reduction: str) -> Tensor:
  number = __torch__.torch.nn.functional._reduction_number(reduction)
  return value if number == 0 else torch.mean(value) if number == 1 else torch.sum(value)

def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  both = torch.broadcast_tensors([input, target])
  return torch.mse_loss(both[0], both[1], __torch__.torch.nn.functional._reduction_number(reduction))

def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  both = torch.broadcast_tensors([input, target])
  return torch.l1_loss(both[0], both[1], __torch__.torch.nn.functional._reduction_number(reduction))

def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean", beta: float=1.0) -> Tensor:
  both = torch.broadcast_tensors([input, target])
  number = __torch__.torch.nn.functional._reduction_number(reduction)
  return torch.l1_loss(both[0], both[1], number) if beta == 0.0 else torch.smooth_l1_loss(both[0], both[1], number, beta)

def huber_loss(input: Tensor, target: Tensor, reduction: str="mean", delta: float=1.0) -> Tensor:
  both = torch.broadcast_tensors([input, target])
  return torch.huber_loss(both[0], both[1], __torch__.torch.nn.functional._reduction_number(reduction), delta)

def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, ignore_index: int=-100, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.nll_loss_nd(input, target, weight, __torch__.torch.nn.functional._reduction_number(reduction), ignore_index)

def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, ignore_index: int=-100, reduce: Optional[bool]=None, reduction: str="mean", label_smoothing: float=0.0) -> Tensor:
  return torch.cross_entropy_loss(input, target, weight, __torch__.torch.nn.functional._reduction_number(reduction), ignore_index, label_smoothing)

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.binary_cross_entropy(input, target, weight, __torch__.torch.nn.functional._reduction_number(reduction))

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean", pos_weight: Optional[Tensor]=None) -> Tensor:
  return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, __torch__.torch.nn.functional._reduction_number(reduction))

def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean", log_target: bool=False) -> Tensor:
  if reduction == "batchmean":
    return torch.kl_div(input, target, 2, log_target=log_target) / (torch.size(input, 0) if torch.dim(input) > 0 else 1)
  return torch.kl_div(input, target, __torch__.torch.nn.functional._reduction_number(reduction), log_target=log_target)

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float=0.0, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.cosine_embedding_loss(input1, input2, target, margin, __torch__.torch.nn.functional._reduction_number(reduction))

def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float=0.0, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.margin_ranking_loss(input1, input2, target, margin, __torch__.torch.nn.functional._reduction_number(reduction))

def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float=1.0, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.hinge_embedding_loss(input, target, margin, __torch__.torch.nn.functional._reduction_number(reduction))

def soft_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.soft_margin_loss(input, target, __torch__.torch.nn.functional._reduction_number(reduction))

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float=1.0, p: float=2.0, eps: float=1e-06, swap: bool=False, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, __torch__.torch.nn.functional._reduction_number(reduction))

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool=True, full: bool=False, size_average: Optional[bool]=None, eps: float=1e-08, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.poisson_nll_loss(input, target, log_input, full, eps, __torch__.torch.nn.functional._reduction_number(reduction))

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int=0, reduction: str="mean", zero_infinity: bool=False) -> Tensor:
  return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, __torch__.torch.nn.functional._reduction_number(reduction), zero_infinity)

def max_pool1d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]]=None, padding: List[int]=[0], dilation: List[int]=[1], ceil_mode: bool=False, return_indices: bool=False) -> Tensor:
  return torch.max_pool1d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, dilation, ceil_mode)

def max_pool2d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]]=None, padding: List[int]=[0, 0], dilation: List[int]=[1, 1], ceil_mode: bool=False, return_indices: bool=False) -> Tensor:
  return torch.max_pool2d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, dilation, ceil_mode)

def max_pool3d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]]=None, padding: List[int]=[0, 0, 0], dilation: List[int]=[1, 1, 1], ceil_mode: bool=False, return_indices: bool=False) -> Tensor:
  return torch.max_pool3d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, dilation, ceil_mode)

def avg_pool1d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]]=None, padding: List[int]=[0], ceil_mode: bool=False, count_include_pad: bool=True) -> Tensor:
  return torch.avg_pool1d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, ceil_mode, count_include_pad)

def avg_pool2d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]]=None, padding: List[int]=[0, 0], ceil_mode: bool=False, count_include_pad: bool=True, divisor_override: Optional[int]=None) -> Tensor:
  return torch.avg_pool2d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, ceil_mode, count_include_pad, divisor_override)

def avg_pool3d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]]=None, padding: List[int]=[0, 0, 0], ceil_mode: bool=False, count_include_pad: bool=True, divisor_override: Optional[int]=None) -> Tensor:
  return torch.avg_pool3d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, ceil_mode, count_include_pad, divisor_override)

def adaptive_max_pool1d(input: Tensor, output_size: List[int], return_indices: bool=False) -> Tensor:
  return (torch.adaptive_max_pool1d(input, output_size))[0]

def adaptive_max_pool2d(input: Tensor, output_size: List[int], return_indices: bool=False) -> Tensor:
  return (torch.adaptive_max_pool2d(input, output_size))[0]

def multi_margin_loss(input: Tensor, target: Tensor, p: int=1, margin: float=1.0, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.multi_margin_loss(input, target, p, margin, weight, __torch__.torch.nn.functional._reduction_number(reduction))

def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.multilabel_margin_loss(input, target, __torch__.torch.nn.functional._reduction_number(reduction))

def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  loss = torch.neg(target * torch.log_sigmoid(input) + (1 - target) * torch.log_sigmoid(torch.neg(input)))
  if weight is not None:
    loss = loss * weight
  return __torch__.torch.nn.functional._reduced(torch.mean(loss, [-1]), reduction)

def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: List[int], stride: Optional[List[int]]=None, padding: List[int]=[0], output_size: Optional[List[int]]=None) -> Tensor:
  steps = kernel_size if stride is None else stride
  wanted = annotate(List[int], [])
  for place in range(1):
    step = steps[place] if torch.len(steps) > 1 else steps[0]
    pad = padding[place] if torch.len(padding) > 1 else padding[0]
    kernel = kernel_size[place] if torch.len(kernel_size) > 1 else kernel_size[0]
    wanted.append((torch.size(input, torch.dim(input) - 1 + place) - 1) * step - 2 * pad + kernel)
  if output_size is not None:
    wanted = output_size[torch.len(output_size) - 1:]
  lines = torch.unsqueeze(input, -1)
  return torch.squeeze(torch.max_unpool2d(lines, torch.unsqueeze(indices, -1), [wanted[0], 1]), -1)

def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: List[int], stride: Optional[List[int]]=None, padding: List[int]=[0], output_size: Optional[List[int]]=None) -> Tensor:
  steps = kernel_size if stride is None else stride
  wanted = annotate(List[int], [])
  for place in range(2):
    step = steps[place] if torch.len(steps) > 1 else steps[0]
    pad = padding[place] if torch.len(padding) > 1 else padding[0]
    kernel = kernel_size[place] if torch.len(kernel_size) > 1 else kernel_size[0]
    wanted.append((torch.size(input, torch.dim(input) - 2 + place) - 1) * step - 2 * pad + kernel)
  if output_size is not None:
    wanted = output_size[torch.len(output_size) - 2:]
  return torch.max_unpool2d(input, indices, wanted)

def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: List[int], stride: Optional[List[int]]=None, padding: List[int]=[0], output_size: Optional[List[int]]=None) -> Tensor:
  steps = kernel_size if stride is None else stride
  wanted = annotate(List[int], [])
  for place in range(3):
    step = steps[place] if torch.len(steps) > 1 else steps[0]
    pad = padding[place] if torch.len(padding) > 1 else padding[0]
    kernel = kernel_size[place] if torch.len(kernel_size) > 1 else kernel_size[0]
    wanted.append((torch.size(input, torch.dim(input) - 3 + place) - 1) * step - 2 * pad + kernel)
  if output_size is not None:
    wanted = output_size[torch.len(output_size) - 3:]
  return torch.max_unpool3d(input, indices, wanted, steps if torch.len(steps) > 1 else torch.mul(steps, 3), padding if torch.len(padding) > 1 else torch.mul(padding, 3))

def lp_pool1d(input: Tensor, norm_type: float, kernel_size: List[int], stride: Optional[List[int]]=None, ceil_mode: bool=False) -> Tensor:
  count = 1
  for place in range(1):
    count = count * (kernel_size[place] if torch.len(kernel_size) > 1 else kernel_size[0])
  mean = torch.avg_pool1d(torch.pow(input, norm_type), kernel_size, annotate(List[int], []) if stride is None else stride, [0], ceil_mode)
  return torch.pow(torch.sign(mean) * torch.relu(torch.abs(mean)) * float(count), 1.0 / norm_type)

def lp_pool2d(input: Tensor, norm_type: float, kernel_size: List[int], stride: Optional[List[int]]=None, ceil_mode: bool=False) -> Tensor:
  count = 1
  for place in range(2):
    count = count * (kernel_size[place] if torch.len(kernel_size) > 1 else kernel_size[0])
  mean = torch.avg_pool2d(torch.pow(input, norm_type), kernel_size, annotate(List[int], []) if stride is None else stride, [0], ceil_mode)
  return torch.pow(torch.sign(mean) * torch.relu(torch.abs(mean)) * float(count), 1.0 / norm_type)

def lp_pool3d(input: Tensor, norm_type: float, kernel_size: List[int], stride: Optional[List[int]]=None, ceil_mode: bool=False) -> Tensor:
  count = 1
  for place in range(3):
    count = count * (kernel_size[place] if torch.len(kernel_size) > 1 else kernel_size[0])
  mean = torch.avg_pool3d(torch.pow(input, norm_type), kernel_size, annotate(List[int], []) if stride is None else stride, [0], ceil_mode)
  return torch.pow(torch.sign(mean) * torch.relu(torch.abs(mean)) * float(count), 1.0 / norm_type)

def pad(input: Tensor, pad: List[int], mode: str="constant", value: Optional[float]=None) -> Tensor:
  return torch.pad(input, pad, mode, value)

def gumbel_softmax(logits: Tensor, tau: float=1.0, hard: bool=False, eps: float=1e-10, dim: int=-1) -> Tensor:
  noise = torch.neg(torch.log(torch.exponential_(torch.empty_like(logits, memory_format=0))))
  soft = torch.softmax((logits + noise) / tau, dim)
  if hard:
    index = (torch.max(soft, dim, True))[1]
    return torch.scatter_(torch.zeros_like(logits, memory_format=0), dim, index, 1.0) - torch.detach(soft) + soft
  return soft

def _two(value: List[int]) -> List[int]:
  return value if torch.len(value) > 1 else torch.mul(value, 2)

def unfold(input: Tensor, kernel_size: List[int], dilation: List[int]=[1, 1], padding: List[int]=[0, 0], stride: List[int]=[1, 1]) -> Tensor:
  return torch.im2col(input, __torch__.torch.nn.functional._two(kernel_size), __torch__.torch.nn.functional._two(dilation), __torch__.torch.nn.functional._two(padding), __torch__.torch.nn.functional._two(stride))

def fold(input: Tensor, output_size: List[int], kernel_size: List[int], dilation: List[int]=[1, 1], padding: List[int]=[0, 0], stride: List[int]=[1, 1]) -> Tensor:
  return torch.col2im(input, __torch__.torch.nn.functional._two(output_size), __torch__.torch.nn.functional._two(kernel_size), __torch__.torch.nn.functional._two(dilation), __torch__.torch.nn.functional._two(padding), __torch__.torch.nn.functional._two(stride))

def grid_sample(input: Tensor, grid: Tensor, mode: str="bilinear", padding_mode: str="zeros", align_corners: Optional[bool]=None) -> Tensor:
  number = 0 if mode == "bilinear" else 1 if mode == "nearest" else 2
  edge = 0 if padding_mode == "zeros" else 1 if padding_mode == "border" else 2
  return torch.grid_sampler(input, grid, number, edge, False if align_corners is None else align_corners)

def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool]=None) -> Tensor:
  return torch.affine_grid_generator(theta, size, False if align_corners is None else align_corners)

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional[Tensor]=None) -> Tensor:
  return torch.bilinear(input1, input2, weight, bias)

def unique(input: Tensor, sorted: bool=True, return_inverse: bool=False, return_counts: bool=False, dim: Optional[int]=None) -> Tensor:
  if dim is None:
    whole, _0, _1 = torch._unique2(input, sorted, False, False)
    return whole
  parts, _2, _3 = torch.unique_dim(input, dim, sorted, False, False)
  return parts

def cosine_similarity(x1: Tensor, x2: Tensor, dim: int=1, eps: float=1e-08) -> Tensor:
  return torch.cosine_similarity(x1, x2, dim, eps)

def glu(input: Tensor, dim: int=-1) -> Tensor:
  return torch.glu(input, dim)

def interpolate(input: Tensor, size: Optional[List[int]]=None, scale_factor: Optional[List[float]]=None, mode: str="nearest", align_corners: Optional[bool]=None, recompute_scale_factor: Optional[bool]=None, antialias: bool=False) -> Tensor:
  corners = False if align_corners is None else align_corners
  dims = torch.dim(input) - 2
  sizes = size
  factors = scale_factor
  if sizes is not None and torch.len(sizes) == 1:
    sizes = torch.mul(sizes, dims)
  if factors is not None and torch.len(factors) == 1:
    factors = torch.mul(factors, dims)
  if recompute_scale_factor is not None and recompute_scale_factor:
    assert factors is not None, "recompute_scale_factor needs a scale_factor"
    wanted = annotate(List[int], [])
    for place in range(dims):
      wanted.append(int(torch.floor(float(torch.size(input, place + 2)) * factors[place])))
    sizes = wanted
    factors = annotate(Optional[List[float]], None)
  if mode == "nearest":
    if dims == 1:
      return torch.upsample_nearest1d(input, sizes, factors)
    if dims == 2:
      return torch.upsample_nearest2d(input, sizes, factors)
    return torch.upsample_nearest3d(input, sizes, factors)
  if mode == "nearest-exact":
    if dims == 1:
      return torch._upsample_nearest_exact1d(input, sizes, factors)
    if dims == 2:
      return torch._upsample_nearest_exact2d(input, sizes, factors)
    return torch._upsample_nearest_exact3d(input, sizes, factors)
  if mode == "area":
    assert sizes is not None, "the mode area needs a size"
    if dims == 1:
      return torch.adaptive_avg_pool1d(input, sizes)
    if dims == 2:
      return torch.adaptive_avg_pool2d(input, sizes)
    return torch.adaptive_avg_pool3d(input, sizes)
  if mode == "linear" and dims == 1:
    return torch.upsample_linear1d(input, sizes, corners, factors)
  if mode == "bilinear" and dims == 2:
    if antialias:
      return torch._upsample_bilinear2d_aa(input, sizes, corners, factors)
    return torch.upsample_bilinear2d(input, sizes, corners, factors)
  if mode == "bicubic" and dims == 2:
    if antialias:
      return torch._upsample_bicubic2d_aa(input, sizes, corners, factors)
    return torch.upsample_bicubic2d(input, sizes, corners, factors)
  assert mode == "trilinear" and dims == 3, torch.format("no interpolation {} of {} dimensions", mode, dims)
  return torch.upsample_trilinear3d(input, sizes, corners, factors)
'''
NO_GRAD = '''class {name}:
  before : bool
  def __init__(self: __torch__.torch.autograd.grad_mode.{name}) -> NoneType:
    self.before = torch.is_grad_enabled()
    return None
  def __enter__(self: __torch__.torch.autograd.grad_mode.{name}) -> NoneType:
    self.before = torch.is_grad_enabled()
    torch.set_grad_enabled({flag})
    return None
  def __exit__(self: __torch__.torch.autograd.grad_mode.{name}, kind: Any, value: Any, trace: Any) -> NoneType:
    torch.set_grad_enabled(self.before)
    return None
'''
FUNCTIONS: dict[str, str] = {part.split("(", 1)[0]: f"def {part.rstrip()}\n" for part in re.split(r"^def ", _TEXT, flags=re.MULTILINE)[1:]}
REFERENCES = re.compile(r"__torch__\.torch\.nn\.functional\.(\w+)")


@functools.cache
def node_of(name: str) -> ast.FunctionDef:
    """Return the tree of a function."""
    node = ast.parse(FUNCTIONS[name]).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def result_of(name: str) -> Type:
    """Return the type of a function's result."""
    returns = node_of(name).returns
    assert returns is not None
    return read_type(returns)
