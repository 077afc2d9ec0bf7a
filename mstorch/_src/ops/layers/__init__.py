"""Operations of layers: convolutions, pooling, norms, embeddings, recurrent cells, optimizer steps."""
