"""Train one of the models of this folder on made-up data: python train.py MODEL [--steps 20] [--save FILE] [--load FILE]

Prints the loss of each step. It runs under torch as it is, and under mstorch with `python -m mstorch train.py MODEL`.
"""
import argparse
import importlib

import torch

MODELS = ("resnet", "lstm_lm", "transformer", "unet", "gpt")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", help="write the model's and the optimizer's states to this file at the end")
    parser.add_argument("--load", help="start from the states in this file")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    example = importlib.import_module(options.model)
    model, optimizer = example.build()
    if options.load:
        states = torch.load(options.load)
        model.load_state_dict(states["model"])
        optimizer.load_state_dict(states["optimizer"])
    for step in range(options.steps):
        loss = example.loss(model, *example.batch())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.9g}")
    if options.save:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, options.save)


if __name__ == "__main__":
    main()
