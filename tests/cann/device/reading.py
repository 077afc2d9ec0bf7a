"""Reads a call that the emulated runtime sends: operands in the memory that both processes share, numbers, lists, texts."""
import struct

import torch


torch.set_num_threads(1)

F = torch.nn.functional
aten = torch.ops.aten
DTYPES = {0: torch.float32, 1: torch.float16, 2: torch.int8, 3: torch.int32, 4: torch.uint8, 6: torch.int16, 7: torch.uint16, 8: torch.uint32, 9: torch.int64, 10: torch.uint64,
          11: torch.float64, 12: torch.bool, 16: torch.complex64, 17: torch.complex128, 27: torch.bfloat16, 33: torch.complex32, 35: torch.float8_e5m2, 36: torch.float8_e4m3fn}
SCALARS = {0: "<f", 2: "<b", 3: "<i", 4: "<B", 6: "<h", 7: "<H", 8: "<I", 9: "<q", 10: "<Q", 11: "<d", 12: "<?", 1: "<e"}


class Refused(Exception):
    """What the device refuses, with the text that aclGetRecentErrMsg gives."""


class Word(int):
    text = ""


class Reader:
    def __init__(self, data, memory):
        self.data, self.memory, self.at, self.tensors, self.shapes = data, memory, 0, [], {}

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def text(self):
        n, = self.take("<q")
        self.at += n
        return self.data[self.at - n:self.at].decode(errors="replace")

    def tensor(self):
        place, dtype, form, offset, n = self.take("<5q")
        dims, strides = self.take(f"<{n}q"), self.take(f"<{n}q")
        ordinal = len(self.tensors)
        if dtype not in DTYPES:
            raise Refused(f"dtype {dtype} is not known")
        dtype = DTYPES[dtype]
        if place == -2:
            raise Refused("an operand lies in the memory of the host")
        if place == -1 or 0 in dims:
            value = torch.empty(dims, dtype=dtype)
            if place == -1 and 0 not in dims:
                value.nowhere = True
        else:
            last = offset + sum((d - 1) * s for d, s in zip(dims, strides)) + 1
            flat = self.memory[place:place + last * dtype.itemsize].view(dtype)
            value = flat.as_strided(dims, strides, flat.storage_offset() + offset)
        value.ordinal = ordinal
        self.tensors.append(value)
        return value

    def scalar(self):
        dtype, = self.take("<q")
        raw = self.data[self.at:self.at + 16]
        self.at += 16
        if dtype in SCALARS:
            return struct.unpack_from(SCALARS[dtype], raw)[0]
        return torch.frombuffer(bytearray(raw), dtype=DTYPES[dtype])[0].item()

    def operand(self, letter):
        if letter == "T":
            return self.tensor()
        if letter == "S":
            return self.scalar()
        if letter in "LM":
            n, = self.take("<q")
            return [self.operand(self.letter()) for _ in range(n)]
        if letter in "ifb":
            n, = self.take("<q")
            return list(self.take(f"<{n}{ {'i': 'q', 'f': 'f', 'b': '?'}[letter] }"))
        if letter == "w":
            value = Word(self.take("<Q")[0])
            value.text = self.text()
            return value
        if letter == "O":
            return self.older()
        raise Refused(f"letter {letter!r}")

    def older(self):
        n, m = self.take("<2q")
        operands = []
        for _ in range(n + m):
            assert self.letter() == "T"
            t = self.tensor()
            k, = self.take("<q")
            if k:
                self.at += k
                t = torch.frombuffer(bytearray(self.data[self.at - k:self.at]), dtype=t.dtype)[:t.numel()].reshape(t.shape)
            operands.append(t)
        count, = self.take("<q")
        attrs = {}
        for _ in range(count):
            letter, name = self.letter(), self.text()
            if letter == "s":
                attrs[name] = self.text()
            else:
                k, = self.take("<q")
                values = self.take(f"<{k}{ {'i': 'q', 'f': 'f', 'I': 'q', 'F': 'f', 'B': '?'}[letter] }")
                attrs[name] = list(values) if letter in "IFB" else values[0]
        return operands[:n], operands[n:], attrs

    def letter(self):
        return self.take("c")[0].decode()


def shown(v):
    if isinstance(v, torch.Tensor):
        same = v.is_contiguous() or v.numel() == 0
        return f"{str(v.dtype)[6:]}{list(v.shape)}" + ("" if same else f"/{list(v.stride())}") + (" null" if hasattr(v, "nowhere") else "")
    if isinstance(v, Word):
        return f"{int(v):#x}" if v > 1 << 32 else str(int(v))
    if isinstance(v, list):
        return "[" + ", ".join(map(shown, v)) + "]"
    if isinstance(v, tuple):
        return ", ".join(map(shown, v))
    return repr(v)
