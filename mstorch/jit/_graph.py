"""The graph of a trace or of a script: nodes, blocks and typed values, with the methods of torch's ``torch._C.Graph``."""
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .._src.core.promotion import WORDS
from .._tensor import Tensor

_NUMBERS = {bool: ("bool", "BoolType"), int: ("int", "IntType"), float: ("float", "FloatType"), str: ("str", "StringType")}


def tensor_text(tensor: Tensor) -> str:
    """Format a tensor's type as in graphs: ``Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)``."""
    sizes = ", ".join(map(str, tensor.shape))
    strides = f"strides=[{', '.join(map(str, tensor.stride()))}], " if tensor.dim() else ""
    lead = f"{sizes}, " if sizes else ""
    return f"{WORDS[tensor.dtype.name]}({lead}{strides}requires_grad={int(tensor.requires_grad)}, device={tensor.device})"


class Type:
    """Type of a value in a graph: a tensor type or another type."""

    def __init__(self, name: str, kind: str, tensor: Tensor | None = None, element: Type | None = None, text: str | None = None) -> None:
        self._name, self._kind, self._element = name, kind, element
        self._text = name if text is None else text
        self._is_told = text is not None
        self._sizes: list[int] | None = None
        self._strides: list[int] | None = None
        self._ms_dtype: Any = None
        self._device: Any = None
        self._requires_grad = False
        if tensor is not None:
            self._sizes, self._strides, self._ms_dtype = list(tensor.shape), list(tensor.stride()), tensor.dtype
            self._text, self._device, self._requires_grad = tensor_text(tensor), tensor.device, tensor.requires_grad

    def kind(self) -> str:
        """Return the kind: "TensorType", "IntType", "ListType" and so on."""
        return self._kind

    def sizes(self) -> list[int] | None:
        """Return a tensor's shape."""
        return self._sizes

    def strides(self) -> list[int] | None:
        """Return a tensor's strides."""
        return self._strides

    def dim(self) -> int | None:
        """Return a tensor's number of dimensions."""
        return None if self._sizes is None else len(self._sizes)

    def dtype(self) -> Any:
        """Return a tensor's dtype."""
        return self._ms_dtype

    def device(self) -> Any:
        """Return a tensor's device."""
        return self._device

    def requiresGrad(self) -> bool:
        """Return whether a tensor requires gradients."""
        return self._requires_grad

    def scalarType(self) -> str | None:
        """Return the name of a tensor's dtype, such as "Float"."""
        return None if self._ms_dtype is None else WORDS[self._ms_dtype.name]

    def getElementType(self) -> Type | None:
        """Return the type of a list's elements."""
        return self._element

    @property
    def annotation_str(self) -> str:
        """The type as a Python annotation."""
        return self._name

    def __str__(self) -> str:
        return self._name

    __repr__ = __str__

    def shown(self) -> str:
        """Format the type as the text of a graph shows it."""
        return self._text if self._element is None or self._is_told else f"{self._element._name}[]"


def type_of(value: Any) -> Type:
    """Return the Type of a Python value."""
    if isinstance(value, Tensor):
        return Type("Tensor", "TensorType", value)
    if value is None:
        return Type("NoneType", "NoneType")
    for kind, (name, word) in _NUMBERS.items():
        if type(value) is kind:
            return Type(name, word)
    if type(value) in (list, tuple):
        element = type_of(value[0]) if value else Type("Tensor", "TensorType")
        return Type(f"List[{element}]", "ListType", element=element)
    return Type(type(value).__name__, "DeviceObjType" if type(value).__name__ == "device" else "AnyType")


class Value:
    """An output of a node, or an input of the graph."""

    def __init__(self, node: Node, number: int, kind: Type, constant: Any = None) -> None:
        self._ms_node, self._name, self._type, self._constant = node, str(number), kind, constant
        self._users: list[Node] = []

    def node(self) -> Node:
        """Return the node that produces the value."""
        return self._ms_node

    def debugName(self) -> str:
        """Return the name in the graph's text, without the percent sign."""
        return self._name

    def setDebugName(self, name: str) -> Value:
        """Set the name in the graph's text."""
        self._name = name
        return self

    def unique(self) -> int:
        """Return a number that identifies the value."""
        return id(self)

    def type(self) -> Type:
        """Return the type."""
        return self._type

    def isCompleteTensor(self) -> bool:
        """Return whether it is a tensor whose shape is known."""
        return self._type.sizes() is not None

    def requires_grad(self) -> bool:
        """Return whether it is a tensor that requires gradients."""
        return self._type.requiresGrad()

    def toIValue(self) -> Any:
        """Return a constant's value; None for other values."""
        return self._constant

    def uses(self) -> list[Any]:
        """Return a use, with ``user``, for each node that takes the value."""
        return [_Use(node) for node in self._users]

    def __repr__(self) -> str:
        return f"{self._name} defined in ({str(self._ms_node).strip()})"


