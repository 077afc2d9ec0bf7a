"""The common part of the modules of devices: functions that only raise that the device is not there, streams, contexts."""
