"""Losses and their gradients."""
import torch
from calling import F32, by_autograd, kernel, put
from reading import F, aten

@kernel("aclnnMseLoss")
def mse_loss(self, target, reduction: int, out): put(out, aten.mse_loss(self, target, reduction))

@kernel("aclnnMseLossBackward")
def mse_loss_backward(grad, self, target, reduction: int, out): put(out, aten.mse_loss_backward(grad, self, target, reduction))

@kernel("aclnnNLLLoss", "aclnnNLLLoss2d")
def nll_loss(self, target, weight, reduction: int, ignore: int, out, total):
    f = aten.nll_loss_forward if self.dim() < 3 else aten.nll_loss2d_forward
    a, b = f(self, target.long(), weight, reduction, ignore)
    put(out, a), put(total, b.reshape(total.shape))

@kernel("aclnnNLLLossBackward", "aclnnNLLLoss2dBackward")
def nll_loss_backward(grad, self, target, weight, reduction: int, ignore: int, total, out):
    f = aten.nll_loss_backward if self.dim() < 3 else aten.nll_loss2d_backward
    put(out, f(grad, self, target.long(), weight, reduction, ignore, total.reshape(())))

@kernel("aclnnCrossEntropyLoss")
def cross_entropy(x, target, weight, reduction: str, ignore: int, smoothing: float, scale: float, zloss: bool, loss, log_prob, out_zloss, lse):
    put(log_prob, torch.log_softmax(x, 1))
    put(loss, F.cross_entropy(x, target.long(), weight, ignore_index=ignore, label_smoothing=smoothing, reduction=reduction).reshape(loss.shape))

@kernel("aclnnCrossEntropyLossGrad")
def cross_entropy_grad(grad, log_prob, target, weight, grad_zloss, lse, reduction: str, ignore: int, smoothing: float, scale: float, out):
    x = log_prob.detach().clone().requires_grad_()
    with torch.enable_grad():  # of the loss by the logarithms themselves; a label's share of smoothing goes to all classes
        w = torch.ones(x.shape[1], dtype=x.dtype) if weight is None else weight
        real = target.long() != ignore
        t = target.long().masked_fill(~real, 0)
        each = -x.gather(1, t[:, None])[:, 0] * w[t] * real
        smooth = -(x * w).sum(1) * real
        total = (w[t] * real).sum() if reduction == "mean" else 1
        each, smooth = (each, smooth) if reduction == "none" else (each.sum() / total, smooth.sum() / total)
        loss = (1 - smoothing) * each + smoothing / x.shape[1] * smooth
        value, = torch.autograd.grad(loss, x, grad.reshape(loss.shape))
    put(out, aten._log_softmax_backward_data(value, log_prob, 1, x.dtype))

@kernel("aclnnBinaryCrossEntropy")
def bce(self, target, weight, reduction: int, out): put(out, aten.binary_cross_entropy(self, target, weight, reduction))

@kernel("aclnnBinaryCrossEntropyBackward")
def bce_backward(grad, self, target, weight, reduction: int, out): put(out, aten.binary_cross_entropy_backward(grad, self, target, weight, reduction))

@kernel("aclnnSmoothL1Loss")
def smooth_l1(self, target, reduction: int, beta: F32, out): put(out, aten.smooth_l1_loss(self, target, reduction, beta))

@kernel("aclnnSmoothL1LossBackward")
def smooth_l1_backward(grad, self, target, reduction: int, beta: F32, out): put(out, aten.smooth_l1_loss_backward(grad, self, target, reduction, beta))

@kernel("aclnnBinaryCrossEntropyWithLogits")
def bce_logits(self, target, weight, positive, reduction: int, out): put(out, aten.binary_cross_entropy_with_logits(self, target, weight, positive, reduction))

@kernel("aclnnBinaryCrossEntropyWithLogitsBackward")
def bce_logits_backward(grad, self, target, weight, positive, reduction: int, out):
    x = self.detach().clone().requires_grad_()
    with torch.enable_grad():
        loss = aten.binary_cross_entropy_with_logits(x, target, weight, positive, reduction)
        value, = torch.autograd.grad(loss, x, grad.reshape(loss.shape))
    put(out, value)

@kernel("aclnnSoftMarginLoss")
def soft_margin(self, target, reduction: int, out): put(out, aten.soft_margin_loss(self, target, reduction))

@kernel("aclnnSoftMarginLossBackward")
def soft_margin_backward(grad, self, target, reduction: int, out): put(out, aten.soft_margin_loss_backward(grad, self, target, reduction))

@kernel("aclnnL1Loss")
def l1(self, target, reduction: int, out): put(out, {0: lambda v: v, 1: torch.mean, 2: torch.sum}[reduction]((self - target).abs()))

@kernel("aclnnKlDiv")
def kl_div(self, target, reduction: int, log: bool, out): put(out, aten.kl_div(self, target, reduction, log_target=log))


@kernel("aclnnKlDivBackward")
def kl_div_backward(grad, self, target, reduction: int, log: bool, out): put(out, by_autograd(lambda x: (lambda v: v.reshape(grad.shape))(aten.kl_div(x, target, reduction, log_target=log)), self, grad))

@kernel("aclnnL1LossBackward")
def l1_backward(grad, self, target, reduction: int, out): put(out, torch.sign(self - target) * grad / (self.numel() if reduction == 1 else 1))
