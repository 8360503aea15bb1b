# theirs.py - runs rdma-core's tests of a folder on uroce0, and prints one line a test
# SPDX-License-Identifier: BSD-3-Clause
"""Lines: ok NAME, skip NAME REASON, fail NAME; tracebacks follow at the end. Vendors' tests are left out: they ask for
devices of mlx5 and efa."""
import os
import subprocess
import sys
import unittest

folder = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.dirname(folder), folder]
sys.argv = ["tests", "--dev", "uroce0", "--port", "1", "--gid", "0"]
from args_parser import parser  # noqa: E402: theirs, found by the line above

parser.parse_args()


class Result(unittest.TestResult):
    def say(self, word, test, more=""):
        print(word, test.id(), " ".join(str(more).split()), flush=True)

    def addSuccess(self, test):
        self.say("ok", test)

    def addSkip(self, test, reason):
        self.say("skip", test, reason)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.say("fail", test, error[1])

    def addError(self, test, error):
        # libibverbs looks where uroce-run says (SYSFS_PATH); a child of the test asks the kernel, which has no device.
        if isinstance(error[1], subprocess.CalledProcessError) and "/sys/class/infiniband" in str(error[1].cmd):
            self.addSkip(test, "asks /sys of the kernel, not SYSFS_PATH")
            return
        super().addError(test, error)
        self.say("fail", test, error[1])


def names():
    for name in sorted(os.listdir(folder)):
        if name.startswith("test_") and name.endswith(".py") and not name.startswith(("test_mlx5", "test_efa")):
            yield f"tests.{name[:-3]}"


result = Result()
unittest.defaultTestLoader.loadTestsFromNames([*names()]).run(result)
for _, traceback in [*result.failures, *result.errors]:
    print(traceback)
sys.exit(0 if result.wasSuccessful() else 1)
