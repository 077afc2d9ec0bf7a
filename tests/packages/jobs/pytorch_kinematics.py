"""Jobs of pytorch_kinematics."""

from __future__ import annotations

import pytorch_kinematics as pk
import torch

URDF = """<robot name="arm"><link name="a"/><link name="b"/><link name="c"/>
<joint name="one" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 0.3"/>
<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="two" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.5 0 0" rpy="0.1 0.2 0"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint></robot>"""


def job_arms():
    torch.manual_seed(0)
    chain = pk.build_serial_chain_from_urdf(URDF, "c")
    angles = torch.randn(4, 2, requires_grad=True)
    placed = chain.forward_kinematics(angles, end_only=False)
    matrix = placed["c"].get_matrix()
    matrix[:, :3, 3].square().sum().backward()
    return [
        matrix,
        angles.grad,
        chain.jacobian(angles.detach()),
        placed["b"].inverse().get_matrix(),
        pk.matrix_to_rotation_6d(matrix[:, :3, :3]),
    ]
