"""torch_npu.testing: what tests of operators are written with."""
from . import common_distributed as common_distributed
from . import common_utils as common_utils
from . import decorator as decorator
from . import testcase as testcase
