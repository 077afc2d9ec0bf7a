"""torch_npu.utils.patch_getenv: importing it changes nothing, here as there where no variable is set."""
