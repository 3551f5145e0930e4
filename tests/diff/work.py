#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A training loop of a given length, whose parts can be changed one by one.

Workers make batches for as long as they are told and hand them over pipes; main copies, launches
and waits for the device. Only the standard library; CUDA is what libcudart.so.13 the loader finds.
"""
import argparse
import ctypes
import os
import time

HOST_TO_DEVICE = 1
BATCH = b"x" * 4096
PREFETCH = 2


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


def busy(microseconds):
    end = time.perf_counter_ns() + 1000 * microseconds
    while time.perf_counter_ns() < end:
        pass


def worker(ask, give, collate):
    while os.read(ask, 1):
        busy(collate)
        os.write(give, BATCH)
    os._exit(0)


def start_worker(collate, others):
    ask, give = os.pipe(), os.pipe()
    if os.fork() == 0:
        for end in (ask[1], give[0], *others):
            os.close(end)
        name = ctypes.create_string_buffer(b"pt_data_worker")
        ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
        worker(ask[0], give[1], collate)
    os.close(ask[0])
    os.close(give[1])
    return ask[1], give[0]


class Workers:
    def __init__(self, count, collate):
        self.pipes, self.turn = [], 0
        for _ in range(count):
            self.pipes.append(start_worker(collate, [end for pair in self.pipes for end in pair]))
        for ask, _ in self.pipes:
            os.write(ask, b"b" * PREFETCH)

    def take(self):
        if self.pipes:
            ask, give = self.pipes[self.turn % len(self.pipes)]
            self.turn += 1
            left = len(BATCH)
            while left:
                left -= len(os.read(give, left))
            os.write(ask, b"b")

    def end(self):
        for pair in self.pipes:
            for end in pair:
                os.close(end)
        for _ in self.pipes:
            os.wait()


class Device:
    def __init__(self, options):
        self.cuda = ctypes.CDLL("libcudart.so.13")
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.cuda.cudaMalloc.argtypes = [ctypes.POINTER(pointer), size]
        for name in ("cudaMemcpyAsync", "cudaMemcpy"):
            function = getattr(self.cuda, name)
            function.argtypes = [pointer, pointer, size, ctypes.c_int, pointer]
        self.cuda.cudaMemsetAsync.argtypes = [pointer, ctypes.c_int, size, pointer]
        self.cuda.cudaEventCreate.argtypes = [ctypes.POINTER(pointer)]
        self.cuda.cudaEventRecord.argtypes = [pointer, pointer]
        self.cuda.cudaLaunchKernel.argtypes = [pointer, Dim3, Dim3, pointer, size, pointer]
        self.cuda.cudaStreamSynchronize.argtypes = [pointer]
        self.memory, self.event, self.options = pointer(), pointer(), options
        self.cuda.cudaMalloc(ctypes.byref(self.memory), 1 << 22)
        self.cuda.cudaEventCreate(ctypes.byref(self.event))

    def step(self):
        one, o = Dim3(1, 1, 1), self.options
        copy = self.cuda.cudaMemcpy if o.renamed else self.cuda.cudaMemcpyAsync
        for _ in range(o.copies):
            copy(self.memory, BATCH, len(BATCH), HOST_TO_DEVICE, None)
        if o.set:
            self.cuda.cudaMemsetAsync(self.memory, 0, len(BATCH), None)
        for _ in range(o.kernels):
            self.cuda.cudaLaunchKernel(None, one, one, None, 0, None)
        if not o.no_event:
            self.cuda.cudaEventRecord(self.event, None)
        self.cuda.cudaStreamSynchronize(None)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--collate", type=int, default=300, help="us a worker makes a batch")
    parser.add_argument("--think", type=int, default=100, help="us of main's own in a step")
    parser.add_argument("--kernels", type=int, default=10)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--set", action="store_true", help="one call more of a kind of its own")
    parser.add_argument("--no-event", action="store_true", help="one call less")
    parser.add_argument("--renamed", action="store_true", help="cudaMemcpy for cudaMemcpyAsync")
    return parser.parse_args()


def main():
    options = parse()
    workers = Workers(options.workers, options.collate)
    device = Device(options)
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        workers.take()
        busy(options.think)
        device.step()
    workers.end()


if __name__ == "__main__":
    main()
