"""torch.onnx.symbolic_opset11: torch's symbolic functions for opset 11; mstorch has none of them."""
