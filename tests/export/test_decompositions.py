"""``ExportedProgram.run_decompositions`` with a table, compared with torch."""
from __future__ import annotations

import io

import pytest


def _program(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.linear = torch.nn.Linear(3, 2)
            self.register_buffer("factor", torch.ones(2) * 3)

        def forward(self, x, pair):
            return {"a": torch.nn.functional.gelu(self.linear(x) + pair[0]) * self.factor, "b": pair[1] * 2}

    inputs = torch.arange(6.0).reshape(2, 3), (torch.ones(2), torch.ones(1))
    return torch.export.export(Net().eval(), inputs), inputs


@pytest.mark.parametrize("table", ["none", "empty", "a function"])
def test_results(both, table):
    def body(torch):
        import importlib

        importlib.import_module(f"{torch.__name__}.export")
        program, inputs = _program(torch)
        tables = {"none": None, "empty": {}, "a function": {torch.ops.aten.gelu.default: lambda x, approximate="none": x * torch.sigmoid(1.702 * x)}}
        found = program.run_decompositions(tables[table])
        file = io.BytesIO()
        torch.export.save(found, file)
        file.seek(0)
        loaded = torch.export.load(file)
        targets = [str(node.target) for node in found.graph.nodes]
        specs = [(spec.kind.name, spec.target) for spec in found.graph_signature.input_specs]
        results = [ran.module()(*inputs) for ran in (found, loaded, program)]
        return results, "aten.gelu.default" in targets, "aten.sigmoid.default" in targets, specs, sorted(found.state_dict)

    both(body, strides=False)


def test_a_decomposition_that_reads_a_value_raises():
    import mstorch
    import mstorch.export

    program, _ = _program(mstorch)
    before = [str(node.target) for node in program.graph.nodes]
    with pytest.raises(RuntimeError, match="data-dependent"):
        program.run_decompositions({mstorch.ops.aten.gelu.default: lambda x, approximate="none": x * float(x.sum())})
    assert [str(node.target) for node in program.graph.nodes] == before
