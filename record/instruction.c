// SPDX-License-Identifier: BSD-2-Clause
#include "instruction.h"
#include <string.h>

#if defined(__x86_64__)

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/*
 * arch/x86/kernel/uprobes.c: push_setup_xol_ops() and branch_setup_xol_ops(). Multi-byte nops are
 * emulated by newer kernels only; endbr64 and ret are not.
 */
uint8_t instruction_class(const uint8_t *code, size_t n)
{
	size_t i = 0;

	if (!n)
		return 0;
	if ((code[0] & 0xf8) == 0x50)			/* push */
		return INSTRUCTION_EMULATED;
	if (n > 1 && code[0] == 0x41 && (code[1] & 0xf8) == 0x50)	/* push r8 .. r15 */
		return INSTRUCTION_EMULATED;
	while (i + 1 < n && code[i] == 0x66)
		i++;
	if (code[i] == 0x90)				/* nop */
		return INSTRUCTION_EMULATED;
	switch (code[0]) {
	case 0xe8: case 0xe9: case 0xeb:		/* call, jmp */
		return INSTRUCTION_EMULATED;
	case 0x0f:					/* jcc near, multi-byte nop */
		if (n > 1 && ((code[1] & 0xf0) == 0x80 || code[1] == 0x1f))
			return INSTRUCTION_EMULATED;
		break;
	case 0x70 ... 0x7f:				/* jcc short */
		return INSTRUCTION_EMULATED;
	}
	return INSTRUCTION_SINGLE_STEPPED;
}

uint64_t instruction_jump(const uint8_t *code, size_t n, uint64_t at)
{
	int32_t distance;

	if (n >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64))) {
		code += sizeof(endbr64);
		n -= sizeof(endbr64);
		at += sizeof(endbr64);
	}
	if (n >= 5 && code[0] == 0xe9) {
		memcpy(&distance, code + 1, sizeof(distance));
		return at + 5 + distance;
	}
	if (n >= 2 && code[0] == 0xeb)
		return at + 2 + (int8_t)code[1];
	return 0;
}

#elif defined(__aarch64__)

static uint32_t word(const uint8_t *code, size_t n)
{
	uint32_t w = 0;

	if (n >= sizeof(w))
		memcpy(&w, code, sizeof(w));
	return w;
}

/*
 * arch/arm64/kernel/probes/decode-insn.c: branches, address forming and literal loads are
 * simulated, nop since Linux 6.13; the usual bti, paciasp and stp are stepped.
 */
uint8_t instruction_class(const uint8_t *code, size_t n)
{
	uint32_t w = word(code, n);

	if (n < sizeof(w))
		return 0;
	if (w == 0xd503201f)				/* nop */
		return INSTRUCTION_EMULATED;
	if ((w & 0x7c000000) == 0x14000000 ||		/* b, bl */
	    (w & 0xff000010) == 0x54000000 ||		/* b.cond */
	    (w & 0x7c000000) == 0x34000000 ||		/* cbz, cbnz, tbz, tbnz */
	    (w & 0x1f000000) == 0x10000000 ||		/* adr, adrp */
	    (w & 0xbf000000) == 0x18000000 ||		/* ldr literal */
	    (w & 0xff9ffc1f) == 0xd61f0000)		/* br, blr, ret */
		return INSTRUCTION_EMULATED;
	return INSTRUCTION_SINGLE_STEPPED;
}

uint64_t instruction_jump(const uint8_t *code, size_t n, uint64_t at)
{
	uint32_t w = word(code, n);

	if (w == 0xd503245f) {				/* bti c */
		w = word(code + 4, n - 4);
		at += 4;
	}
	if ((w & 0xfc000000) != 0x14000000)
		return 0;
	return at + (((int64_t)(int32_t)(w << 6)) >> 4);
}

#endif
