"""torch.onnx.symbolic_opset11: how torch writes operations in ONNX's eleventh set. None is written here."""
