/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKECUDA_H
#define FAKECUDA_H
/*
 * Control of the stand-in CUDA libraries (exported by libcuda.so.1). They take time as told and
 * keep an exact account of their own calls; see truth.py for reading it.
 *
 * Environment, read once per process image:
 *   FAKECUDA_TRUTH_DIR  where each process keeps PID.START.N.truth; unset: no account
 *   FAKECUDA_TRUTH_AHEAD  bytes of account made ready at the start rather than inside calls
 *   FAKECUDA_COUNTS=1   keep counts and sums only, not each call
 *   FAKECUDA_OPS        "cudaMalloc=ns:2000,mode:sleep,dist:exp,fail:100,code:2;*=ns:500"
 *   FAKECUDA_DEVICE_NS  stand-in device time of each launch, copy and set, one after the other
 *   FAKECUDA_FIRST_NS   additional time of the first call of a process (context creation)
 *   FAKECUDA_NEST=0     runtime calls do not call the driver
 *   FAKECUDA_COPY=1     copies copy, allocations are host memory
 * A setting is inherited by fork, and the child starts an account of its own.
 */
#include <stdint.h>

enum fakecuda_mode {
	FAKECUDA_SPIN = 0,		/* busy until the time is over */
	FAKECUDA_SLEEP = 1,		/* clock_nanosleep */
	FAKECUDA_DEVICE_SPIN = 2,	/* sched_yield until the device is done, at least ns */
	FAKECUDA_DEVICE_BLOCK = 3,	/* sleep on a timerfd that fires when the device is done */
};

enum fakecuda_distribution {
	FAKECUDA_FIXED = 0,
	FAKECUDA_UNIFORM = 1,		/* ns / 2 to ns * 3 / 2 */
	FAKECUDA_EXPONENTIAL = 2,	/* mean ns, cut at 16 x ns */
	FAKECUDA_TAIL = 3,		/* ns; each 100th call 50 x ns */
};

/*
 * Set what calls of an exported symbol do ("*": all). Every fail_every-th call of the process
 * returns code; 0: none fails. Returns 0, or -1 if the symbol is unknown.
 */
int fakecuda_set(const char *symbol, uint64_t ns, int mode, uint64_t fail_every, int code);
int fakecuda_set_distribution(const char *symbol, int distribution);
/* Called inside each call of the symbol before its time is spent; NULL: none. It may longjmp. */
int fakecuda_set_callback(const char *symbol, void (*callback)(void *), void *argument);
/* Told after a longjmp out of n calls of this thread, so that the account's depth is right. */
void fakecuda_unwound(unsigned int n);
#endif
