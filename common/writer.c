// SPDX-License-Identifier: BSD-2-Clause
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block.h"
#include "schema.h"
#include "strtab.h"

/* Builders grow while all of them together stay below this; then they are flushed instead. */
#define MEMORY_BUDGET (128u << 20)
/* Rows of a full block: a builder and its encoding should stay in the cache, headers be few. */
#define BLOCK_ROWS 16384u
#define FIRST_ROOM 256u
/* Places moved per row, on average, before a general sort takes over. */
#define SORT_MOVES 16
/* Text collected before it is written: well below FORMAT_MAX_TEXT. */
#define TEXT_ROOM (1u << 20)
/*
 * Columns of a builder begin this many values apart, beyond their rows: at equal distances in
 * powers of two, all of them would compete for the same few lines of the cache.
 */
#define STAGGER 24u

struct builder {
	const struct schema_table *schema;
	uint32_t cpu, rows, room;
	bool unsorted;		/* a row came with an earlier time than the one before */
	int time;		/* position of the first TIME column, or -1 */
	uint64_t *values;	/* column i begins at i * (room + STAGGER) */
};

struct writer {
	int fd;
	int failed;			/* error of the first failure, and its text */
	struct error error;
	uint64_t bytes, sequence, last_index;
	size_t memory;			/* held by builders */
	struct block_encoder *encoder;
	struct strtab strings;
	struct builder *builder[TABLE_LIMIT];
	uint32_t cpus[TABLE_LIMIT];	/* length of builder[table] */
	struct builder schema, index;
	char *text;			/* of the rows waiting in the string or schema builder */
	size_t text_size;
};

static int fail(struct writer *w, int code, const char *what)
{
	if (w->failed)
		return w->failed;
	w->failed = code == ERROR_SYSTEM ? error_system(&w->error, "%s", what) :
					   error_set(&w->error, code, "%s", what);
	return w->failed;
}

static int write_all(struct writer *w, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t done = write(w->fd, at, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return fail(w, ERROR_SYSTEM, "cannot write the recording");
		at += done;
		size -= (size_t)done;
		w->bytes += (uint64_t)done;
	}
	return 0;
}

/* ---- builders ---- */

static void builder_init(struct builder *b, const struct schema_table *schema, uint32_t cpu)
{
	*b = (struct builder){ .schema = schema, .cpu = cpu, .time = schema_time(schema) };
}

static uint64_t *builder_column(const struct builder *b, unsigned int i)
{
	return b->values + (size_t)i * (b->room + STAGGER);
}

static size_t builder_memory(const struct builder *b, uint32_t room)
{
	return room ? b->schema->ncolumns * (size_t)(room + STAGGER) * sizeof(uint64_t) : 0;
}

static int builder_grow(struct writer *w, struct builder *b, uint32_t room)
{
	struct builder old = *b;

	b->values = malloc(builder_memory(b, room));
	if (!b->values) {
		b->values = old.values;
		return fail(w, ERROR_MEMORY, "out of memory while recording");
	}
	b->room = room;
	for (unsigned int i = 0; i < b->schema->ncolumns && old.rows; i++)
		memcpy(builder_column(b, i), builder_column(&old, i), old.rows * sizeof(uint64_t));
	free(old.values);
	w->memory += builder_memory(b, room) - builder_memory(b, old.room);
	return 0;
}

struct sort_key { uint64_t ts; uint32_t row; };

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

/* Rows are a few places from where they belong, as a rule: then insertion is nearly free. */
static void sort_keys(struct sort_key *key, uint32_t n)
{
	uint64_t moves = 0;

	for (uint32_t i = 1; i < n && moves < SORT_MOVES * (uint64_t)n; i++) {
		struct sort_key k = key[i];
		uint32_t at = i;

		for (; at && key[at - 1].ts > k.ts; at--, moves++)
			key[at] = key[at - 1];
		key[at] = k;
	}
	if (moves >= SORT_MOVES * (uint64_t)n)
		qsort(key, n, sizeof(*key), compare_keys);
}

