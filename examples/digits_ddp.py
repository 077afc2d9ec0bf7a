"""The network of digits_cnn.py in several processes, each with its part of a batch of 64:

python -m mstorch.distributed.run --nproc-per-node 2 examples/digits_ddp.py      (torchrun … with torch)

A process of its own trains on whole batches: python -m mstorch examples/digits_ddp.py
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from digits_cnn import CNN
from digits_data import evaluate, load_digits
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 64


def parse_options():
    parser = argparse.ArgumentParser(description="The digits in several processes.")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--checkpoint", help="file to continue from, and to write after each epoch")
    return parser.parse_args()


def main():
    options = parse_options()
    several = "WORLD_SIZE" in os.environ
    if several:
        dist.init_process_group("gloo")
    rank, size = (dist.get_rank(), dist.get_world_size()) if several else (0, 1)
    torch.manual_seed(0)
    images, labels = load_digits()
    train_set, test_set = TensorDataset(images[:1437], labels[:1437]), TensorDataset(images[1437:], labels[1437:])
    sampler = DistributedSampler(train_set, size, rank, seed=0, drop_last=True)
    loader = DataLoader(train_set, batch_size=BATCH // size, sampler=sampler, drop_last=True)
    network = CNN()
    model = DistributedDataParallel(network) if several else network
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    criterion, first = nn.CrossEntropyLoss(), 1
    if options.checkpoint and os.path.exists(options.checkpoint):
        state = torch.load(options.checkpoint)
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"] + 1
    for epoch in range(first, options.epochs + 1):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2)
        for batch, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(batch), targets)
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
        if several:
            dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch:2d}  train loss {total[0] / total[1]:.6f}", flush=True)
            if options.checkpoint:
                state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
                torch.save(state, f"{options.checkpoint}.new")
                os.replace(f"{options.checkpoint}.new", options.checkpoint)
    if rank == 0:
        _, accuracy = evaluate(network, DataLoader(test_set, batch_size=360), "cpu")
        print(f"test accuracy {accuracy:.2%}", flush=True)
    if several:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
