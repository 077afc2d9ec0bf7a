"""torch.nn: layers, losses, containers, and Module, their base."""
import sys

from .. import init
from . import functional, modules, parameter
from .modules import (
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d,
    AlphaDropout, AvgPool1d, AvgPool2d, AvgPool3d, BCELoss, BCEWithLogitsLoss, BatchNorm1d, BatchNorm2d, BatchNorm3d,
    Bilinear, CELU, CTCLoss, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d,
    CosineEmbeddingLoss, CosineSimilarity, CrossEntropyLoss, Dropout, Dropout1d, Dropout2d, Dropout3d, ELU,
    FeatureAlphaDropout, Flatten, GELU, GLU, GaussianNLLLoss, Hardshrink, Hardsigmoid, Hardswish, Hardtanh,
    HingeEmbeddingLoss, HuberLoss, Identity, KLDivLoss, L1Loss, LPPool1d, LPPool2d, LPPool3d, LeakyReLU, Linear,
    LogSigmoid, LogSoftmax, MSELoss, MarginRankingLoss, MaxPool1d, MaxPool2d, MaxPool3d, Mish, Module, ModuleDict,
    ModuleList, MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, NLLLoss, NLLLoss2d, PReLU,
    PairwiseDistance, ParameterDict, ParameterList, PoissonNLLLoss, RReLU, ReLU, ReLU6, SELU, Sequential, SiLU,
    Sigmoid, SmoothL1Loss, SoftMarginLoss, Softmax, Softmax2d, Softmin, Softplus, Softshrink, Softsign, Tanh,
    Tanhshrink, Threshold, TripletMarginLoss, TripletMarginWithDistanceLoss, Unflatten,
)  # fmt: skip
from .parameter import Buffer, Parameter

# ``import mstorch.nn.init`` finds the package that stands beside nn.
sys.modules[__name__ + ".init"] = init

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss", "BCEWithLogitsLoss",
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "Buffer", "CELU", "CTCLoss", "Conv1d", "Conv2d",
    "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "CosineEmbeddingLoss", "CosineSimilarity",
    "CrossEntropyLoss", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "ELU", "FeatureAlphaDropout", "Flatten",
    "GELU", "GLU", "GaussianNLLLoss", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "HingeEmbeddingLoss",
    "HuberLoss", "Identity", "KLDivLoss", "L1Loss", "LPPool1d", "LPPool2d", "LPPool3d", "LeakyReLU", "Linear",
    "LogSigmoid", "LogSoftmax", "MSELoss", "MarginRankingLoss", "MaxPool1d", "MaxPool2d", "MaxPool3d", "Mish",
    "Module", "ModuleDict", "ModuleList", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "NLLLoss", "NLLLoss2d", "PReLU", "PairwiseDistance", "Parameter", "ParameterDict", "ParameterList",
    "PoissonNLLLoss", "RReLU", "ReLU", "ReLU6", "SELU", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss",
    "SoftMarginLoss", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
    "Threshold", "TripletMarginLoss", "TripletMarginWithDistanceLoss", "Unflatten", "functional", "init", "modules",
    "parameter",
]  # fmt: skip
