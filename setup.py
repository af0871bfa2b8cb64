"""Builds the C++ libraries and modules with CMake for the torch of this environment; without torch, what needs none.

    pip install --no-build-isolation .

CMAKE_ARGS adds options; QW_BUILD_DIR names another folder than build/python-<tag>, to build again faster.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


def version() -> str:
    return re.search(r"project\(qw VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def torch_options() -> list[str]:
    try:
        import torch
    except ImportError:
        print(
            "qw: torch is not installed here: graphs, data and exact transport are built, and nothing else. "
            "(With torch installed, give pip --no-build-isolation.)",
            file=sys.stderr,
        )
        return ["-DQW_TORCH=OFF"]
    print(f"qw: for torch {torch.__version__}", file=sys.stderr)
    return [f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"]


class CMakeBuild(build_ext):
    """One extension stands for all: CMake builds them and lays out the package."""

    def run(self) -> None:
        folder = pathlib.Path(os.environ.get("QW_BUILD_DIR", ROOT / "build" / f"python-{sys.implementation.cache_tag}"))
        package = pathlib.Path(self.build_lib)
        if self.inplace:
            raise SystemExit("qw: an editable install is not supported; install it plainly")
        options = [
            "-DCMAKE_BUILD_TYPE=Release",
            "-DQW_PYTHON=ON",
            "-DQW_WHEEL=ON",
            "-DQW_TESTS=OFF",
            "-DQW_BENCH=OFF",
            "-DQW_SWEEP=OFF",
            f"-DPython_EXECUTABLE={sys.executable}",
            *torch_options(),
            *shlex.split(os.environ.get("CMAKE_ARGS", "")),
        ]
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), *options], check=True)
        subprocess.run(["cmake", "--build", str(folder), "--target", "qw_python", "-j", jobs], check=True)
        subprocess.run(
            ["cmake", "--install", str(folder), "--component", "python", "--strip", "--prefix", str(package)],
            check=True,
        )

    def get_outputs(self) -> list[str]:
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        return [str(pathlib.Path(self.build_lib) / "qw" / f"_core{suffix}")]


setup(version=version(), ext_modules=[Extension("qw._core", [])], cmdclass={"build_ext": CMakeBuild})
