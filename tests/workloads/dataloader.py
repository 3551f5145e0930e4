#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A training loop in small: worker processes hand batches over pipes, main feeds the device.

Only the standard library; CUDA is whatever libcudart.so.13 the loader finds. Prints one line.
"""
import argparse
import ctypes
import json
import multiprocessing
import os
import random
import struct
import time

PR_SET_NAME = 15
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


def set_name(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


class Device:
    """The few calls of a training step."""

    def __init__(self, library):
        self.cuda = ctypes.CDLL(library)
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.cuda.cudaMalloc.argtypes = [ctypes.POINTER(pointer), size]
        self.cuda.cudaFree.argtypes = [pointer]
        self.cuda.cudaMemcpyAsync.argtypes = [pointer, pointer, size, ctypes.c_int, pointer]
        self.cuda.cudaLaunchKernel.argtypes = [pointer, Dim3, Dim3, pointer, size, pointer]
        self.cuda.cudaStreamSynchronize.argtypes = [pointer]
        self.input = pointer()
        self.calls = 0
        self.call("cudaMalloc", ctypes.byref(self.input), 1 << 22)

    def call(self, name, *arguments):
        self.calls += 1
        return getattr(self.cuda, name)(*arguments)

    def step(self, batch, kernels):
        self.call("cudaMemcpyAsync", self.input, batch, len(batch), HOST_TO_DEVICE, None)
        one = Dim3(1, 1, 1)
        for _ in range(kernels):
            self.call("cudaLaunchKernel", None, one, one, None, 0, None)
        self.call("cudaStreamSynchronize", None)


def collate(rng, samples, features):
    """Gather random rows of an in-memory table one at a time, as a naive loader does."""
    table = memoryview(TABLE)
    width = features * 4
    rows = [table[i * width:(i + 1) * width].tobytes()
            for i in (rng.randrange(ROWS) for _ in range(samples))]
    return b"".join(rows)


ROWS, FEATURES = 20000, 64
TABLE = b""


def worker(number, pipe, options):
    set_name("pt_data_worker")
    rng = random.Random(number)
    while pipe.poll(None):
        if pipe.recv_bytes() == b"end":
            break
        pipe.send_bytes(collate(rng, options.samples, FEATURES))


def epoch(device, pipes, options):
    """Each worker has prefetch batches asked for ahead; they are taken in turn."""
    asked = 0
    for _ in range(options.prefetch):
        for pipe in pipes:
            pipe.send_bytes(b"batch")
            asked += 1
    for taken in range(options.batches):
        pipe = pipes[taken % len(pipes)]
        batch = pipe.recv_bytes()
        if asked < options.batches:
            pipe.send_bytes(b"batch")
            asked += 1
        device.step(batch, options.kernels)
    for left in range(options.batches, asked):
        pipes[left % len(pipes)].recv_bytes()


def reap_with_usage(usage):
    """Let multiprocessing reap through wait4, and keep what it says of each worker."""
    def waitpid(pid, flags):
        pid, status, used = os.wait4(pid, flags)
        if pid:
            usage[pid] = {"voluntary": used.ru_nvcsw, "involuntary": used.ru_nivcsw}
        return pid, status
    os.waitpid = waitpid


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batches", type=int, default=400, help="of an epoch")
    parser.add_argument("--samples", type=int, default=4096, help="of a batch")
    parser.add_argument("--kernels", type=int, default=20, help="launches of a batch")
    parser.add_argument("--prefetch", type=int, default=2, help="batches ahead, of a worker")
    parser.add_argument("--library", default="libcudart.so.13")
    return parser.parse_args()


def main():
    global TABLE
    options = parse()
    TABLE = struct.pack("f", 1.0) * (ROWS * FEATURES)
    usage, pipes, workers = {}, [], []
    reap_with_usage(usage)
    context = multiprocessing.get_context("fork")
    for number in range(options.workers):
        mine, theirs = context.Pipe()
        process = context.Process(target=worker, args=(number, theirs, options))
        process.start()
        theirs.close()
        pipes.append(mine)
        workers.append(process)
    device = Device(options.library)
    start = time.monotonic()
    for _ in range(options.epochs):
        epoch(device, pipes, options)
    seconds = time.monotonic() - start
    device.call("cudaFree", device.input)
    for pipe in pipes:
        pipe.send_bytes(b"end")
    for process in workers:
        process.join()
    print(json.dumps({
        "batches": options.epochs * options.batches, "seconds": round(seconds, 3),
        "calls": device.calls, "pid": os.getpid(), "workers": usage}))


if __name__ == "__main__":
    main()
