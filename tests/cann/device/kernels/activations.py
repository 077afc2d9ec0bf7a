"""Activation functions and their gradients."""
import torch
from calling import by_autograd, kernel, put
from reading import F, aten

@kernel("aclnnSoftmax")
def softmax(self, dim: int, out): put(out, torch.softmax(self, dim))

@kernel("aclnnLogSoftmax")
def log_softmax(self, dim: int, out): put(out, torch.log_softmax(self, dim))

@kernel("aclnnSoftmaxBackward")
def softmax_backward(grad, output, dim: int, out): put(out, aten._softmax_backward_data(grad, output, dim, grad.dtype))

@kernel("aclnnLogSoftmaxBackward")
def log_softmax_backward(grad, output, dim: int, out): put(out, aten._log_softmax_backward_data(grad, output, dim, grad.dtype))

@kernel("aclnnGeluV2")
def gelu_v2(self, approximate: int, out): put(out, F.gelu(self, approximate="tanh" if approximate else "none"))

@kernel("aclnnGeluBackwardV2")
def gelu_backward_v2(grad, self, approximate: str, out): put(out, aten.gelu_backward(grad, self, approximate=approximate))

@kernel("aclnnThreshold")
def threshold(self, level, value, out): put(out, F.threshold(self, level, value))

@kernel("aclnnThresholdBackward")
def threshold_backward(grad, self, level, out): put(out, aten.threshold_backward(grad, self, level))

@kernel("aclnnElu")
def elu(self, alpha, scale, inner, out): put(out, aten.elu(self, alpha, scale, inner))

@kernel("aclnnEluBackward")
def elu_backward(grad, alpha, scale, inner, is_result: bool, self, out): put(out, aten.elu_backward(grad, alpha, scale, inner, is_result, self))

@kernel("aclnnLeakyReluBackward")
def leaky_relu_backward(grad, self, slope, is_result: bool, out): put(out, aten.leaky_relu_backward(grad, self, slope, is_result))

@kernel("aclnnHardtanh")
def hardtanh(self, low, high, out): put(out, F.hardtanh(self, low, high))

@kernel("aclnnSoftplus")
def softplus(self, beta, level, out): put(out, F.softplus(self, beta, level))

@kernel("aclnnSoftplusBackward")
def softplus_backward(grad, self, beta, level, out): put(out, aten.softplus_backward(grad, self, beta, level))

@kernel("aclnnLogSigmoidForward")
def log_sigmoid(self, out, buffer): put(out, F.logsigmoid(self))

@kernel("aclnnLogSigmoidBackward")
def log_sigmoid_backward(grad, self, buffer, out): put(out, grad * torch.sigmoid(-self))

@kernel("aclnnGlu")
def glu(self, dim: int, out): put(out, F.glu(self, dim))

@kernel("aclnnGluBackward")
def glu_backward(grad, self, dim: int, out): put(out, aten.glu_backward(grad, self, dim))

@kernel("aclnnHardshrinkBackward")
def hardshrink_backward(grad, self, level, out): put(out, aten.hardshrink_backward(grad, self, level))

@kernel("aclnnSoftshrinkBackward")
def softshrink_backward(grad, self, level, out): put(out, aten.softshrink_backward(grad, self, level))

@kernel("aclnnHardtanhBackward")
def hardtanh_backward(grad, self, low, high, out): put(out, aten.hardtanh_backward(grad, self, low, high))

@kernel("aclnnPreluBackward")
def prelu_backward(grad, self, weight, gx, gw):
    for o, v in zip((gx, gw), aten._prelu_kernel_backward(grad, self, weight.reshape([1, -1] + [1] * (self.dim() - 2)) if self.dim() > 1 else weight)):
        put(o, v if o.shape == v.shape else v.transpose(0, 1).reshape(v.shape[1], -1).sum(1).sum_to_size(o.shape))

@kernel("aclnnSwiGlu")
def swiglu(x, dim: int, out): put(out, F.silu(x.chunk(2, dim)[0]) * x.chunk(2, dim)[1])

@kernel("aclnnSeluBackward")
def selu_backward(grad, result, out): put(out, aten.elu_backward(grad, 1.6732632423543772, 1.0507009873554805, 1, True, result))

@kernel("aclnnSwiGluGrad")
def swiglu_backward(grad, x, dim: int, out): put(out, by_autograd(lambda x: F.silu(x.chunk(2, dim)[0]) * x.chunk(2, dim)[1], x, grad))

@kernel("aclnnInplaceElu")
def elu_(self, alpha, scale, inner): put(self, aten.elu(self, alpha, scale, inner))

@kernel("aclnnInplaceHardtanh")
def hardtanh_(self, low, high): put(self, F.hardtanh(self, low, high))

@kernel("aclnnInplaceThreshold")
def threshold_(self, level, value): put(self, F.threshold(self, level, value))
