"""Optimizer steps."""
import torch
from calling import F32, kernel

@kernel("aclnnApplyAdamWV2")
def adamw(var, m, v, highest, grad, step, lr: F32, beta1: F32, beta2: F32, decay: F32, eps: F32, amsgrad: bool, maximize: bool):
    grad = -grad if maximize else grad
    t = step.reshape(()).double().item() + 1
    var.mul_(1 - lr * decay)
    m.mul_(beta1).add_(grad, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    top = torch.maximum(highest, v, out=highest) if amsgrad else v
    var.sub_(m / (1 - beta1 ** t) * lr / ((top / (1 - beta2 ** t)).sqrt() + eps))
