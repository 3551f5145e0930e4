// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "recording.h"

/* Room for one more element, zeroed, at the end of r->field. */
#define APPEND(r, field, n) append((void **)&(r)->field, &(r)->n##_count, &(r)->n##_capacity, \
				   sizeof(*(r)->field))

/* More rows than any recording has are not kept: searches stay short whatever the file says. */
#define FACTS_MAX 1024
#define OPERATIONS_MAX 4096
#define LIBRARIES_MAX 4096
#define PROBES_MAX 65536
#define OUTSIDES_MAX 4096

static void *append(void **array, size_t *count, size_t *capacity, size_t size)
{
	char *grown = array_reserve(*array, capacity, *count + 1, size);

	if (!grown)
		return NULL;
	*array = grown;
	return memset(grown + (*count)++ * size, 0, size);
}

int recording_load(struct recording *r, uint32_t block, uint64_t mask, struct columns *c)
{
	struct error e = { 0 };
	int ret = reader_load(r->reader, block, mask, c, &e);

	reader_forget(r->reader, block);
	if (ret == ERROR_MEMORY)
		return ret;
	if (ret < 0) {
		atomic_fetch_add(&r->damaged_blocks, 1);
		c->rows = 0;
	}
	return 0;
}

static unsigned int columns_of(enum table table)
{
	static const uint8_t counts[TABLE_LIMIT] = {
#define TABLE(id, name, scope, text) [id] = COLS_##name,
#define COLUMN(id, table, name, type, enc, text)
#define END_TABLE(name)
#include "../common/columns.def"
	};

	return counts[table];
}

int recording_rows(struct recording *r, enum table table,
		   int (*visit)(void *context, const void *row), void *context)
{
	const struct block_list *list = &r->blocks[table];
	unsigned int n = columns_of(table);
	uint64_t row[FORMAT_MAX_COLUMNS];
	struct columns c = { 0 };
	int ret = 0;

	for (size_t b = 0; b < list->count && ret >= 0; b++) {
		ret = recording_load(r, list->block[b], (1ull << n) - 1, &c);
		for (uint32_t i = 0; ret >= 0 && i < c.rows; i++) {
			for (unsigned int k = 0; k < n; k++)
				row[k] = c.col[k] ? c.col[k][i] : 0;
			ret = visit(context, row);
		}
	}
	columns_release(&c);
	return ret < 0 ? ret : 0;
}

static int visit_info(void *context, const void *values)
{
	const struct row_info *row = values;
	struct recording *r = context;
	const char *key = reader_string(r->reader, row->key);
	struct fact *fact = NULL;

	for (size_t i = 0; i < r->fact_count && !fact; i++)
		if (!strcmp(r->facts[i].key, key))
			fact = &r->facts[i];
	if (!fact && r->fact_count == FACTS_MAX)
		return 0;
	if (!fact)
		fact = APPEND(r, facts, fact);
	if (!fact)
		return ERROR_MEMORY;
	fact->key = key;
	fact->value = reader_string(r->reader, row->value);
	return 0;
}

static int visit_anchor(void *context, const void *values)
{
	const struct row_anchor *row = values;
	struct anchor *anchor = APPEND((struct recording *)context, anchors, anchor);

	if (!anchor)
		return ERROR_MEMORY;
	anchor->ts = row->ts;
	anchor->realtime = (int64_t)row->realtime;
	anchor->boottime = (int64_t)row->boottime;
	return 0;
}

static int visit_operation(void *context, const void *values)
{
	const struct row_operation *row = values;
	struct recording *r = context;
	struct operation *operation;

	if (recording_operation(r, row->id) || r->operation_count == OPERATIONS_MAX)
		return 0;
	operation = APPEND(r, operations, operation);
	if (!operation)
		return ERROR_MEMORY;
	operation->id = (uint32_t)row->id;
	operation->name = reader_string(r->reader, row->name);
	operation->layer = (uint32_t)row->layer;
	operation->category = (uint32_t)row->category;
	operation->flags = (uint32_t)row->flags;
	return 0;
}

static int visit_library(void *context, const void *values)
{
	const struct row_library *row = values;
	struct recording *r = context;
	struct library *l = NULL;

	for (size_t i = 0; i < r->library_count && !l; i++)
		if (r->libraries[i].id == row->id)
			l = &r->libraries[i];
	if (!l && r->library_count == LIBRARIES_MAX)
		return 0;
	if (!l)
		l = APPEND(r, libraries, library);
	if (!l)
		return ERROR_MEMORY;
	*l = (struct library){
		.id = row->id, .dev = row->dev, .inode = row->inode, .how = row->how,
		.mapped = row->mapped, .probed = row->probed, .mapped_by = row->mapped_by,
		.symbols = row->symbols, .outside = row->outside,
		.path = reader_string(r->reader, row->path),
		.build_id = reader_string(r->reader, row->build_id),
		.why_not = reader_string(r->reader, row->why_not),
	};
	return 0;
}

