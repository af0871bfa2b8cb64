#!/usr/bin/env python3
"""device_code_test.py FOLDER OBJECT...: every FOLDER/*.cu has one of the objects, with code for a GPU.

Ends with 77 where there are no objects: the kernels were not compiled by nvcc, only emulated.
"""
import pathlib
import sys


def main():
    folder, objects = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
    if not objects:
        print("skipped: no nvcc, the CUDA kernels were not compiled but emulated")
        return 77
    with_code = {path.name.split(".")[0] for path in objects if b".nv_fatbin" in path.read_bytes()}
    kernels = {path.stem for path in folder.glob("*.cu")}
    for name in sorted(kernels - with_code):
        print(f"{folder / name}.cu: no object with code for a GPU")
    print(f"{len(kernels & with_code)} of {len(kernels)} kernels have code for a GPU")
    return 0 if kernels and kernels <= with_code else 1


if __name__ == "__main__":
    sys.exit(main())
