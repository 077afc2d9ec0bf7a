"""torch.onnx.symbolic_opset11: torch's symbolic functions for opset 11, none of which exist here."""