/* Probes are written in the order of their ids, so the place of an id is nearly always known. */
const struct probe *recording_probe(const struct recording *r, uint64_t id)
{
	if (id && id <= r->probe_count && r->probes[id - 1].id == id)
		return &r->probes[id - 1];
	for (size_t i = 0; i < r->probe_count; i++)
		if (r->probes[i].id == id)
			return &r->probes[i];
	return NULL;
}

static int visit_probe(void *context, const void *values)
{
	const struct row_probe *row = values;
	struct recording *r = context;
	struct probe *p = (struct probe *)recording_probe(r, row->id);

	if (!p && r->probe_count == PROBES_MAX)
		return 0;
	if (!p)
		p = APPEND(r, probes, probe);
	if (!p)
		return ERROR_MEMORY;
	*p = (struct probe){
		.id = row->id, .library = row->library, .operation = row->operation,
		.offset = row->offset, .status = row->status, .hits = row->hits,
		.instruction = row->instruction,
		.symbol = reader_string(r->reader, row->symbol),
		.why_not = reader_string(r->reader, row->why_not),
	};
	return 0;
}

static int visit_outside(void *context, const void *values)
{
	const struct row_outside *row = values;
	struct recording *r = context;
	struct outside *o = NULL;

	for (size_t i = 0; i < r->outside_count && !o; i++)
		if (r->outsides[i].tgid == row->tgid && r->outsides[i].probe == row->probe)
			o = &r->outsides[i];
	if (!o && r->outside_count == OUTSIDES_MAX)
		return 0;
	if (!o)
		o = APPEND(r, outsides, outside);
	if (!o)
		return ERROR_MEMORY;
	*o = (struct outside){ (uint32_t)row->tgid, row->probe, row->calls };
	return 0;
}

static void sum_probes(struct recording *r)
{
	for (size_t i = 0; i < r->probe_count; i++) {
		const struct probe *p = &r->probes[i];

		for (size_t k = 0; k < r->library_count; k++) {
			struct library *l = &r->libraries[k];

			if (l->id != p->library)
				continue;
			l->hits += p->hits;
			l->attached += p->status == PROBE_ATTACHED;
			l->refused += p->status == PROBE_REFUSED;
		}
	}
}

/* Coverage only: what threads do at the keyframes is read by keyframes.c. */
static int visit_coverage(void *context, const void *values)
{
	const struct row_state *row = values;
	struct recording *r = context;
	struct cpu_span *cpu;

	if (row->kind != STATE_KIND_COVERAGE || row->cpu >= r->cpus)
		return 0;
	cpu = &r->cpu[row->cpu];
	cpu->present = cpu->covered = true;
	if (row->since > cpu->covered_until)
		cpu->covered_until = row->since;
	return 0;
}

static int by_operation_id(const void *a, const void *b)
{
	const struct operation *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_anchor_ts(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	return (x->ts > y->ts) - (x->ts < y->ts);
}

static bool flood(uint16_t table)
{
	return table == TABLE_switch || table == TABLE_call || table == TABLE_page;
}

/* A row per CPU the file speaks of, and the blocks of each known table. */
static int index_blocks(struct recording *r)
{
	uint64_t cpus = 1;

	for (size_t i = 0; i < reader_blocks(r->reader); i++) {
		const struct block_info *b = reader_block(r->reader, i);
		struct block_list *list = &r->blocks[b->table < TABLE_LIMIT ? b->table : 0];
		uint32_t *grown;

		if (b->table >= TABLE_LIMIT || (flood(b->table) && b->cpu >= RECORDING_CPUS_MAX))
			continue;
		if (flood(b->table) && b->cpu >= cpus)
			cpus = b->cpu + 1ull;
		grown = array_reserve(list->block, &list->capacity, list->count + 1,
				      sizeof(*grown));
		if (!grown)
			return ERROR_MEMORY;
		list->block = grown;
		list->block[list->count++] = (uint32_t)i;
	}
	r->cpus = (uint32_t)cpus;
	return 0;
}

static void bounds_of_blocks(struct recording *r, uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (size_t i = 0; i < reader_blocks(r->reader); i++) {
		const struct block_info *b = reader_block(r->reader, i);

		if (!flood(b->table) || b->cpu >= r->cpus || !b->rows)
			continue;
		r->cpu[b->cpu].present = true;
		if (b->last_ts > r->cpu[b->cpu].last_ts)
			r->cpu[b->cpu].last_ts = b->last_ts;
		if (b->first_ts < *first)
			*first = b->first_ts;
		if (b->last_ts > *last)
			*last = b->last_ts;
	}
}

/* Until when every CPU is covered: see the header. */
static uint64_t least_covered(const struct recording *r)
{
	uint64_t until = UINT64_MAX;

	for (uint32_t i = 0; i < r->cpus; i++) {
		const struct cpu_span *cpu = &r->cpu[i];
		uint64_t own = cpu->covered ? cpu->covered_until : cpu->last_ts;

		if (cpu->present && own < until)
			until = own;
	}
	return until == UINT64_MAX ? 0 : until;
}

/* False where the file has neither a start nor an event. */
static bool find_span(struct recording *r)
{
	uint64_t first, last, stop = recording_number(r, "record.stop", 0);

	bounds_of_blocks(r, &first, &last);
	if (first == UINT64_MAX && !recording_fact(r, "record.start"))
		return false;
	if (first == UINT64_MAX)
		first = r->anchor_count ? r->anchors[0].ts : 0;
	r->start = recording_number(r, "record.start", first);
	if (first < r->start && first)
		r->start = first;
	r->closed = r->file->closed;
	r->end = r->closed ? stop : least_covered(r);
	for (uint32_t i = 0; i < r->cpus; i++) {
		r->cpus_present += r->cpu[i].present;
		if (r->closed && r->cpu[i].covered_until > r->end)
			r->end = r->cpu[i].covered_until;
	}
	if (r->closed && last > r->end)
		r->end = last;
	if (r->end < r->start)
		r->end = r->start;
	r->whole_start = r->start;
	r->whole_end = r->last = r->end;
	if (!r->cpus_present)
		r->cpus_present = 1;
	return true;
}

static int load_small_tables(struct recording *r)
{
	static const struct {
		enum table table;
		int (*visit)(void *context, const void *row);
	} loads[] = {
		{ TABLE_anchor, visit_anchor }, { TABLE_operation, visit_operation },
		{ TABLE_library, visit_library }, { TABLE_probe, visit_probe },
		{ TABLE_outside, visit_outside }, { TABLE_state, visit_coverage },
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads) && !ret; i++)
		ret = recording_rows(r, loads[i].table, loads[i].visit, r);
	if (r->operation_count)
		qsort(r->operations, r->operation_count, sizeof(*r->operations), by_operation_id);
	if (r->anchor_count)
		qsort(r->anchors, r->anchor_count, sizeof(*r->anchors), by_anchor_ts);
	sum_probes(r);
	return ret;
}

