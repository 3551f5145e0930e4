#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Feeds an in-memory tensor to a small model, batch by batch, in one of several ways.

  direct   x[i:i + batch]
  gather   x[order[i:i + batch]], shuffled anew each epoch
  loader   torch.utils.data.DataLoader(shuffle=True)
  workers  the same with --workers processes; a thread copies their batches into page-locked memory

The device is torch's own where torch has one. Elsewhere it is the CUDA runtime library --library
through ctypes: copies, launches and a synchronise a batch, as a training step makes them. Of the
stand-in library in tests/fakecuda copies really copy, and the device works asynchronously for
--device-ms a batch. Prints one line of JSON.
"""
import argparse
import ctypes
import json
import os
import queue
import sys
import threading
import time
import warnings
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

FEATURES, CLASSES = 100, 10
METHODS = ("direct", "gather", "loader", "workers")
PR_SET_NAME = 15
HOST_TO_DEVICE, DEVICE_TO_DEVICE = 1, 3
PINNED_BUFFERS = 3


def name_thread(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Runtime:
    """A device behind the CUDA runtime library, through ctypes."""

    def __init__(self, options):
        if options.device_ms:
            each = options.device_ms * 1e6 / (options.launches + 2)
            os.environ["FAKECUDA_DEVICE_NS"] = str(round(each))
        os.environ["FAKECUDA_COPY"] = "1"
        os.environ["FAKECUDA_OPS"] = f"cudaStreamSynchronize=mode:device-{options.sync}"
        self.cuda, self.launches = ctypes.CDLL(options.library), options.launches
        self.stand_in = hasattr(self.cuda, "fakecuda_set")
        self.declare()
        if not self.stand_in and not self.count():
            sys.exit(f"benchmark: '{options.library}' finds no CUDA device")
        self.inputs = self.allocate(options.batch * FEATURES * 4), self.allocate(options.batch * 8)
        self.result = self.allocate(options.batch * FEATURES * 4)

    def declare(self):
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.cuda.cudaMalloc.argtypes = [ctypes.POINTER(pointer), size]
        self.cuda.cudaHostAlloc.argtypes = [ctypes.POINTER(pointer), size, ctypes.c_uint]
        self.cuda.cudaMemcpyAsync.argtypes = [pointer, pointer, size, ctypes.c_int, pointer]
        self.cuda.cudaLaunchKernel.argtypes = [pointer, Dim3, Dim3, pointer, size, pointer]
        self.cuda.cudaStreamSynchronize.argtypes = [pointer]

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code:
            sys.exit(f"benchmark: {name} failed with {code}")

    def count(self):
        found = ctypes.c_int(0)
        return 0 if self.cuda.cudaGetDeviceCount(ctypes.byref(found)) else found.value

    def allocate(self, size):
        found = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(found), size)
        return found

    def pinned(self, like):
        """Tensors as large as these in page-locked memory."""
        return [self.pinned_one(tensor) for tensor in like]

    def pinned_one(self, tensor):
        found = ctypes.c_void_p()
        self.call("cudaHostAlloc", ctypes.byref(found), bytes_of(tensor), 0)
        memory = (ctypes.c_char * bytes_of(tensor)).from_address(found.value)
        return torch.frombuffer(memory, dtype=tensor.dtype).view(tensor.shape)

    def copy(self, to, source, size, kind):
        self.call("cudaMemcpyAsync", to, source, size, kind, None)

    def launch(self):
        """Without a compiled kernel a real device is given copies of its own memory instead."""
        one = Dim3(1, 1, 1)
        for _ in range(self.launches):
            if self.stand_in:
                self.call("cudaLaunchKernel", None, one, one, None, 0, None)
            else:
                self.copy(self.result, self.inputs[0], self.size, DEVICE_TO_DEVICE)

    def step(self, batch):
        for target, tensor in zip(self.inputs, batch):
            self.copy(target, tensor.data_ptr(), bytes_of(tensor), HOST_TO_DEVICE)
        self.size = bytes_of(batch[0])
        self.launch()
        self.call("cudaStreamSynchronize", None)


class TorchDevice:
    """A device that torch drives itself, with a real model."""
    stand_in = False

    def __init__(self, _options):
        layers = torch.nn.Linear(FEATURES, 128), torch.nn.ReLU(), torch.nn.Linear(128, CLASSES)
        self.model = torch.nn.Sequential(*layers).cuda()
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def pinned(self, like):
        return [torch.empty_like(tensor, pin_memory=True) for tensor in like]

    def step(self, batch):
        x, y = (tensor.cuda(non_blocking=True) for tensor in batch)
        self.optimizer.zero_grad()
        self.loss(self.model(x), y).backward()
        self.optimizer.step()
        torch.cuda.current_stream().synchronize()


class Pinner:
    """Copies batches into page-locked memory on a thread of its own, as DataLoader's pin_memory
    does where torch has a device."""

    def __init__(self, device, largest):
        self.buffers = [device.pinned(largest) for _ in range(PINNED_BUFFERS)]

    def run(self, batches, free, ready):
        name_thread("pt_data_pin")
        try:
            for batch in batches:
                buffer = free.get()
                for target, tensor in zip(buffer, batch):
                    target[:len(tensor)].copy_(tensor)
                ready.put((buffer, len(batch[0])))
            ready.put(None)
        except BaseException as error:  # to be raised where the batches are asked for
            ready.put(error)

    def __call__(self, batches):
        free, ready = queue.Queue(), queue.Queue(2)
        for buffer in self.buffers:
            free.put(buffer)
        thread = threading.Thread(target=self.run, args=(batches, free, ready), daemon=True)
        thread.start()
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            buffer, rows = item
            yield [tensor[:rows] for tensor in buffer]
            free.put(buffer)
        thread.join()


def in_order(x, y, batch):
    for start in range(0, len(x), batch):
        yield x[start:start + batch], y[start:start + batch]


def gathered(x, y, batch):
    order = torch.randperm(len(x))
    for start in range(0, len(x), batch):
        rows = order[start:start + batch]
        yield x[rows], y[rows]


def loader_of(options, data):
    workers = options.workers if options.method == "workers" else 0
    how = {"num_workers": workers, "worker_init_fn": lambda _: name_thread("pt_data_worker"),
           "persistent_workers": bool(workers and options.persistent)}
    if options.batched:
        batches = BatchSampler(RandomSampler(data), options.batch, drop_last=False)
        return DataLoader(data, sampler=batches, batch_size=None, **how)
    return DataLoader(data, batch_size=options.batch, shuffle=True, **how)


def epochs_of(options, device, x, y):
    """A function that returns an epoch's batches."""
    if options.method == "direct":
        return lambda: in_order(x, y, options.batch)
    if options.method == "gather":
        return lambda: gathered(x, y, options.batch)
    loader = loader_of(options, TensorDataset(x, y))
    if options.method == "loader":
        return lambda: loader
    pinner = Pinner(device, (x[:options.batch], y[:options.batch]))
    return lambda: pinner(loader)


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("method", choices=METHODS)
    add("--samples", type=int, default=350_000)
    add("--batch", type=int, default=52_429)
    add("--epochs", type=int, default=3)
    add("--workers", type=int, default=4, help="of method workers")
    add("--persistent", action="store_true", help="keep the workers from epoch to epoch")
    add("--batched", action="store_true", help="ask the data set for a batch, not item by item")
    add("--library", default="libcudart.so.13", help="where torch has no device of its own")
    add("--launches", type=int, default=20, help="of a batch")
    add("--device-ms", type=float, default=5, help="the stand-in's time for a batch")
    add("--sync", choices=("spin", "block"), default="spin", help="how the stand-in is waited for")
    return parser.parse_args()


def main():
    options = parse()
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    x, y = torch.rand(options.samples, FEATURES), torch.randint(CLASSES, (options.samples,))
    device = (TorchDevice if torch.cuda.is_available() else Runtime)(options)
    epoch = epochs_of(options, device, x, y)
    steps, start = 0, time.monotonic()
    for _ in range(options.epochs):
        for batch in epoch():
            device.step(batch)
            steps += 1
    seconds = time.monotonic() - start
    print(json.dumps({
        "method": options.method, "seconds": round(seconds, 4), "epochs": options.epochs,
        "steps": steps, "samples": options.samples, "batch": options.batch,
        "stand_in": device.stand_in}))


if __name__ == "__main__":
    main()
