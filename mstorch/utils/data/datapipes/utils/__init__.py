"""torch.utils.data.datapipes.utils: files and streams, decoders, snapshots."""
