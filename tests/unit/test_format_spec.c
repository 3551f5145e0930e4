// SPDX-License-Identifier: BSD-2-Clause
/*
 * Holds format-spec/example.ing against the writer and vectors.txt against the decoder. With
 * --write both are written anew: only when the format has changed on purpose.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "common/column.h"
#include "small_file.h"

#define MOST 300

static char folder[512];

static char *path_of(const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* ---- the example ---- */

static void write_switches(struct writer *w)
{
	static const struct row_switch rows[] = {
		{ .ts = 5000001000, .next_tid = 4711, .next_off = 800, .next_wait = 300,
		  .wake_latency = 100, .waker_tid = 4712, .waker_context = WAKER_TASK,
		  .next_syscall = 202 + 1, .waker_syscall = 202 + 1 },
		{ .ts = 5000002500, .prev_tid = 4711, .prev_state = PREV_SLEEPING,
		  .prev_page_events = 3, .prev_pages = 3, .next_tid = 4712, .next_off = 1500,
		  .next_wait = 700, .wake_latency = 100, .waker_tid = 4711, .waker_context = WAKER_TASK,
		  .next_syscall = 202 + 1, .waker_syscall = 1 + 1 },
		{ .ts = 5000004100, .prev_tid = 4712, .prev_state = PREV_PREEMPTED, .next_tid = 4711,
		  .next_off = 1600, .next_wait = 500, .waker_context = WAKER_SOFTIRQ,
		  .next_syscall = 45 + 1, .waker_vector = VECTOR_NET_RX },
		{ .ts = 5000009900, .prev_tid = 4711, .prev_state = PREV_SLEEPING, .next_tid = 4712,
		  .prev_major_faults = 1, .next_off = 5800, .next_wait = 5800,
		  .next_flags = NEXT_FLAG_PREEMPTED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		writer_row(w, TABLE_switch, 1, &rows[i]);
}

static void write_example(const char *path)
{
	struct writer *w = small_writer(path);
	struct row_info info = { writer_string(w, "host.name", 9), writer_string(w, "box", 3) };
	struct row_anchor anchor = { 5000000000, 1700000000000000000, 5000000777 };
	struct row_operation operation = {
		.id = 1, .name = writer_string(w, "cudaMalloc", 10), .layer = LAYER_RUNTIME,
		.category = CATEGORY_MEMORY,
	};
	struct row_call call = {
		.ts = 5000002400, .duration = 1300, .tid = 4711, .tgid = 4711, .operation = 1,
		.probe = 1, .bytes = 4096, .flags = CALL_FLAG_BYTES,
	};
	struct row_state state = {
		.ts = 5000010000, .kind = STATE_KIND_COVERAGE, .cpu = 1, .since = 5000010000,
	};

	writer_row(w, TABLE_info, 0, &info);
	writer_row(w, TABLE_anchor, 0, &anchor);
	writer_row(w, TABLE_operation, 0, &operation);
	writer_row(w, TABLE_call, 1, &call);
	call.ts += 5000;
	call.code = (uint64_t)-1;
	writer_row(w, TABLE_call, 1, &call);
	write_switches(w);
	writer_row(w, TABLE_state, 0, &state);
	writer_close(w, NULL);
}

static void check_example(void)
{
	char *path = small_path();
	size_t size, expected;
	uint8_t *made, *kept;

	write_example(path);
	made = small_read(path, &size);
	kept = small_read(path_of("example.ing"), &expected);
	CHECK(size == expected && !memcmp(made, kept, size));
	free(made);
	free(kept);
	unlink(path);
	free(path);
}

/* ---- vectors: encoding parameter min n bytes values [a [b [c]]] ---- */

static uint64_t v[MOST], base[3][MOST], decoded[MOST], spare[MOST];

static void print_list(FILE *out, const uint64_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%s%llu", i ? "," : " ", (unsigned long long)list[i]);
}

static void write_vector(FILE *out, const struct column_hint *hint, uint32_t n, uint8_t encoding)
{
	static struct column_encoder encoder;
	int count = column_base_count(hint->prediction);
	struct column_bases bases = { { base[0], base[1], base[2] } };
	struct column_encoded e;
	uint8_t bytes[16384];

	column_encode(&encoder, hint, &bases, v, n, bytes, &e);
	CHECK(e.encoding == encoding);
	fprintf(out, "%u %u %llu %u ", e.encoding, e.parameter, (unsigned long long)e.min, n);
	for (size_t i = 0; i < e.size; i++)
		fprintf(out, "%02x", bytes[i]);
	fprintf(out, "%s", e.size ? "" : "-");
	print_list(out, v, n);
	for (int i = 0; i < count; i++)
		print_list(out, base[i], n);
	fputc('\n', out);
}

static uint64_t mixed(uint64_t i)
{
	i *= 0x9e3779b97f4a7c15ull;
	return i ^ i >> 31;
}

static void write_packed_vectors(FILE *out)
{
	static const struct column_hint hint = { TYPE_UINT, ENCODING_PACKED, 0 };
	static const struct column_hint sign = { TYPE_INT, ENCODING_PACKED, 0 };

	fprintf(out, "# packed: one group; two groups; patches; a patch up to the highest bit; signed\n");
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = 1000 + mixed(i) % 900;
	write_vector(out, &hint, 5, ENCODING_PACKED);
	write_vector(out, &hint, 131, ENCODING_PACKED);
	v[7] = 70000;
	v[100] = 1ull << 40;
	write_vector(out, &hint, 140, ENCODING_PACKED);
	v[139] = UINT64_MAX;
	write_vector(out, &hint, 140, ENCODING_PACKED);
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = mixed(i) % 20 - 5;
	write_vector(out, &sign, 40, ENCODING_PACKED);
}

static void write_other_vectors(FILE *out)
{
	static const struct column_hint packed = { TYPE_UINT, ENCODING_PACKED, 0 };
	static const struct column_hint delta = { TYPE_TIME, ENCODING_DELTA, 0 };

	fprintf(out, "# plain\n");
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = mixed(i + 1000);
	write_vector(out, &packed, 3, ENCODING_PLAIN);
	fprintf(out, "# delta: ascending; up and down, as zigzag\n");
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = 5000000000 + 1500 * i + mixed(i) % 100;
	write_vector(out, &delta, 20, ENCODING_DELTA);
	v[3] -= 4000;
	write_vector(out, &delta, 6, ENCODING_DELTA);
	fprintf(out, "# dictionary\n");
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = mixed(i) % 3 * 1000003;
	write_vector(out, &packed, 60, ENCODING_DICTIONARY);
}

static void write_predicted_vectors(FILE *out)
{
	static const struct column_hint same = { TYPE_UINT, ENCODING_PACKED, PREDICTION(1, 1, 0, 0) };
	static const struct column_hint packed = { TYPE_UINT, ENCODING_PACKED, 0 };
	static const struct column_hint before = { TYPE_UINT, ENCODING_PACKED, PREDICTION(2, 1, 0, 0) };
	static const struct column_hint departure = {
		TYPE_UINT, ENCODING_PACKED, PREDICTION(3, 1, 2, 3),
	};

	fprintf(out, "# predicted, with columns 1 to 3 as a, b and c: same row; row before; departure; zero\n");
	for (uint32_t i = 0; i < MOST; i++) {
		base[0][i] = mixed(i) % 100000;
		v[i] = i % 20 == 3 ? 42 + i : base[0][i];
	}
	write_vector(out, &same, 70, ENCODING_PREDICTED);
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = i == 5 ? 1 : i ? base[0][i - 1] : 9;
	write_vector(out, &before, 30, ENCODING_PREDICTED);
	for (uint32_t i = 0; i < MOST; i++) {
		base[0][i] = 5000000000 + 1500 * i + mixed(i) % 100;
		base[1][i] = i ? base[2][i - 1] : 0;
		/* 7 and 1031 share a slot. */
		base[2][i] = i % 9 == 8 ? 1031 : i % 5 == 4 ? 0 : 7 + i % 3;
		v[i] = 12345;
		for (uint32_t k = i; k-- > 0;)
			if (base[1][k] == base[2][i]) {
				v[i] = base[0][i] - base[0][k];
				break;
			}
		v[i] = base[2][i] ? v[i] : 0;
	}
	write_vector(out, &departure, 80, ENCODING_PREDICTED);
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = i % 2 ? mixed(i) % 60000 : 0;
	write_vector(out, &packed, 90, ENCODING_PREDICTED);
}

static void write_vectors(const char *path)
{
	static const struct column_hint packed = { TYPE_UINT, ENCODING_PACKED, 0 };
	FILE *out = fopen(path, "w");

	if (!CHECK(out != NULL))
		return;
	fprintf(out, "# Encodings: encoding parameter min n bytes values [a [b [c]]]; - is no bytes.\n");
	fprintf(out, "# constant\n");
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = 77;
	write_vector(out, &packed, 4, ENCODING_CONSTANT);
	write_packed_vectors(out);
	write_other_vectors(out);
	write_predicted_vectors(out);
	fclose(out);
}

static uint32_t parse_list(const char *text, uint64_t *list)
{
	uint32_t n = 0;

	while (text && *text && n < MOST) {
		char *end;

		list[n++] = strtoull(text, &end, 10);
		text = *end ? end + 1 : NULL;
	}
	return n;
}

static size_t parse_bytes(const char *text, uint8_t *bytes)
{
	size_t n = 0;

	for (; text[0] && text[1]; text += 2) {
		char digits[3] = { text[0], text[1], 0 };

		bytes[n++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return n;
}

static void check_vector(char *line)
{
	struct column_bases bases = { { NULL, NULL, NULL } };
	struct column_encoded e = { .encoding = (uint8_t)atoi(strtok(line, " \n")) };
	uint8_t *bytes = malloc(strlen(line) + 16384), *exact;
	const char *text;
	uint32_t n;

	e.parameter = (uint32_t)strtoul(strtok(NULL, " \n"), NULL, 10);
	e.min = e.max = strtoull(strtok(NULL, " \n"), NULL, 10);
	n = (uint32_t)strtoul(strtok(NULL, " \n"), NULL, 10);
	text = strtok(NULL, " \n");
	e.size = *text == '-' ? 0 : parse_bytes(text, bytes);
	exact = malloc(e.size + 1);
	memcpy(exact, bytes, e.size);
	CHECK(parse_list(strtok(NULL, " \n"), v) == n);
	for (unsigned int i = 0; i < 3 && (text = strtok(NULL, " \n")); i++) {
		CHECK(parse_list(text, base[i]) == n);
		bases.base[i] = base[i];
	}
	CHECK(column_decode(&e, &bases, exact, n, decoded, spare) == 0);
	CHECK(!memcmp(v, decoded, n * sizeof(*v)));
	free(exact);
	free(bytes);
}

static void check_vectors(const char *path)
{
	FILE *in = fopen(path, "r");
	char *line = NULL;
	size_t room = 0, count = 0;

	if (!CHECK(in != NULL))
		return;
	while (getline(&line, &room, in) > 0)
		if (line[0] != '#') {
			check_vector(line);
			count++;
		}
	CHECK(count >= 12);
	free(line);
	fclose(in);
}

int main(int argc, char **argv)
{
	const char *top = getenv("INGERO_TOP");

	snprintf(folder, sizeof(folder), "%s/format-spec", top ? top : ".");
	if (argc == 2 && !strcmp(argv[1], "--write")) {
		write_example(path_of("example.ing"));
		write_vectors(path_of("vectors.txt"));
	}
	check_example();
	check_vectors(path_of("vectors.txt"));
	return check_result();
}
