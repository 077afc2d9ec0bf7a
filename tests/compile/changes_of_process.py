"""Programs that compile a function and change something between two calls: files, the process, contexts of other libraries, arguments."""
from __future__ import annotations

import decimal
import gc
import io
import json
import locale
import logging
import os
import pathlib
import random
import sys
import tempfile
import threading
import time
import warnings
from typing import Any

import numpy as np

import mstorch as torch
from tests.compile.changes import RESTORE, Case, case
from tests.compile.changes_of_modules import _entered

LOGGER = logging.getLogger("changes_of_process")
CHAPTER = "MY_CHAPTER"


def _file(text: str = "2.0") -> pathlib.Path:
    """Create a temporary file, which is removed after the test."""
    folder = tempfile.TemporaryDirectory()
    RESTORE.append(folder.cleanup)
    path = pathlib.Path(folder.name) / "factor.txt"
    path.write_text(text)
    return path


def _longer_folder() -> str:
    """Enter a folder whose path is longer than the working directory's; the test's end restores the working directory."""
    before = os.getcwd()
    folder = tempfile.TemporaryDirectory()
    RESTORE.extend([folder.cleanup, lambda: os.chdir(before)])  # the last one first
    path = os.path.join(folder.name, "d" * min(len(before), 255))
    os.mkdir(path)
    return path


def _variable(value: str) -> None:
    os.environ[CHAPTER] = value
    RESTORE.append(lambda: os.environ.pop(CHAPTER, None))


@case
def file_that_is_opened() -> Case:
    path = str(_file())

    def function(x: Any) -> Any:
        with open(path) as file:
            return x * float(file.read())

    return function, lambda: pathlib.Path(path).write_text("3.0")


@case
def file_by_its_path() -> Case:
    path = _file()
    return lambda x: x * float(path.read_text()), lambda: path.write_text("3.0")


@case
def file_that_is_there() -> Case:
    path = str(_file())
    return lambda x: x * (2.0 if os.path.exists(path) else 3.0), lambda: os.remove(path)


@case
def file_of_a_path_that_is_there() -> Case:
    path = _file()
    return lambda x: x * (2.0 if path.exists() else 3.0), path.unlink


@case
def file_that_stays_open() -> Case:
    path = _file("2.0\n3.0\n")
    file = path.open()
    RESTORE.append(file.close)
    return lambda x: x * (1.0 + file.tell()), file.readline


@case
def file_in_memory() -> Case:
    file = io.StringIO("2.0")
    return lambda x: x * float(file.getvalue()), lambda: (file.seek(0), file.write("3.0"))


@case
def file_of_json() -> Case:
    path = _file("[2.0]")
    return lambda x: x * json.loads(path.read_text())[0], lambda: path.write_text("[3.0]")


@case
def file_of_numpy() -> Case:
    path = str(_file().with_suffix(".npy"))
    np.save(path, np.float32(2))
    return lambda x: x * float(np.load(path)), lambda: np.save(path, np.float32(3))


@case
def file_of_tensors() -> Case:
    path = str(_file().with_suffix(".pt"))
    torch.save(torch.tensor(2.0), path)
    return lambda x: x * torch.load(path), lambda: torch.save(torch.tensor(3.0), path)


@case
def files_of_a_folder() -> Case:
    path = _file()
    return lambda x: x * len(os.listdir(path.parent)), lambda: (path.parent / "other").touch()


@case
def size_of_a_file() -> Case:
    path = _file()
    return lambda x: x * path.stat().st_size, lambda: path.write_text("12345678")


@case
def environment_by_another_function() -> Case:
    _variable("2")
    return lambda x: x * float(os.path.expandvars(f"${CHAPTER}")), lambda: os.environ.update({CHAPTER: "3"})


@case
def environment_variable_that_appears() -> Case:
    RESTORE.append(lambda: os.environ.pop(CHAPTER, None))
    return lambda x: x * float(os.environ.get(CHAPTER, "2")), lambda: os.environ.update({CHAPTER: "3"})


@case
def environment_variable_by_its_presence() -> Case:
    RESTORE.append(lambda: os.environ.pop(CHAPTER, None))
    return lambda x: x * (3.0 if CHAPTER in os.environ else 2.0), lambda: os.environ.update({CHAPTER: "3"})


