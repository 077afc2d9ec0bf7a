"""Operations of layers: convolutions, pooling, norms, embeddings, recurrent cells, steps of optimizers."""
