"""Register the kernel rows of MindSpore's device; the CPU's are always registered."""
from . import runtime, table

if runtime.DEVICE_TARGET == "Ascend":
    from . import ascend  # noqa: F401
elif runtime.DEVICE_TARGET == "GPU":
    from . import gpu  # noqa: F401
if runtime.FAKE_DEVICE and runtime.DEVICE_TARGET == "Ascend":
    from . import fake

    table.players.append(fake.played)
