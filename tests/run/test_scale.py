"""Does a run of ten billion windows finish, in the memory of a small one?"""

import json
import subprocess
import sys

PROGRAM = """
import json, resource, sys
import simspec
simspec.simulate(simspec.Iid(alpha=.8), kappa=range(33), windows=1000)  # load everything first
result = simspec.simulate(simspec.Iid(alpha=.8), kappa=range(33), windows=int(sys.argv[1]))
row = result.to_pandas().iloc[8]
print(json.dumps({"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "rounds": int(row["rounds"]),
                  "gap": abs(row["mean_accepted"] - 0.8 * (1 - 0.8**8) / 0.2) / (row["mean_accepted_high"]
                  - row["mean_accepted"]) * 1.96}))
"""


def test_ten_billion_windows_need_the_memory_of_ten_million():
    """Peak resident memory within 5%; the mean within 6 standard errors (2e-9), which are 2e-5 of a token."""
    found = []
    for windows in (10**7, 10**10):
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(windows)], capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
        assert found[-1]["rounds"] >= windows
        assert found[-1]["gap"] < 6.0
    assert found[1]["peak"] < 1.05 * found[0]["peak"], found