@case
def environment_in_a_closure() -> Case:
    _variable("2")
    environment = os.environ
    return lambda x: x * float(environment[CHAPTER]), lambda: os.environ.update({CHAPTER: "3"})


@case
def working_directory() -> Case:
    other = _longer_folder()
    return lambda x: x * len(os.getcwd()), lambda: os.chdir(other)


@case
def working_directory_by_a_path() -> Case:
    other = _longer_folder()
    return lambda x: x * len(str(pathlib.Path.cwd())), lambda: os.chdir(other)


@case
def working_directory_of_a_relative_path() -> Case:
    other = _longer_folder()
    return lambda x: x * len(os.path.abspath("a")), lambda: os.chdir(other)


@case
def arguments_of_the_process() -> Case:
    RESTORE.append(lambda count=len(sys.argv): sys.argv.__delitem__(slice(count, None)))
    return lambda x: x * len(sys.argv), lambda: sys.argv.append("3")


@case
def arguments_of_the_process_replaced() -> Case:
    before = sys.argv
    RESTORE.append(lambda: setattr(sys, "argv", before))
    return lambda x: x * len(sys.argv[-1]), lambda: setattr(sys, "argv", ["longer than " + before[-1]])


@case
def recursion_limit() -> Case:
    before = sys.getrecursionlimit()
    RESTORE.append(lambda: sys.setrecursionlimit(before))
    return lambda x: x * sys.getrecursionlimit(), lambda: sys.setrecursionlimit(before + 500)