/* Rows of equal time keep their order. */
static int builder_sort(struct writer *w, struct builder *b)
{
	struct sort_key *key = malloc(b->rows * sizeof(*key));
	uint64_t *sorted = malloc(b->rows * sizeof(*sorted));

	if (!key || !sorted) {
		free(key);
		free(sorted);
		return fail(w, ERROR_MEMORY, "out of memory while sorting rows");
	}
	for (uint32_t i = 0; i < b->rows; i++)
		key[i] = (struct sort_key){ builder_column(b, 0)[i], i };
	sort_keys(key, b->rows);
	for (unsigned int c = 0; c < b->schema->ncolumns; c++) {
		uint64_t *column = builder_column(b, c);

		for (uint32_t i = 0; i < b->rows; i++)
			sorted[i] = column[key[i].row];
		memcpy(column, sorted, b->rows * sizeof(*sorted));
	}
	free(key);
	free(sorted);
	return 0;
}

/* ---- blocks ---- */

static void time_range(const struct builder *b, struct block_rows *rows)
{
	const uint64_t *ts;

	if (b->time < 0 || !b->rows)
		return;
	ts = builder_column(b, (unsigned int)b->time);
	rows->first_ts = ts[0];
	rows->last_ts = ts[b->rows - 1];
	/* Only tables that begin with a time are in its order. */
	if (b->time)
		packed_range(ts, b->rows, false, &rows->first_ts, &rows->last_ts);
	rows->min_start = rows->first_ts;
	if (b->schema->id == TABLE_call)
		for (uint32_t i = 0; i < b->rows; i++) {
			uint64_t start = ts[i] - builder_column(b, COL_call_duration)[i];

			rows->min_start = start < rows->min_start ? start : rows->min_start;
		}
}

static int remember(struct writer *w, uint64_t offset);

/* The rows of b, and the text collected when b holds some, as one block. */
static int write_rows(struct writer *w, struct builder *b, struct block_rows *rows)
{
	bool text = b->schema->id == TABLE_string || b->schema->id == TABLE_SCHEMA;
	uint64_t offset = w->bytes;
	const uint8_t *data;
	size_t size;

	rows->schema = b->schema;
	rows->cpu = b->cpu;
	rows->rows = b->rows;
	rows->sequence = w->sequence;
	for (unsigned int i = 0; i < b->schema->ncolumns && b->rows; i++)
		rows->col[i] = builder_column(b, i);
	if (text) {
		rows->text = (const uint8_t *)w->text;
		rows->text_size = w->text_size;
		w->text_size = 0;
	}
	b->rows = 0;
	b->unsorted = false;
	if (w->failed)
		return w->failed;
	if (block_encode(w->encoder, rows, &data, &size))
		return fail(w, ERROR_MEMORY, "out of memory while writing a block");
	w->sequence++;
	if (write_all(w, data, size))
		return w->failed;
	if (b == &w->index || b->schema->id == TABLE_CLOSE)
		return 0;
	return remember(w, offset);
}

static int write_index(struct writer *w)
{
	/* Chained backwards: each names the one before, the close mark the last. */
	struct block_rows rows = { .min_start = w->last_index };
	uint64_t offset = w->bytes;

	if (write_rows(w, &w->index, &rows))
		return w->failed;
	w->last_index = offset;
	return 0;
}

static int flush_builder(struct writer *w, struct builder *b);

/* Note a block in the index. */
static int remember(struct writer *w, uint64_t offset)
{
	struct builder *b = &w->index;

	if (b->rows == b->room && builder_grow(w, b, b->room ? b->room * 2 : FIRST_ROOM))
		return w->failed;
	builder_column(b, COL_index_offset)[b->rows++] = offset;
	return b->rows == FORMAT_MAX_ROWS ? write_index(w) : 0;
}

static struct builder *string_builder(struct writer *w)
{
	return &w->builder[TABLE_string][0];
}