class _Use:
    def __init__(self, user: Node) -> None:
        self.user = user


class Node:
    """An operation: an operator of torch (``aten::linear``), a constant, a list."""

    def __init__(self, graph: Graph, kind: str, inputs: list[Value], scope: str = "", place: str = "") -> None:
        self._graph, self._kind, self._inputs, self._scope, self._place = graph, kind, inputs, scope, place
        self._outputs: list[Value] = []
        self._attributes: dict[str, Any] = {}
        self._blocks: list[Block] = []
        for value in inputs:
            value._users.append(self)

    def kind(self) -> str:
        """Return the operator's name, such as "aten::add"."""
        return self._kind

    def scopeName(self) -> str:
        """Return the active scopes, joined by slashes."""
        return self._scope

    def sourceRange(self) -> str:
        """Return the source location of the call."""
        return self._place

    def inputs(self) -> Iterator[Value]:
        """Return an iterator over the input values."""
        return iter(list(self._inputs))

    def outputs(self) -> Iterator[Value]:
        """Return an iterator over the output values."""
        return iter(list(self._outputs))

    def blocks(self) -> Iterator[Block]:
        """Return an iterator over the blocks: the branches of a ``prim::If``, the body of a ``prim::Loop``."""
        return iter(list(self._blocks))

    def addBlock(self) -> Block:
        """Add an empty block and return it."""
        block = Block(self._graph)
        self._blocks.append(block)
        return block

    def hasMultipleOutputs(self) -> bool:
        """Return whether there are several outputs."""
        return len(self._outputs) > 1

    def inputsSize(self) -> int:
        """Return the number of inputs."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """Return the number of outputs."""
        return len(self._outputs)

    def inputsAt(self, i: int) -> Value:
        """Return the input value at an index."""
        return self._inputs[i]

    def outputsAt(self, i: int) -> Value:
        """Return the output value at an index."""
        return self._outputs[i]

    def input(self) -> Value:
        """Return the only input."""
        (found,) = self._inputs
        return found

    def output(self) -> Value:
        """Return the only output."""
        (found,) = self._outputs
        return found

    def attributeNames(self) -> list[str]:
        """Return the attribute names: "value" for a constant."""
        return list(self._attributes)

    def hasAttribute(self, name: str) -> bool:
        """Return whether it has an attribute."""
        return name in self._attributes

    def kindOf(self, name: str) -> str:
        """Return the type code of an attribute: "i" for an integer, "f", "s" or "t"."""
        value = self._attributes[name]
        if isinstance(value, (Tensor, Graph)):
            return "t" if isinstance(value, Tensor) else "g"
        if isinstance(value, list):
            return "tys" if value and isinstance(value[0], Type) else "ival"
        return {float: "f", str: "s", int: "i", bool: "i"}.get(type(value), "ival")

    def __getitem__(self, name: str) -> Any:
        return self._attributes[name]

    def i(self, name: str) -> int:
        """Return an integer attribute."""
        return int(self._attributes[name])

    f = s = t = g = __getitem__

    def __str__(self) -> str:
        return self._shown("")

    __repr__ = __str__

    def _shown(self, indent: str) -> str:
        given = ", ".join(f"%{value.debugName()} : {value.type().shown()}" for value in self._outputs)
        taken = ", ".join(f"%{value.debugName()}" for value in self._inputs)
        attributes = ", ".join(f"{name}={_written(value)}" for name, value in self._attributes.items())
        place = f" # {self._place}" if self._place else ""
        scope = f", scope: {self._scope}" if self._scope else ""
        line = f"{indent}{given} = {self._kind}{f'[{attributes}]' if attributes else ''}({taken}){scope}{place}\n"
        return line + "".join(block._shown(number, f"{indent}  ") for number, block in enumerate(self._blocks))


def _written(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{{{value.item()}}}" if not value.dim() else "<Tensor>"
    if type(value) is float:
        text = f"{value:.17g}"
        return f"{text}." if text.lstrip("-").isdigit() else text
    if isinstance(value, Graph):
        return "<Graph>"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(str(item) if isinstance(item, Type) else _written(item) for item in value)}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(int(value)) if isinstance(value, int) else str(value)


class Block:
    """Nodes in order, with inputs and outputs: the branch of a node, or a whole graph."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._nodes: list[Node] = []
        self._inputs: list[Value] = []
        self._outputs: list[Value] = []
        self._param, self._return = Node(graph, "prim::Param", []), Node(graph, "prim::Return", [])

    def nodes(self) -> Iterator[Node]:
        """Return an iterator over the nodes."""
        return iter(list(self._nodes))

    def inputs(self) -> Iterator[Value]:
        """Return an iterator over the inputs."""
        return iter(list(self._inputs))

    def outputs(self) -> Iterator[Value]:
        """Return an iterator over the outputs."""
        return iter(list(self._outputs))

    def paramNode(self) -> Node:
        """Return the node whose outputs are the block's inputs."""
        return self._param

    param_node = paramNode

    def returnNode(self) -> Node:
        """Return the node whose inputs are the block's outputs."""
        self._return._inputs = list(self._outputs)
        return self._return

    def registerOutput(self, value: Value) -> int:
        """Make a value an output; return the number of outputs."""
        self._outputs.append(value)
        value._users.append(self.returnNode())
        return len(self._outputs)

    def addInputToBlock(self, kind: Type) -> Value:
        """Add an input of a type and return its Value."""
        value = self._graph._value(self._param, kind)
        self._inputs.append(value)
        return value

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """Return the nodes of a kind, also those within nodes if ``recurse``."""
        several: list[Node] = []
        for node in self._nodes:
            several += [node] if node.kind() == kind else []
            for block in node._blocks if recurse else ():
                several += block.findAllNodes(kind)
        return several

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """Return the first node of a kind."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def _shown(self, number: int, indent: str) -> str:
        inputs = ", ".join(f"%{value.debugName()} : {value.type().shown()}" for value in self._inputs)
        steps = "".join(node._shown(f"{indent}  ") for node in self._nodes)
        return f"{indent}block{number}({inputs}):\n{steps}{indent}  -> ({', '.join(f'%{value.debugName()}' for value in self._outputs)})\n"


class Graph(Block):
    """The nodes of a trace or of a script in order, with its inputs and outputs."""

    def __init__(self) -> None:
        super().__init__(self)
        self._count = 0

    def _value(self, node: Node, kind: Type, constant: Any = None) -> Value:
        value = Value(node, self._count, kind, constant)
        self._count += 1
        node._outputs.append(value)
        return value

    def addInput(self, tensor: Tensor) -> Value:
        """Add an input and return its Value."""
        return self.addInputToBlock(type_of(tensor))

    def add(self, kind: str, inputs: list[Value], results: list[Type], scope: str = "", place: str = "") -> Node:
        """Add a node, with an output for each result type, and return it."""
        node = Node(self, kind, inputs, scope, place)
        self._nodes.append(node)
        for one in results:
            self._value(node, one)
        return node

    def constant(self, value: Any, scope: str = "", place: str = "") -> Value:
        """Add a constant node and return its Value."""
        node = Node(self, "prim::Constant", [], scope, place)
        self._nodes.append(node)
        if value is not None:
            node._attributes["value"] = value
        return self._value(node, type_of(value), value)

    def eraseInput(self, i: int) -> None:
        """Remove an input that nothing uses."""
        if self._inputs[i]._users:
            raise RuntimeError("mstorch: the input of the graph has uses")
        del self._inputs[i], self._param._outputs[i]

    def block(self) -> Block:
        """Return the block of the whole graph."""
        return self

    def __str__(self) -> str:
        inputs = ",\n      ".join(f"%{value.debugName()} : {value.type().shown()}" for value in self._inputs)
        steps = "".join(node._shown("  ") for node in self._nodes)
        return f"graph({inputs}):\n{steps}  return ({', '.join(f'%{value.debugName()}' for value in self._outputs)})\n"

    __repr__ = __str__
