"""torch.utils.data.datapipes.utils: files and streams, decoders of files, snapshots."""