static int flush_builder(struct writer *w, struct builder *b)
{
	struct block_rows rows = { 0 };

	if (b->rows == 0)
		return w->failed;
	/* A string is in the file before the first row that names it. */
	if (b != string_builder(w) && flush_builder(w, string_builder(w)))
		return w->failed;
	if (b->unsorted && builder_sort(w, b))
		return w->failed;
	time_range(b, &rows);
	return write_rows(w, b, &rows);
}

static int flush_all(struct writer *w)
{
	for (unsigned int table = 1; table < TABLE_LIMIT; table++)
		for (uint32_t cpu = 0; cpu < w->cpus[table] && table != TABLE_state; cpu++)
			flush_builder(w, &w->builder[table][cpu]);
	if (w->cpus[TABLE_state])
		flush_builder(w, &w->builder[TABLE_state][0]);
	return w->failed;
}

/* Room for one row more, by growing or by writing out what is there. */
static int make_room(struct writer *w, struct builder *b)
{
	uint32_t room = b->room ? b->room * 2 : FIRST_ROOM;
	size_t more = builder_memory(b, room) - builder_memory(b, b->room);

	if (room <= BLOCK_ROWS && (b->room == 0 || w->memory + more <= MEMORY_BUDGET))
		return builder_grow(w, b, room);
	/* A coverage row vouches for everything before it, so the rest must go first. */
	return b->schema->id == TABLE_state ? flush_all(w) : flush_builder(w, b);
}

/* ---- opening: header and schema ---- */

static int schema_row(struct writer *w, uint64_t table, uint64_t column, uint64_t type,
		      const char *name)
{
	struct builder *b = &w->schema;
	size_t length = strlen(name);

	if (b->rows == b->room && builder_grow(w, b, b->room ? b->room * 2 : FIRST_ROOM))
		return w->failed;
	builder_column(b, COL_schema_table)[b->rows] = table;
	builder_column(b, COL_schema_column)[b->rows] = column;
	builder_column(b, COL_schema_type)[b->rows] = type;
	builder_column(b, COL_schema_name)[b->rows] = length;
	b->rows++;
	memcpy(w->text + w->text_size, name, length);
	w->text_size += length;
	return 0;
}

static int write_schema(struct writer *w)
{
	struct block_rows rows = { 0 };

	for (size_t i = 0; i < schema_count(); i++) {
		const struct schema_table *t = schema_at(i);

		if (schema_row(w, t->id, 0, t->scope, t->name))
			return w->failed;
		for (unsigned int k = 0; k < t->ncolumns; k++)
			if (schema_row(w, t->id, t->column[k].id, t->column[k].type,
				       t->column[k].name))
				return w->failed;
	}
	return write_rows(w, &w->schema, &rows);
}

static int add_cpus(struct writer *w, enum table table, uint32_t cpu)
{
	struct builder *more = realloc(w->builder[table], (cpu + 1ul) * sizeof(*more));

	if (!more)
		return fail(w, ERROR_MEMORY, "out of memory while recording");
	w->builder[table] = more;
	for (uint32_t i = w->cpus[table]; i <= cpu; i++)
		builder_init(&more[i], schema_find(table), i);
	w->cpus[table] = cpu + 1;
	return 0;
}

static int start(struct writer *w)
{
	uint8_t header[FILE_HEADER_SIZE];

	w->encoder = block_encoder_new();
	w->text = malloc(TEXT_ROOM + FORMAT_MAX_STRING);
	if (!w->encoder || !w->text)
		return fail(w, ERROR_MEMORY, "out of memory while starting a recording");
	builder_init(&w->schema, &schema_of_schema, 0);
	builder_init(&w->index, &schema_of_index, 0);
	if (add_cpus(w, TABLE_string, 0))
		return w->failed;
	block_file_header(header);
	if (write_all(w, header, sizeof(header)))
		return w->failed;
	return write_schema(w);
}

int writer_open(struct writer **out, int fd, struct error *e)
{
	struct writer *w = calloc(1, sizeof(*w));
	int err;

	*out = NULL;
	if (!w) {
		close(fd);
		return error_set(e, ERROR_MEMORY, "out of memory while starting a recording");
	}
	w->fd = fd;
	strtab_init(&w->strings);
	err = start(w);
	if (!err) {
		*out = w;
		return 0;
	}
	if (e)
		*e = w->error;
	writer_abandon(w);
	return err;
}

