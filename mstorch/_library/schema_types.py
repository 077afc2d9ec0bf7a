"""The types of operators' parameters, as torch's schemas have them: ``Tensor``, ``int``, ``List[int]``, ``Optional[Tensor]``."""
from __future__ import annotations

import re
from typing import Any, ClassVar


class JitType:
    """A type of a parameter or result; types are equal that are written alike."""

    _kind: ClassVar[str] = "Type"

    def __init__(self, text: str) -> None:
        self.annotation_str = text

    def kind(self) -> str:
        """Return the name of the kind of type: ``"TensorType"``."""
        return self._kind

    def str(self) -> str:
        """Return the type as a schema's text has it."""
        return self.annotation_str

    def isSubtypeOf(self, other: JitType) -> bool:
        """Return whether each value of this type is one of the other."""
        if self == other or isinstance(other, AnyType):
            return True
        if isinstance(other, OptionalType):
            inner = self.getElementType() if isinstance(self, OptionalType) else self
            return isinstance(self, NoneType) or inner.isSubtypeOf(other.getElementType())
        return isinstance(other, NumberType) and isinstance(self, (IntType, FloatType, ComplexType))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JitType) and other.annotation_str == self.annotation_str

    def __hash__(self) -> int:
        return hash(self.annotation_str)

    def __repr__(self) -> Any:
        return self.annotation_str


class _Plain(JitType):
    """A type without parts."""

    _text: ClassVar[str]

    def __init__(self) -> None:
        super().__init__(self._text)

    @classmethod
    def get(cls) -> Any:
        """Return the type."""
        return cls()

    def __init_subclass__(cls, text: str = "") -> None:
        cls._text, cls._kind = text, cls.__name__.lstrip("_")


class TensorType(_Plain, text="Tensor"):
    """Tensors."""


class IntType(_Plain, text="int"):
    """Integers; dtypes, layouts and memory formats, too."""


class FloatType(_Plain, text="float"):
    """Floating point numbers."""


class BoolType(_Plain, text="bool"):
    """Truth values."""


class ComplexType(_Plain, text="complex"):
    """Complex numbers."""


class NumberType(_Plain, text="number"):
    """Numbers of any kind."""


class StringType(_Plain, text="str"):
    """Texts."""


class NoneType(_Plain, text="NoneType"):
    """None."""


class AnyType(_Plain, text="Any"):
    """Anything."""


class DeviceObjType(_Plain, text="Device"):
    """Devices."""


class StreamObjType(_Plain, text="Stream"):
    """Streams."""


class _GeneratorType(_Plain, text="Generator"):
    """Generators."""


class _Holding(JitType):
    """A type with one part."""

    _word: ClassVar[str]

    def __init__(self, element: JitType) -> None:
        super().__init__(f"{self._word}[{element.annotation_str}]")
        self._element = element

    def getElementType(self) -> JitType:
        """Return the part."""
        return self._element

    def __init_subclass__(cls, word: str = "") -> None:
        cls._word, cls._kind = word, cls.__name__


class ListType(_Holding, word="List"):
    """Lists."""

    @staticmethod
    def ofInts() -> ListType:
        """Return lists of integers."""
        return ListType(IntType())

    @staticmethod
    def ofTensors() -> ListType:
        """Return lists of tensors."""
        return ListType(TensorType())

    @staticmethod
    def ofFloats() -> ListType:
        """Return lists of floating point numbers."""
        return ListType(FloatType())


class OptionalType(_Holding, word="Optional"):
    """None, or another type."""

    @staticmethod
    def ofTensor() -> OptionalType:
        """None, or a tensor."""
        return OptionalType(TensorType())


class TupleType(JitType):
    """Tuples."""

    _kind = "TupleType"

    def __init__(self, elements: list[JitType]) -> None:
        super().__init__(f"Tuple[{', '.join(element.annotation_str for element in elements)}]")
        self._elements = list(elements)

    def elements(self) -> list[JitType]:
        """Return the parts."""
        return self._elements


_WORDS: dict[str, type[_Plain]] = {
    "Tensor": TensorType, "int": IntType, "SymInt": IntType, "ScalarType": IntType, "Layout": IntType, "MemoryFormat": IntType,
    "float": FloatType, "bool": BoolType, "SymBool": BoolType, "complex": ComplexType, "Scalar": NumberType, "str": StringType,
    "Any": AnyType, "Device": DeviceObjType, "Stream": StreamObjType, "Generator": _GeneratorType, "NoneType": NoneType,
}  # fmt: skip


def type_of(text: str) -> tuple[JitType, int | None]:
    """Return the type that a schema's word stands for (``int[2]?``), and the length of a list that it names."""
    if text.endswith("?"):
        inner, length = type_of(text[:-1])
        return OptionalType(inner), length
    listed = re.fullmatch(r"(.*)\[(\d*)\]", text)
    if listed:
        return ListType(type_of(listed[1])[0]), int(listed[2]) if listed[2] else None
    if text in _WORDS:
        return _WORDS[text](), None
    if re.fullmatch(r"t\d*|[a-z]|Storage|QScheme|Dict|Any\w+Type|tVal|Any\w*|\.\.\.|__torch__[\w.]*", text):
        return JitType(text), None
    raise RuntimeError(f"unknown type specifier: {text!r}")


__all__ = [
    "AnyType", "BoolType", "ComplexType", "DeviceObjType", "FloatType", "IntType", "JitType", "ListType", "NoneType", "NumberType",
    "OptionalType", "StreamObjType", "StringType", "TensorType", "TupleType", "type_of",
]  # fmt: skip