@case
def number_of_an_object() -> Case:
    held: list[Any] = [object()]

    def factor() -> float:
        return float(id(held[0]) // 16 % 7 + 1)

    def change() -> None:
        before = factor()
        while factor() == before:
            held.insert(0, object())

    return lambda x: x * factor(), change


@case
def garbage_collection() -> Case:
    RESTORE.append(gc.enable)
    return lambda x: x * (2.0 if gc.isenabled() else 3.0), gc.disable


@case
def number_of_threads_of_python() -> Case:
    end = threading.Event()
    RESTORE.append(end.set)
    return lambda x: x * threading.active_count(), threading.Thread(target=end.wait).start


@case
def name_of_the_thread() -> Case:
    before = threading.current_thread().name
    RESTORE.append(lambda: setattr(threading.current_thread(), "name", before))
    return lambda x: x * len(threading.current_thread().name), lambda: setattr(threading.current_thread(), "name", "a longer name")


@case
def time_that_passes() -> Case:
    start = time.monotonic()
    return lambda x: x * (time.monotonic() - start > 1.0), lambda: time.sleep(1.1)


@case
def time_zone() -> Case:
    before = os.environ.get("TZ")

    def change(zone: str | None) -> None:
        os.environ.pop("TZ", None)
        if zone is not None:
            os.environ["TZ"] = zone
        time.tzset()

    change("UTC")
    RESTORE.append(lambda: change(before))
    return lambda x: x * time.localtime(0).tm_hour, lambda: change("XYZ-5")


@case
def locale_of_the_process() -> Case:
    before = locale.setlocale(locale.LC_CTYPE)
    other = "C" if before != "C" else "C.UTF-8"
    RESTORE.append(lambda: locale.setlocale(locale.LC_CTYPE, before))
    return lambda x: x * len(locale.setlocale(locale.LC_CTYPE)), lambda: locale.setlocale(locale.LC_CTYPE, other)


@case
def filters_of_warnings() -> Case:
    block = warnings.catch_warnings()
    return lambda x: x * (2.0 + len(warnings.filters)), lambda: (_entered(block), warnings.simplefilter("error", category=BytesWarning))


@case
def level_of_a_logger() -> Case:
    LOGGER.setLevel(logging.WARNING)
    RESTORE.append(lambda: LOGGER.setLevel(logging.NOTSET))
    return lambda x: x * (3.0 if LOGGER.isEnabledFor(logging.DEBUG) else 2.0), lambda: LOGGER.setLevel(logging.DEBUG)


@case
def precision_of_decimals() -> Case:
    _entered(decimal.localcontext())
    return lambda x: x * len(str(decimal.Decimal(1) / decimal.Decimal(3))), lambda: setattr(decimal.getcontext(), "prec", 5)


@case
def rounding_of_decimals() -> Case:
    _entered(decimal.localcontext())
    half = decimal.Decimal("2.5")
    return lambda x: x * int(half.quantize(decimal.Decimal(1))), lambda: setattr(decimal.getcontext(), "rounding", decimal.ROUND_UP)


@case
def errors_of_numpy() -> Case:
    before = np.seterr(divide="ignore")
    RESTORE.append(lambda: np.seterr(**before))

    def function(x: Any) -> Any:
        try:
            return x * float(np.isinf(np.float64(1) / np.float64(0)))
        except FloatingPointError:
            return x * 7

    return function, lambda: np.seterr(divide="raise")


@case
def errors_of_numpy_in_a_block() -> Case:
    return lambda x: x * len(np.geterr()["divide"]), lambda: _entered(np.errstate(divide="ignore"))


@case
def print_options_of_numpy() -> Case:
    before = np.get_printoptions()
    RESTORE.append(lambda: np.set_printoptions(**before))
    return lambda x: x * len(str(np.array([1 / 3]))), lambda: np.set_printoptions(precision=3)


@case
def print_options_of_torch() -> Case:
    RESTORE.append(lambda: torch.set_printoptions(profile="default"))
    held = torch.tensor([1 / 3])
    return lambda x: x * len(str(held)), lambda: torch.set_printoptions(precision=8)


@case
def anomaly_mode() -> Case:
    return lambda x: x * (3.0 if torch.is_anomaly_enabled() else 2.0), lambda: _entered(torch.autograd.set_detect_anomaly(True))


@case
def warnings_that_are_always_given() -> Case:
    RESTORE.append(lambda: torch.set_warn_always(False))
    return lambda x: x * (3.0 if torch.is_warn_always_enabled() else 2.0), lambda: torch.set_warn_always(True)


@case
def only_warnings_where_nothing_is_deterministic() -> Case:
    torch.use_deterministic_algorithms(True)
    RESTORE.append(lambda: torch.use_deterministic_algorithms(False))
    asked = torch.is_deterministic_algorithms_warn_only_enabled
    return lambda x: x * (3.0 if asked() else 2.0), lambda: torch.use_deterministic_algorithms(True, warn_only=True)


@case
def cache_of_autocast() -> Case:
    before = torch.is_autocast_cache_enabled()
    RESTORE.append(lambda: torch.set_autocast_cache_enabled(before))
    return lambda x: x * (2.0 if torch.is_autocast_cache_enabled() else 3.0), lambda: torch.set_autocast_cache_enabled(not before)


@case
def switch_of_a_backend() -> Case:
    before = torch.backends.cudnn.benchmark
    RESTORE.append(lambda: setattr(torch.backends.cudnn, "benchmark", before))
    return lambda x: x * (3.0 if torch.backends.cudnn.benchmark else 2.0), lambda: setattr(torch.backends.cudnn, "benchmark", not before)


@case
def sparse_invariants() -> Case:
    check = torch.sparse.check_sparse_tensor_invariants
    RESTORE.append(check.disable)
    return lambda x: x * (3.0 if check.is_enabled() else 2.0), check.enable


@case
def random_numbers_of_an_object() -> Case:
    source = random.Random(1)
    return lambda x: x * source.getstate()[1][-1], source.random


@case
def version_of_a_tensor() -> Case:
    held = torch.ones(3)
    return lambda x: x * (1 + held._version), lambda: held.add_(0)


@case
def history_of_a_tensor() -> Case:
    held: Any = torch.ones(3)
    return lambda x: x * (3.0 if held.grad_fn is not None else 2.0), lambda: held.mul_(torch.ones(3, requires_grad=True))


@case
def address_of_a_tensor() -> Case:
    held = torch.ones(3)
    other = torch.zeros(7)
    return lambda x: x * float(held.data_ptr() % 100_003 + 1), lambda: held.set_(other.untyped_storage(), 1, (3,))
