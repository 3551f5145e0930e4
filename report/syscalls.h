/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_SYSCALLS_H
#define INGERO_REPORT_SYSCALLS_H
/*
 * System calls by number, on x86-64 and aarch64: their names, and what a thread that sleeps in
 * one, or wakes another from one, is about.
 */
#include <stdbool.h>

enum syscall_class {
	SYSCALL_OTHER = 0,
	SYSCALL_SLEEP,		/* sleeps for a time it chose */
	SYSCALL_WAIT,		/* waits for an event, and may have set a time limit */
	SYSCALL_FUTEX,		/* waits for another thread: mutexes, condition variables, joins */
	SYSCALL_SEND,		/* hands data on: may wake who reads it, over the loopback network too */
	SYSCALL_READ,		/* waits for data: of a pipe, a socket, a file, a timerfd */
};

/* Static text; NULL for a number that is not in the table. */
const char *syscall_name(bool aarch64, unsigned int number);
/* SYSCALL_OTHER for a number that is not in the table. */
enum syscall_class syscall_class(bool aarch64, unsigned int number);
#endif
