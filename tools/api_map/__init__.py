"""Writes docs/api: each public name of torch, whether mstorch has it, how it is called, and what computes it on each device.

    python -m tools.api_map            # write the pages (needs torch)
    python -m tools.api_map --check    # print the pages that are out of date, and fail if there are any
    python -m tools.api_map.calls      # run torch's databases on the CPU and on the stand-in, and write the results
"""
