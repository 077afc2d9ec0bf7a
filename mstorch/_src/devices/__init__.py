"""Shared code of the device modules: functions that raise because the device is missing, streams, contexts."""
