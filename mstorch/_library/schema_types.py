"""Types of operator parameters as in torch's schemas: ``Tensor``, ``int``, ``List[int]``, ``Optional[Tensor]``."""
from __future__ import annotations

import re
from typing import Any, ClassVar


class JitType:
    """Type of a parameter or return; two types are equal if their text is."""

    _kind: ClassVar[str] = "Type"

    def __init__(self, text: str) -> None:
        self.annotation_str = text

    def kind(self) -> str:
        """Return the name of the type's class, for example ``"TensorType"``."""
        return self._kind

    def str(self) -> str:
        """Return the type as an operator schema spells it."""
        return self.annotation_str

    def isSubtypeOf(self, other: JitType) -> bool:
        """Return whether this type is a subtype of the other."""
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
    """Type without element types."""

    _text: ClassVar[str]

    def __init__(self) -> None:
        super().__init__(self._text)

    @classmethod
    def get(cls) -> Any:
        """Return an instance of the type."""
        return cls()

    def __init_subclass__(cls, text: str = "") -> None:
        cls._text, cls._kind = text, cls.__name__.lstrip("_")


class TensorType(_Plain, text="Tensor"):
    """Type ``Tensor``."""


class IntType(_Plain, text="int"):
    """Type ``int``; also the type of dtypes, layouts and memory formats in schemas."""


class FloatType(_Plain, text="float"):
    """Type ``float``."""


class BoolType(_Plain, text="bool"):
    """Type ``bool``."""


class ComplexType(_Plain, text="complex"):
    """Type ``complex``."""


class NumberType(_Plain, text="number"):
    """Type ``number``: int, float or complex."""


class StringType(_Plain, text="str"):
    """Type ``str``."""


class NoneType(_Plain, text="NoneType"):
    """Type ``None``."""


class AnyType(_Plain, text="Any"):
    """Type ``Any``, the supertype of all."""


class DeviceObjType(_Plain, text="Device"):
    """Type ``Device``."""


class StreamObjType(_Plain, text="Stream"):
    """Type ``Stream``."""


class _GeneratorType(_Plain, text="Generator"):
    """Type ``Generator``."""


class _Holding(JitType):
    """Type with one element type."""

    _word: ClassVar[str]

    def __init__(self, element: JitType) -> None:
        super().__init__(f"{self._word}[{element.annotation_str}]")
        self._element = element

    def getElementType(self) -> JitType:
        """Return the element type."""
        return self._element

    def __init_subclass__(cls, word: str = "") -> None:
        cls._word, cls._kind = word, cls.__name__


class ListType(_Holding, word="List"):
    """Type ``List[T]``."""

    @staticmethod
    def ofInts() -> ListType:
        """Return ``List[int]``."""
        return ListType(IntType())

    @staticmethod
    def ofTensors() -> ListType:
        """Return ``List[Tensor]``."""
        return ListType(TensorType())

    @staticmethod
    def ofFloats() -> ListType:
        """Return ``List[float]``."""
        return ListType(FloatType())


class OptionalType(_Holding, word="Optional"):
    """Type ``Optional[T]``."""

    @staticmethod
    def ofTensor() -> OptionalType:
        """Return ``Optional[Tensor]``."""
        return OptionalType(TensorType())


class TupleType(JitType):
    """Type ``Tuple[…]``."""

    _kind = "TupleType"

    def __init__(self, elements: list[JitType]) -> None:
        super().__init__(f"Tuple[{', '.join(element.annotation_str for element in elements)}]")
        self._elements = list(elements)

    def elements(self) -> list[JitType]:
        """Return the element types."""
        return self._elements


_WORDS: dict[str, type[_Plain]] = {
    "Tensor": TensorType, "int": IntType, "SymInt": IntType, "ScalarType": IntType, "Layout": IntType, "MemoryFormat": IntType,
    "float": FloatType, "bool": BoolType, "SymBool": BoolType, "complex": ComplexType, "Scalar": NumberType, "str": StringType,
    "Any": AnyType, "Device": DeviceObjType, "Stream": StreamObjType, "Generator": _GeneratorType, "NoneType": NoneType,
}  # fmt: skip


def type_of(text: str) -> tuple[JitType, int | None]:
    """Return the JitType of a type's text in a schema (``int[2]?``), and the list length in it (2) or None."""
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
