"""Jobs of roma."""

from __future__ import annotations

import roma
import torch


def job_rotations():
    torch.manual_seed(0)
    vectors = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    matrices = roma.rotvec_to_rotmat(vectors)
    quaternions = roma.rotmat_to_unitquat(matrices)
    middle = roma.unitquat_slerp(quaternions[:3], quaternions[3:], torch.tensor([0.25, 0.5], dtype=torch.float64))
    loss = roma.rotmat_geodesic_distance(matrices[:3], matrices[3:]).sum() + middle.square().sum()
    loss.backward()
    points = torch.randn(20, 3, dtype=torch.float64)
    moved = points @ matrices[0].detach().T + 0.5
    return [
        matrices,
        quaternions,
        middle,
        vectors.grad,
        roma.rigid_points_registration(points, moved),
        roma.special_procrustes(torch.randn(2, 3, 3)),
        roma.random_rotmat(2),
    ]
