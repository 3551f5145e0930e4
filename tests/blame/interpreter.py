#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two threads of one interpreter: one feeds the device, the other computes, or rests with --rest.

Each CUDA call lets go of the interpreter lock; to have it back takes until the other gives it up.
"""
import argparse
import ctypes
import os
import threading
import time


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


def other(ended, rest):
    count = 0
    while not ended.is_set():
        if rest:
            time.sleep(0.01)
        count += 1


def feed(cuda, batches, launches):
    one = Dim3(1, 1, 1)
    for _ in range(batches):
        for _ in range(launches):
            cuda.cudaLaunchKernel(None, one, one, None, 0, None)
        cuda.cudaStreamSynchronize(None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--rest", action="store_true")
    options = parser.parse_args()
    cuda = ctypes.CDLL("libcudart.so.13")
    pointer = ctypes.c_void_p
    cuda.cudaLaunchKernel.argtypes = [pointer, Dim3, Dim3, pointer, ctypes.c_size_t, pointer]
    cuda.cudaStreamSynchronize.argtypes = [pointer]
    ended = threading.Event()
    thread = threading.Thread(target=other, args=(ended, options.rest))
    thread.start()
    feed(cuda, options.batches, options.launches)
    ended.set()
    thread.join()
    folder = os.environ.get("BLAME_LOG")
    if folder:
        with open(os.path.join(folder, f"python.{os.getpid()}"), "w"):
            pass


if __name__ == "__main__":
    main()