int recording_open(struct recording *r, const char *path, struct error *e)
{
	int ret;

	memset(r, 0, sizeof(*r));
	ret = reader_open(&r->reader, path, e);
	if (ret < 0)
		return ret;
	r->file = reader_info(r->reader);
	/* An unfinished block at the end is what a killed recorder leaves: cut, not damaged. */
	atomic_store(&r->damaged_blocks, r->file->damage_count - (r->file->cut > 0));
	ret = index_blocks(r);
	if (!ret)
		ret = recording_rows(r, TABLE_info, visit_info, r);
	if (!ret) {
		uint64_t cpus = recording_number(r, "host.cpus", 1);

		if (cpus > r->cpus)
			r->cpus = cpus > RECORDING_CPUS_MAX ? RECORDING_CPUS_MAX : (uint32_t)cpus;
		r->cpu = calloc(r->cpus, sizeof(*r->cpu));
		ret = r->cpu ? load_small_tables(r) : ERROR_MEMORY;
	}
	if (ret)
		return error_set(e, ret, "cannot read \"%s\": out of memory", path);
	r->page_size = recording_number(r, "host.page_size", 0);
	if (!find_span(r)) {
		error_set(e, ERROR_NOT_OURS, "cannot report on \"%s\": it ends before its first event",
			  path);
		error_hint(e, "the recorder was stopped while it started: record again");
		return ERROR_NOT_OURS;
	}
	return 0;
}

void recording_close(struct recording *r)
{
	for (size_t i = 0; i < TABLE_LIMIT; i++) {
		free(r->blocks[i].block);
		free(r->all[i].block);
	}
	free(r->facts);
	free(r->operations);
	free(r->libraries);
	free(r->probes);
	free(r->outsides);
	free(r->anchors);
	free(r->cpu);
	reader_close(r->reader);
	memset(r, 0, sizeof(*r));
}

const char *recording_fact(const struct recording *r, const char *key)
{
	for (size_t i = 0; i < r->fact_count; i++)
		if (!strcmp(r->facts[i].key, key))
			return r->facts[i].value;
	return NULL;
}

uint64_t recording_number(const struct recording *r, const char *key, uint64_t otherwise)
{
	const char *text = recording_fact(r, key);
	uint64_t value = 0;

	if (!text || !*text)
		return otherwise;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || value > (UINT64_MAX - 9) / 10)
			return otherwise;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	return value;
}

const struct operation *recording_operation(const struct recording *r, uint64_t id)
{
	/* Ids count from 1 without gaps in what ingero-record writes. */
	if (id && id <= r->operation_count && r->operations[id - 1].id == id)
		return &r->operations[id - 1];
	for (size_t i = 0; i < r->operation_count; i++)
		if (r->operations[i].id == id)
			return &r->operations[i];
	return NULL;
}

uint64_t recording_realtime(const struct recording *r, uint64_t ts)
{
	size_t low = 0, high = r->anchor_count;

	if (!high)
		return 0;
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (r->anchors[middle].ts <= ts)
			low = middle;
		else
			high = middle;
	}
	return (uint64_t)r->anchors[low].realtime + ts - r->anchors[low].ts;
}
