"""Nothing that is read from a file is run: every call of simspec that could, in a table with its reason."""

import ast
from pathlib import Path

import simspec

ROOT = Path(simspec.__file__).parent
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "code", "runpy", "ctypes",
           "subprocess", "imp", "pty", "commands"}  # fmt: skip
CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "import_module", "load_module", "spawnl", "execv",
         "read_pickle", "exec_module", "run_path", "full_load", "unsafe_load"}  # fmt: skip
FLAGS = {"shell", "allow_pickle", "trust_remote_code"}
ALLOWED = {
    ("__init__.py", "importlib.import_module"): "public names from a table of the program's own",
    ("theory/__init__.py", "importlib.import_module"): "the same",
    ("run/engine.py", "importlib.import_module"): "one of two modules that are written there",
    ("kernels/jit.py", "dispatcher.compile"): "numba's, of the program's own functions",
    ("kernels/shelf.py", "import pickle"): "compiled kernels in the user's own cache folder, which no file names",
    ("run/workers.py", "import pickle"): "calls between a run and its own workers, never from a file",
    (
        "claims/reference.py",
        "import subprocess",
    ): "git's commit number: a list of words, no shell, nothing that was read",
    ("evidence/pairs_hf.py", "model.float().eval"): "torch's switch from training to use",
}


def _is_off(value):
    return isinstance(value, ast.Constant) and value.value is False


def dangerous(tree):
    """What in a module could run what it was given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [own.name for own in node.names]
            yield from (f"import {name}" for name in names if name.split(".")[0] in MODULES)
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
            of = ast.unparse(node.func)
            constant = bool(node.args) and isinstance(node.args[0], ast.Constant)
            if name in CALLS and of != "re.compile" and not (name == "import_module" and constant):
                yield of
            yield from (f"{of}({own.arg}=…)" for own in node.keywords if own.arg in FLAGS and not _is_off(own.value))


def test_what_could_run_a_file_is_known():
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        found |= {(name, own) for own in dangerous(ast.parse(path.read_text(encoding="utf-8")))}
    assert found == set(ALLOWED), found ^ set(ALLOWED)


def test_what_is_looked_for_is_found():
    planted = """
import pickle, subprocess as s
from yaml import load
import importlib
eval(text); pickle.loads(text); importlib.import_module(name); np.load(f, allow_pickle=True); s.run(x, shell=True)
importlib.import_module("simspec"); re.compile("x"); load(x, trust_remote_code=False)
"""
    assert set(dangerous(ast.parse(planted))) == {
        "import pickle", "import subprocess", "import yaml", "eval", "importlib.import_module",
        "np.load(allow_pickle=…)", "s.run(shell=…)",
    }  # fmt: skip
