"""Pickles that try to run code: nothing outside the allow-list is imported or called, and the error says what was tried."""

import collections
import io
import os
import pickle
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
import torch

from mstorch import serialization
from tests.serialization.serialization_files import (
    archive_with,
    number,
    our_bytes,
    our_load,
    record,
    tensor_pickle,
    text,
    torch_bytes,
    torch_load,
)


class Calls:
    """An object that is pickled as a call of ``function`` with ``arguments``."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def in_both_formats(data):
    head = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    return [archive_with(data), b"".join(head) + data + pickle.dumps([], 2)]


def refused(data, *named, error=pickle.UnpicklingError):
    for file in in_both_formats(data):
        with pytest.raises(error) as caught:
            our_load(file)
        for words in named:
            assert words in str(caught.value), str(caught.value)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "function, arguments, name",
    [
        (os.system, ("touch {}",), "posix.system"),
        (os.popen, ("touch {}",), "os.popen"),
        (eval, ("open({!r}, 'w')",), "eval"),
        (exec, ("open({!r}, 'w')",), "exec"),
        (open, ("{}", "w"), "open"),
        (__import__, ("antigravity",), "__import__"),
        (getattr, (b"", "join"), "getattr"),
        (subprocess.Popen, (("touch", "{}"),), "subprocess.Popen"),
        (subprocess.check_output, (("touch", "{}"),), "subprocess.check_output"),
        (np.load, ("{}",), "numpy.load"),
        (os.execv, ("/bin/touch", ["touch", "{}"]), "posix.execv"),
    ],
)
def test_calls(tmp_path, protocol, function, arguments, name):
    mark = str(tmp_path / "mark")
    filled = tuple(a.format(mark) if isinstance(a, str) else a for a in arguments)
    filled = tuple(tuple(x.format(mark) for x in a) if isinstance(a, tuple) else a for a in filled)
    data = pickle.dumps(Calls(function, *filled), protocol)
    for file in in_both_formats(data):
        with pytest.raises(pickle.UnpicklingError) as caught:
            our_load(file)
        # GLOBAL is the only opcode of protocol 0 that is read, and it comes first.
        assert name in str(caught.value)
    assert not os.path.exists(mark)
    assert "antigravity" not in sys.modules


GLOBALS = [
    "os\nsystem", "posix\nsystem", "nt\nsystem", "sys\nexit", "__builtin__\neval", "builtins\neval", "builtins\ngetattr",
    "builtins\nobject", "builtins\nglobals", "builtins\ntype", "operator\nattrgetter", "functools\npartial",
    "torch\nload", "torch.hub\nload", "torch\njit.load", "torch\nTensor.__init__", "torch.serialization\nload",
    "torch.utils.cpp_extension\nload", "torch._utils\n_import_dotted_name", "torch._utils\n__builtins__",
    "torch._utils\n_rebuild_tensor_v2.__globals__", "torch\nos.system", "torch.nn.modules.linear\nLinear",
    "collections\nOrderedDict.__init__", "collections\ndefaultdict", "collections\nabc", "mstorch\nload",
    "mstorch._src.serialization.rebuild\n_rebuild_tensor_v2", "mstorch.serialization\nos.system", "pickle\nloads",
    "_pickle\nloads", "numpy\nload", "numpy.core.multiarray\n_reconstruct", "torch\nFloatStorage.__init__",
    "torch\nWeirdStorage", "os.path\nos.system", "torch.cuda\nsystem", "torch\nfloat32.__class__", "torch\n", "\n",
    "collections.OrderedDict\n", "codecs\nencode", "codecs\ndecode", "_codecs\ndecode", "builtins\nmemoryview",
]  # fmt: skip


@pytest.mark.parametrize("path", GLOBALS)
def test_globals(path):
    module, name = path.split("\n")
    refused(b"\x80\x02c" + path.encode() + b"\n.", f"{name}")
    refused(b"\x80\x04\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(name)]) + name.encode()
            + b"\x93.", f"{name}")  # fmt: skip


def test_no_module_is_imported_for_a_refused_global():
    for name in ("antigravity", "this", "idlelib.idle"):
        sys.modules.pop(name, None)
        refused(b"\x80\x02c" + name.encode() + b"\nx\n.", name)
        assert name not in sys.modules


SYSTEM = b"cposix\nsystem\n"
OPCODES = {
    "REDUCE of a global": SYSTEM + text("true") + b"\x85R.",
    "INST": b"(X\x04\x00\x00\x00trueiposix\nsystem\n.",
    "OBJ": b"(" + SYSTEM + text("true") + b"o.",
    "NEWOBJ": SYSTEM + b")\x81.",
    "NEWOBJ_EX": SYSTEM + b")}\x92.",
    "BUILD": SYSTEM + b"}b.",
    "STACK_GLOBAL": b"\x8c\x05posix\x8c\x06system\x93.",
    "EXT1": b"\x82\x01.",
    "EXT2": b"\x83\x01\x00.",
    "EXT4": b"\x84\x01\x00\x00\x00.",
    "PERSID": b"Pposix.system\n.",
    "BINPERSID of a text": text("posix.system") + b"Q.",
    "BINPERSID of a module": text("module") + text("a") + b"\x86Q.",
    "BINPERSID of nothing": b")Q.",
    "INT": b"I1\n.",
    "LONG": b"L1L\n.",
    "STRING": b"S'a'\n.",
    "UNICODE": b"Va\n.",
    "FLOAT": b"F1.0\n.",
    "GET": b"g0\n.",
    "DICT": b"(d.",
    "LIST": b"(l.",
    "NEXT_BUFFER": b"\x97.",
    "an unknown opcode": b"\xff.",
    "REDUCE of a tensor class": b"ctorch\nTensor\n" + number(3) + b"\x85R.",
    "REDUCE of a dtype": b"ctorch\nfloat32\n)R.",
    "REDUCE of a storage type": b"ctorch\nFloatStorage\n)R.",
    "REDUCE of an instance": b"ccollections\nOrderedDict\n)R)R.",
    "REDUCE of a text": text("eval") + b")R.",
    "REDUCE without a tuple": b"ccollections\nOrderedDict\n]R.",
    "NEWOBJ of a tensor": b"ctorch\nTensor\n)\x81.",
    "NEWOBJ of a parameter": b"ctorch.nn.parameter\nParameter\n)\x81.",
    "NEWOBJ of a function": b"ctorch._utils\n_rebuild_tensor_v2\n)\x81.",
    "BUILD of a dictionary": b"}}b.",
    "BUILD of a size": b"ctorch\nSize\n)R}" + text("a") + b"K\x01sb.",
    "BUILD of a device": b"ctorch\ndevice\n" + text("cpu") + b"\x85R}" + text("type") + text("x") + b"sb.",
    "BUILD of a class": b"ctorch\nTensor\n}" + text("x") + b"K\x01sb.",
    "BUILD of a function": b"ctorch._utils\n_rebuild_tensor_v2\n}" + text("x") + b"K\x01sb.",
    "BUILD with no dictionary": b"ccollections\nOrderedDict\n)RK\x01b.",
    "APPEND to a tuple": b")K\x01a.",
    "APPENDS to a set": b"\x8f(K\x01e.",
    "ADDITEMS to a list": b"](K\x01\x90.",
    "SETITEM of a list": b"]K\x00K\x01s.",
    "SETITEMS of a class": b"ctorch\nTensor\n(" + text("numpy") + b"K\x01u.",
    "SETITEMS with an odd number": b"}(K\x01u.",
    "an unhashable key": b"}]K\x01s.",
    "a codec": b"c_codecs\nencode\n" + text("aa") + text("hex") + b"\x86R.",
    "a number of bytes": b"c__builtin__\nbytearray\nJ\x00\x00\x00\x7f\x85R.",
    "a memo that is not there": b"h\x05.",
    "an empty stack": b".",
    "POP of an empty stack": b"0.",
    "a mark that is not there": b"t.",
    "TUPLE2 of one": b"K\x01\x86.",
    "a text that is cut": b"X\xff\xff\x00\x00abc",
    "a text of 4 GB": b"X\xff\xff\xff\xffabc",
    "bytes of 16 EB": b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc",
    "a negative length": b"\x8b\xff\xff\xff\xff.",
    "bad UTF-8": b"X\x02\x00\x00\x00\xff\xfe.",
    "protocol 200": b"\x80\xc8N.",
    "a name without an end": b"cos\nsystem",
    "an endless name": b"c" + b"a" * 10_000,
    "a device of nonsense": b"ctorch\ndevice\n\x8f\x85R.",
    "a size of nonsense": b"ctorch\nSize\n" + text("ab") + b"\x85R.",
}


def test_a_pickle_without_an_end():
    for file in in_both_formats(b"\x80\x02K\x01"):
        with pytest.raises((pickle.UnpicklingError, RuntimeError), match="truncated|unexpected EOF"):
            our_load(file)


@pytest.mark.parametrize("name", OPCODES)
def test_opcodes(name):
    data = OPCODES[name]
    shown = ["posix.system"] if b"system" in data and "without an end" not in name and "text" not in name else []
    if name == "PERSID":
        shown = ["PERSID"]
    refused(b"\x80\x02" + data, *shown)


def test_words_of_torch():
    for data, words in [
        (b"\x80\x02cposix\nsystem\n.", "Trying to load unsupported GLOBAL posix.system whose module posix is blocked."),
        (b"\x80\x02cbuiltins\neval\n.", "Unsupported global: GLOBAL eval was not an allowed global by default."),
        (b"\x80\x02cbuiltins\neval\n.", "Please use `torch.serialization.add_safe_globals([eval])`"),
        (text("eval") + b")R.", "Trying to call reduce for unrecognized function"),
        (text("eval") + b")\x81.", "Can only create new object for nn.Parameter or classes allowlisted via"),
        (b"\x80\x02}}b.", "Can only build Tensor, Parameter, OrderedDict or types allowlisted via"),
        (b"\x80\x02)K\x01a.", "Can only append to lists, but got <class 'tuple'>"),
        (text("x") + b"Q.", "persistent_load id must be tuple or int, but got <class 'str'>"),
        (b"(l.", "Unsupported operand 108"),
    ]:
        for load in (torch_load, our_load):
            with pytest.raises(pickle.UnpicklingError) as caught:
                load(archive_with(data))
            assert words in str(caught.value)
            assert str(caught.value).startswith("Weights only load failed.")


def test_whatever_torch_refuses_we_refuse():
    rng = np.random.default_rng(5)
    pieces = [b"N", b"K\x01", b"]", b"}", b")", b"(", b"t", b"a", b"s", b"u", b"e", b"R", b"b", b"\x81", b"\x85", b"\x86",
              b"0", b"2", b"h\x00", b"q\x00", b"Q", text("storage"), text("cpu"), b"ccollections\nOrderedDict\n",
              b"ctorch\nSize\n", b"ctorch\nTensor\n", b"ctorch._utils\n_rebuild_tensor\n", b"cbuiltins\ncomplex\n",
              b"ctorch\nFloatStorage\n", b"ccollections\nCounter\n", b"\x8f"]  # fmt: skip
    accepted = 0
    for _ in range(3000):
        data = b"\x80\x02" + b"".join(pieces[i] for i in rng.integers(0, len(pieces), rng.integers(1, 9))) + b"."
        file = archive_with(data)
        try:
            mine = our_load(file)
        except (pickle.UnpicklingError, RuntimeError):
            continue
        accepted += 1
        # Sets and POP are harmless opcodes that torch does not read.
        if b"\x8f" in data or b"0" in data:
            continue
        try:
            real = torch_load(file)
            # The addresses of classes and functions differ between the libraries.
            assert "<" in repr(real) or repr(real) == repr(mine)
        except (pickle.UnpicklingError, RuntimeError, TypeError, IndexError) as error:
            pytest.fail(f"{data} gives {mine!r}, torch says {error!r}")
    assert accepted > 50


def test_allowed_functions_cannot_be_misused():
    rebuild = b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n("
    tensor = tensor_pickle()
    # A function that is allowed, but creates no tensor.
    refused(rebuild + b"ccollections\nCounter\nctorch\nTensor\n)}tR.", "which makes no tensors", error=RuntimeError)
    arguments = tensor[tensor.index(b"_v2\n") + 4 : -2]
    for name in ("__class__", "__dict__", "_ms_storage", "_ms_offset", "_ms_stride", "_ms_array", "_ms_dtype", "data", "shape", "_ms_auto",
                 "_ms_node", "numpy"):  # fmt: skip
        data = (rebuild + b"ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n" + arguments + b"}" + text(name)
                + b"K\x01stR.")  # fmt: skip
        with pytest.raises(RuntimeError, match="Invalid serialized state"):
            our_load(archive_with(data, [bytes(400)]))


class Plain:
    def __init__(self):
        self.x = 1


class Stateful:
    def __setstate__(self, state):
        self.seen = state

    def __getstate__(self):
        return {"secret": 1}


class Slotted:
    __slots__ = ("a",)


class Dictionary(dict):
    pass


def test_safe_globals():
    serialization.clear_safe_globals()  # those of torch.distributed.tensor, if another test imported it
    plain, slotted = Plain(), Slotted()
    slotted.a = 5
    for obj in (plain, Stateful(), slotted, collections.defaultdict(list, a=[1])):
        data = our_bytes(obj)
        kind = type(obj)
        with pytest.raises(pickle.UnpicklingError, match=f"GLOBAL {kind.__module__}.{kind.__qualname__}"):
            our_load(data)
        assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
        with serialization.safe_globals([kind, list]):
            assert type(our_load(data)) is kind
            assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == []
        with pytest.raises(pickle.UnpicklingError):
            our_load(data)
    serialization.add_safe_globals([Plain, Stateful, Slotted])
    assert set(serialization.get_safe_globals()) == {Plain, Stateful, Slotted}
    assert our_load(our_bytes(plain)).x == 1
    assert our_load(our_bytes(Stateful())).seen == {"secret": 1}
    assert our_load(our_bytes(slotted)).a == 5
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    with serialization.safe_globals([(Plain, "old.module.Name")]):
        made = our_load(archive_with(b"\x80\x02cold.module\nName\n)\x81}" + text("x") + b"K\x07sb."))
        assert type(made) is Plain
        assert made.x == 7
    for bad, error in [((Plain,), ValueError), ((Plain, 5), TypeError)]:
        with serialization.safe_globals([bad]), pytest.raises(error, match="Expected"):
            our_load(our_bytes(1))


def test_an_allowed_name_of_a_blocked_module_is_still_refused():
    with serialization.safe_globals([os.system, (os.system, "os.system")]):
        refused(b"\x80\x02cos\nsystem\n" + text("true") + b"\x85R.", "whose module os is blocked")
        refused(b"\x80\x02cposix\nsystem\n" + text("true") + b"\x85R.", "whose module posix is blocked")


def test_an_allowed_class_lends_nothing_to_its_neighbours():
    with serialization.safe_globals([Plain]):
        name = Plain.__module__.encode() + b"\n"
        refused(b"\x80\x02c" + name + b"Stateful\n)\x81.", "Stateful")
        refused(b"\x80\x02c" + name + b"Plain.__init__\n)R.", "Plain.__init__")
        refused(b"\x80\x02c" + name + b"Plain\n)R)R.", "Trying to call reduce")


def test_unsafe_globals_in_checkpoint():
    for protocol in (2, 4):
        data = torch_bytes([Plain(), torch.ones(2), collections.defaultdict(list)], pickle_protocol=protocol)
        names = serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
        assert sorted(names) == sorted([f"{__name__}.Plain", "collections.defaultdict", "builtins.list"])
        if protocol == 2:
            assert sorted(names) == sorted(torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)))
    with pytest.raises(ValueError, match="Expected input to be a checkpoint"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"nothing"))


@pytest.mark.parametrize(
    "change",
    [
        {"count": 200}, {"count": 50}, {"count": -1}, {"size": (200,)}, {"offset": 50}, {"offset": -50}, {"stride": (-1,)},
        {"size": (-1,)}, {"size": (10, 10)}, {"key": "7"}, {"key": "../../data.pkl"}, {"key": "../data.pkl"}, {"key": ""},
        {"size": (2**31 - 1,) * 3, "stride": (0, 0, 0)}, {"size": (2**31 - 1, 4), "stride": (0, 0)}, {"stride": (2**31 - 1,)}, {"offset": 2**31 - 1, "size": (1,)},
        {"kind": "torch\nDoubleStorage"}, {"kind": "torch\nWeirdStorage"}, {"kind": "torch\nQInt8Storage", "count": 400},
        {"kind": "torch\nfloat32"}, {"location": "cuda:0"}, {"location": "x" * 100}, {"location": ""},
    ],
    ids=str,
)  # fmt: skip
def test_tensors_cannot_reach_outside_their_storage(change):
    data = archive_with(tensor_pickle(**change), [bytes(400)])
    for weights_only in (True, False):
        with pytest.raises((RuntimeError, pickle.UnpicklingError, AttributeError)):
            our_load(data, weights_only=weights_only)


def test_a_well_formed_tensor_of_the_same_kind_loads():
    data = archive_with(tensor_pickle(), [bytes(400)])
    assert tuple(our_load(data).shape) == tuple(torch_load(data).shape) == (100,)


def test_small_files_cannot_cost_much():
    begin = time.thread_time()  # CPU time: a busy machine takes longer
    double = b"\x80\x02K\x01" + b"2\x86" * 60
    for data in (double + b"}q\x00K\x01s.", b"\x80\x02}" + double[2:] + b"K\x01s.", b"\x80\x02" + b"(" * 200_000,
                 b"\x80\x02}" + b")" + b"\x85" * 300_000 + b"K\x01s.",
                 b"\x80\x02cbuiltins\nset\n]" + b")" + b"\x85" * 300_000 + b"a\x85R.",
                 b"\x80\x02ccollections\nOrderedDict\n]]" + b")" + b"\x85" * 300_000 + b"aK\x01aa\x85R.",
                 b"\x80\x02\x8f()" + b"\x85" * 300_000 + b"\x90."):  # fmt: skip
        with pytest.raises(pickle.UnpicklingError):
            our_load(archive_with(data))
    assert time.thread_time() - begin < 10


WATCHED = ("os.", "subprocess.", "exec", "compile", "open", "import", "socket.", "ctypes.", "shutil.", "pty.", "code.")
_events = None


def _watch(event, arguments):
    if _events is not None and event.startswith(WATCHED):
        _events.append((event, str(arguments)[:200]))


def test_changed_pickles_with_right_checksums():
    """The reader itself is fuzzed: these checksums are right, and no audit event of Python may occur."""
    global _events
    base = torch.arange(20.0)
    real = {"a": base, "b": base[3:].requires_grad_(), "p": torch.nn.Parameter(torch.ones(2)), "u": base.to(torch.uint16),
            "o": collections.OrderedDict(x=1), "c": collections.Counter("aab"), "s": {1, 2}, "bytes": b"xyz",
            "array": bytearray(b"abc"), "z": 1j, "size": torch.Size([2]), "d": torch.device("cpu"), "t": torch.int8,
            "n": [None, True, 10**20, -5, 2.5, (), (1,), (1, 2, 3)]}  # fmt: skip
    whole = torch_bytes(real)
    data = record(whole, "data.pkl")
    storages = [record(whole, f"data/{key}") for key in range(3)]
    assert list(our_load(archive_with(data, storages))) == list(real)
    names = [b"cposix\nsystem\n", b"cbuiltins\neval\n", b"ctorch\nTensor\n", b"ccollections\nCounter\n",
             b"ctorch._tensor\n_rebuild_from_type_v2\n", b"(", b")", b"t", b"R", b"b", b"\x81", b"u", b"e", b"Q", b"0", b"2"]  # fmt: skip
    rng = np.random.default_rng(9)
    sys.addaudithook(_watch)
    _events = []
    accepted = 0
    try:
        for turn in range(1500):
            changed = bytearray(data)
            for _ in range(int(rng.integers(1, 4))):
                at = int(rng.integers(2, len(changed)))
                if turn % 3 == 0:
                    changed[at] = int(rng.integers(256))
                elif turn % 3 == 1:
                    changed[at:at] = names[int(rng.integers(len(names)))]
                else:
                    other = int(rng.integers(2, len(changed)))
                    changed[at : at + 4] = changed[other : other + int(rng.integers(0, 9))]
            try:
                our_load(archive_with(bytes(changed), storages))
                accepted += 1
            except (pickle.UnpicklingError, RuntimeError) as error:
                assert str(error)
    finally:
        events, _events = _events, None
    assert events == []
    assert accepted > 20


def test_archives_that_lie():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("foo", "bar")
    with pytest.raises(RuntimeError, match="file in archive is not in a subdirectory: foo"):
        our_load(buffer.getvalue())
    for version, words in (
        ("99\n", "Attempted to read a PyTorch file with version 99"),
        ("x", "version"),
        ("0", "version"),
    ):
        with pytest.raises(RuntimeError, match=words):
            our_load(archive_with(b"N.", version=version))
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        our_load(archive_with(b"N.", byteorder="middle"))
    for name, words in (("a/foo", 'hasRecord\\("version"\\)'), ("a/constants.pkl", "version")):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(name, "bar")
        with pytest.raises(RuntimeError, match=words):
            our_load(buffer.getvalue())
    script = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Identity()), script)
    with pytest.raises(RuntimeError, match="TorchScript archives"):
        our_load(script.getvalue())
    with pytest.raises(NotImplementedError, match="TorchScript"):
        our_load(script.getvalue(), weights_only=False)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_an_unsupported_dtype_is_named():
    with pytest.raises(NotImplementedError, match="quint4x2"):
        our_load(torch_bytes(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint4x2)), weights_only=False)
