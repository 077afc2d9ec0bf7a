"""What layers compute: convolutions, pooling, norms, embeddings, recurrent cells, steps of optimizers."""
