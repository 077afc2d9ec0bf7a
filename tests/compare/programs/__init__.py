"""Programs of several kinds, each with ten faults that it can be given: PLANT=name, under mstorch, or on the device, only."""