/* ---- rows ---- */

static struct builder *builder_for(struct writer *w, enum table table, uint32_t cpu)
{
	if ((unsigned int)table - 1 >= TABLE_LIMIT - 1 || table == TABLE_string ||
	    cpu >= FORMAT_MAX_CPUS ||
	    (cpu && schema_find((uint16_t)table)->scope == SCOPE_GLOBAL)) {
		fail(w, ERROR_LIMIT, "a row for a table or CPU that cannot be");
		return NULL;
	}
	if (cpu >= w->cpus[table] && add_cpus(w, table, cpu))
		return NULL;
	return &w->builder[table][cpu];
}

int writer_row(struct writer *w, enum table table, uint32_t cpu, const void *row)
{
	struct builder *b = builder_for(w, table, cpu);
	const uint64_t *value = row;
	uint64_t *at;

	if (!b || (b->rows == b->room && make_room(w, b)))
		return w->failed;
	at = b->values + b->rows;
	/* Only tables that begin with a time are kept in its order. */
	if (b->time == 0 && b->rows && value[0] < at[-1])
		b->unsorted = true;
	for (unsigned int i = 0; i < b->schema->ncolumns; i++, at += b->room + STAGGER)
		*at = value[i];
	b->rows++;
	return w->failed;
}

static int string_row(struct writer *w, uint32_t id, const char *s, size_t length)
{
	struct builder *b = string_builder(w);

	if (w->text_size + length > TEXT_ROOM && flush_builder(w, b))
		return w->failed;
	if (b->rows == b->room && make_room(w, b))
		return w->failed;
	builder_column(b, COL_string_id)[b->rows] = id;
	builder_column(b, COL_string_text)[b->rows] = length;
	b->rows++;
	memcpy(w->text + w->text_size, s, length);
	w->text_size += length;
	return 0;
}

uint32_t writer_string(struct writer *w, const char *s, size_t length)
{
	uint32_t id = 0;
	bool added;
	int err;

	if (!s || length == 0)
		return 0;
	if (length > FORMAT_MAX_STRING)
		length = FORMAT_MAX_STRING;
	err = strtab_intern(&w->strings, s, length, &id, &added);
	if (err == ERROR_MEMORY)
		fail(w, err, "out of memory while keeping a string");
	if (err)
		return 0;
	if (added && string_row(w, id, s, length))
		return 0;
	return id;
}

/* ---- ending ---- */

int writer_flush(struct writer *w, struct error *e)
{
	int err = flush_all(w);

	if (err && e)
		*e = w->error;
	return err;
}

uint64_t writer_bytes(const struct writer *w)
{
	return w->bytes;
}

static int write_close(struct writer *w)
{
	static const struct schema_table mark = {
		.id = TABLE_CLOSE, .scope = SCOPE_GLOBAL, .name = "close",
	};
	struct builder b;
	struct block_rows rows = { 0 };

	if (flush_all(w) || write_index(w))
		return w->failed;
	builder_init(&b, &mark, 0);
	rows.min_start = w->last_index;
	return write_rows(w, &b, &rows);
}

int writer_close(struct writer *w, struct error *e)
{
	int err;

	if (!w)
		return 0;
	write_close(w);
	if (close(w->fd) && errno != EINTR)
		fail(w, ERROR_SYSTEM, "cannot finish the recording");
	w->fd = -1;
	err = w->failed;
	if (err && e)
		*e = w->error;
	writer_abandon(w);
	return err;
}

void writer_abandon(struct writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	for (unsigned int table = 0; table < TABLE_LIMIT; table++) {
		for (uint32_t cpu = 0; cpu < w->cpus[table]; cpu++)
			free(w->builder[table][cpu].values);
		free(w->builder[table]);
	}
	free(w->schema.values);
	free(w->index.values);
	strtab_release(&w->strings);
	block_encoder_free(w->encoder);
	free(w->text);
	free(w);
}
