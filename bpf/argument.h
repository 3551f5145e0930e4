/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
#ifndef INGERO_ARGUMENT_H
#define INGERO_ARGUMENT_H
/*
 * Where a value stands when a function is entered; filled from record/cuda_api.def, read by
 * bpf/cuda.bpf.c.
 */
enum argument_where {
	ARGUMENT_NONE = 0, ARGUMENT_VALUE = 1, ARGUMENT_FIELD = 2, ARGUMENT_PRODUCT = 3,
	ARGUMENT_PRODUCT3 = 4, ARGUMENT_CONST = 5, ARGUMENT_SCALED = 6, ARGUMENT_PRODUCT2F = 7,
};

struct argument_spec {
	unsigned char where;
	unsigned char n, n2;		/* argument numbers from 0; n2: second factor of PRODUCT */
	unsigned char size;		/* FIELD: 1, 2, 4 or 8 */
	unsigned short offset[3];	/* FIELD the first; PRODUCT2F two; PRODUCT3 all */
	unsigned short constant;	/* CONST: the value; SCALED, PRODUCT: a factor, never 0 */
};

#define SPEC_NONE { ARGUMENT_NONE, 0, 0, 0, { 0, 0, 0 }, 0 }
#define SPEC_ARG(a) { ARGUMENT_VALUE, (a), 0, 8, { 0, 0, 0 }, 0 }
#define SPEC_ARG32(a) { ARGUMENT_VALUE, (a), 0, 4, { 0, 0, 0 }, 0 }	/* int or enum */
#define SPEC_FIELD(a, o, s) { ARGUMENT_FIELD, (a), 0, (s), { (o), 0, 0 }, 0 }
#define SPEC_SCALED(a, c) { ARGUMENT_SCALED, (a), 0, 8, { 0, 0, 0 }, (c) }	/* a x c */
#define SPEC_PRODUCT(a, b) { ARGUMENT_PRODUCT, (a), (b), 8, { 0, 0, 0 }, 1 }
#define SPEC_PRODUCT_SCALED(a, b, c) { ARGUMENT_PRODUCT, (a), (b), 8, { 0, 0, 0 }, (c) }
#define SPEC_PRODUCT2F(a, o1, o2) { ARGUMENT_PRODUCT2F, (a), 0, 8, { (o1), (o2), 0 }, 0 }
#define SPEC_PRODUCT3(a, o1, o2, o3) { ARGUMENT_PRODUCT3, (a), 0, 8, { (o1), (o2), (o3) }, 0 }
#define SPEC_CONST(v) { ARGUMENT_CONST, 0, 0, 0, { 0, 0, 0 }, (v) }
#endif
