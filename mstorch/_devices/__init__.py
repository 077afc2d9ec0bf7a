"""What the modules of devices have in common: functions that only say that the device is not there, streams, contexts."""
