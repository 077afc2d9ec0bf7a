"""Jobs of torchio."""

from __future__ import annotations

import torch
import torchio


def job_transforms():
    torch.manual_seed(0)
    subject = torchio.Subject(
        image=torchio.ScalarImage(tensor=torch.rand(1, 12, 10, 8)), label=torchio.LabelMap(tensor=(torch.rand(1, 12, 10, 8) > 0.5).float())
    )
    chain = torchio.Compose(
        [
            torchio.ZNormalization(),
            torchio.RandomFlip(axes=(0, 1)),
            torchio.RandomAffine(degrees=5),
            torchio.RandomNoise(std=0.1),
            torchio.RandomBiasField(),
            torchio.RandomBlur(),
            torchio.CropOrPad((8, 8, 8)),
        ]
    )
    changed = chain(subject)
    sampler = torchio.GridSampler(subject, 6, 2)
    aggregator = torchio.GridAggregator(sampler)
    for batch in torch.utils.data.DataLoader(sampler, batch_size=4):
        aggregator.add_batch(batch["image"]["data"] * 2, batch["location"])
    return [changed.image.data, changed.label.data.sum(), aggregator.get_output_tensor(), subject.image.data]
