// SPDX-License-Identifier: BSD-2-Clause
#include "libraries.h"
#include <dirent.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "cuda_api.h"
#include "cudalib.h"
#include "discover.h"
#include "hostinfo.h"

struct library {
	const struct cudalib *file;
	struct row_library row;		/* row.id is its place + 1 */
	uint32_t first_probe;		/* its probes have ids from here on */
	int *refused;			/* by symbol of the file: errno, 0 attached, -1 not wanted */
};

/* A file known by the kernel's own numbers. */
struct seen {
	uint64_t dev, inode, generation;
};

struct libraries {
	struct libraries_config config;
	struct cudalib_set set;
	struct library **libraries;
	size_t count, room;
	uint32_t next_probe;
	void *seen;			/* tsearch(3) tree of struct seen */
	struct mapping *pending;	/* reported, not yet looked at; paths are ours */
	size_t npending, pending_room;
	uint64_t lost;			/* reports of mappings, as of the last look */
};

static int seen_compare(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->generation < y->generation ? -1 : x->generation > y->generation;
}

/* True the first time. */
static bool seen_add(struct libraries *l, const struct mapping *mapping)
{
	struct seen *key = malloc(sizeof(*key));
	void **node;

	if (!key)
		return false;
	*key = (struct seen){ mapping->dev, mapping->inode, mapping->generation };
	node = tsearch(key, &l->seen, seen_compare);
	if (node && *node == key)
		return true;
	free(key);
	return false;
}

int libraries_open(struct libraries **out, const struct libraries_config *config, struct error *e)
{
	struct libraries *l = calloc(1, sizeof(*l));

	*out = l;
	if (!l)
		return error_set(e, ERROR_MEMORY, "out of memory");
	l->config = *config;
	l->next_probe = 1;
	return 0;
}

static uint64_t string(struct libraries *l, const char *text)
{
	return writer_string(l->config.w, text, strlen(text));
}

static struct library *library_add(struct libraries *l, const struct cudalib *file)
{
	struct library *library = calloc(1, sizeof(*library));
	struct library **bigger = l->libraries;

	if (library && l->count == l->room) {
		bigger = reallocarray(l->libraries, l->room + 16, sizeof(*bigger));
		if (bigger) {
			l->libraries = bigger;
			l->room += 16;
		}
	}
	if (library)
		library->refused = calloc(file->count + 1, sizeof(*library->refused));
	if (!library || !bigger || !library->refused) {
		if (library)
			free(library->refused);
		free(library);
		return NULL;
	}
	library->file = file;
	library->row = (struct row_library){
		.id = l->count + 1, .path = string(l, file->path), .dev = file->dev, .inode = file->inode,
		.build_id = string(l, file->build_id), .symbols = file->count, .why_not = string(l, file->why_not),
	};
	library->first_probe = l->next_probe;
	l->next_probe += file->count;
	l->libraries[l->count++] = library;
	return library;
}

/* Row of one symbol's probe, with the calls seen so far. */
static void probe_write(struct libraries *l, const struct library *library, size_t i, uint64_t outside)
{
	const struct cudalib_symbol *symbol = &library->file->symbols[i];
	uint32_t id = library->first_probe + i;
	int refused = library->refused[i];
	struct row_probe row = {
		.id = id, .library = library->row.id, .symbol = string(l, cuda_symbols[symbol->row].symbol),
		.operation = cuda_symbol_operation(symbol->row), .offset = symbol->offset,
		.status = refused ? PROBE_REFUSED : PROBE_ATTACHED,
		.hits = ingest_calls(l->config.ingest, id) + outside,
		.why_not = string(l, refused < 0 ? "not selected by --ops" : refused ? strerror(refused) : ""),
		.instruction = symbol->instruction,
	};

	writer_row(l->config.w, TABLE_probe, 0, &row);
}

/* Attach the wanted symbols of the file in one go, and note for each what came of it. */
static void library_attach(struct libraries *l, struct library *library)
{
	const struct cudalib *file = library->file;
	unsigned long *offsets = calloc(file->count, sizeof(*offsets));
	uint64_t *cookies = calloc(file->count, sizeof(*cookies));
	size_t *index = calloc(file->count, sizeof(*index)), n = 0;
	int *refused = calloc(file->count, sizeof(*refused));
	struct error e = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	for (size_t i = 0; offsets && cookies && index && refused && i < file->count; i++) {
		uint16_t row = file->symbols[i].row;

		if (!l->config.enabled[row]) {
			library->refused[i] = -1;
			continue;
		}
		offsets[n] = file->symbols[i].offset;
		cookies[n] = (uint64_t)(library->first_probe + i) << 32 | row;
		index[n++] = i;
	}
	if (n && probes_library(l->config.probes, path, offsets, cookies, n, refused, &e))
		library->row.why_not = string(l, e.text);
	else if (n)
		library->row.probed = hostinfo_now();
	for (size_t i = 0; i < n; i++)
		library->refused[index[i]] = refused[i];
	free(offsets);
	free(cookies);
	free(index);
	free(refused);
}

static void library_write(struct libraries *l, const struct library *library)
{
	writer_row(l->config.w, TABLE_library, 0, &library->row);
	for (size_t i = 0; i < library->file->count; i++)
		probe_write(l, library, i, 0);
}

static bool known(const struct libraries *l, const struct cudalib *file)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->libraries[i]->file == file)
			return true;
	return false;
}

/* A mappings_sink: looking at a file makes mappings itself, so first all are collected. */
static void on_mapping(void *context, const struct mapping *mapping)
{
	struct libraries *l = context;
	struct mapping *bigger;

	if (!ingest_in_tree(l->config.ingest, mapping->pid) || !seen_add(l, mapping))
		return;
	if (l->npending == l->pending_room) {
		bigger = reallocarray(l->pending, l->pending_room + 64, sizeof(*bigger));
		if (!bigger)
			return;
		l->pending = bigger;
		l->pending_room += 64;
	}
	l->pending[l->npending] = *mapping;
	l->pending[l->npending].path = strdup(mapping->path);
	l->npending += l->pending[l->npending].path != NULL;
}

/* Note the kernel's own numbers of the file, so that mapping it later is no news. */
static bool identify(struct libraries *l, const struct cudalib *file)
{
	struct mapping own = { .dev = file->dev, .inode = file->inode };

	if (l->config.mappings && file->fd >= 0)
		mappings_identity(l->config.mappings, file->fd, &own, on_mapping, l);
	return seen_add(l, &own);
}

int libraries_foresee(struct libraries *l, char *const argv[], const char *home, struct error *e)
{
	int err = discover(&l->set, argv, home, e);

	for (size_t i = 0; !err && i < l->set.count; i++) {
		const struct cudalib *file = l->set.files[i];
		struct library *library;

		if (!file->count && !*file->why_not)
			continue;
		if (file->count && !identify(l, file))
			continue;
		library = library_add(l, file);
		if (!library)
			return error_set(e, ERROR_MEMORY, "out of memory");
		library->row.how = LIBRARY_BEFORE_EXEC;
		if (file->count)
			library_attach(l, library);
		library_write(l, library);
	}
	return err;
}

/*
 * Open the very file that was mapped: by its address range, which works for deleted files and in
 * other mount namespaces; else by its name as the process sees it; else, the process having gone
 * already, by name here, if it is the same file.
 */
static struct cudalib *mapped_file(struct libraries *l, const struct mapping *mapping)
{
	struct cudalib *file = NULL;
	struct mapping own;
	char path[4160];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, mapping->pid, mapping->start,
		 mapping->start + mapping->length);
	if (!cudalib_examine(&l->set, path, mapping->path, &file, NULL, NULL))
		return file;
	snprintf(path, sizeof(path), "/proc/%u/root%s", mapping->pid, mapping->path);
	if (!cudalib_examine(&l->set, path, mapping->path, &file, NULL, NULL))
		return file;
	if (cudalib_examine(&l->set, mapping->path, mapping->path, &file, NULL, NULL) || file->fd < 0)
		return NULL;
	if (!mappings_identity(l->config.mappings, file->fd, &own, on_mapping, l))
		return NULL;
	return own.dev == mapping->dev && own.inode == mapping->inode ? file : NULL;
}

static void mapping_examine(struct libraries *l, const struct mapping *mapping)
{
	struct cudalib *file = mapped_file(l, mapping);
	struct library *library;

	if (!file || (!file->count && !*file->why_not) || known(l, file))
		return;
	library = library_add(l, file);
	if (!library)
		return;
	library->row.how = LIBRARY_LATE;
	library->row.mapped = mapping->ts;
	library->row.mapped_by = mapping->pid;
	if (file->count)
		library_attach(l, library);
	library_write(l, library);
}

/* One line of /proc/PID/maps: a file mapped executable is looked at as if it had been reported. */
static void maps_line(struct libraries *l, uint32_t pid, const char *line)
{
	struct mapping mapping = { .pid = pid, .tid = pid };	/* since when is not known */
	uint64_t start, end, inode;
	unsigned int major, minor;
	char permissions[8];
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %x:%x %" SCNu64 " %n", &start, &end, permissions, &major,
		   &minor, &inode, &name) != 6 || !inode || permissions[2] != 'x')
		return;
	mapping.start = start;
	mapping.length = end - start;
	mapping.dev = makedev(major, minor);
	mapping.inode = inode;
	mapping.path = line + name;
	on_mapping(l, &mapping);
}

/* Reports were lost: read what the processes of the tree have mapped by now. */
static void libraries_catch_up(struct libraries *l)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[64], line[8192];
	FILE *maps;

	while (proc && (entry = readdir(proc))) {
		uint32_t pid = strtoul(entry->d_name, NULL, 10);

		if (!pid || !ingest_in_tree(l->config.ingest, pid))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/maps", pid);
		maps = fopen(path, "re");
		while (maps && fgets(line, sizeof(line), maps)) {
			line[strcspn(line, "\n")] = '\0';
			maps_line(l, pid, line);
		}
		if (maps)
			fclose(maps);
	}
	if (proc)
		closedir(proc);
}

void libraries_watch(struct libraries *l)
{
	if (!l->config.mappings)
		return;
	mappings_drain(l->config.mappings, on_mapping, l);
	if (mappings_lost(l->config.mappings) != l->lost) {
		l->lost = mappings_lost(l->config.mappings);
		libraries_catch_up(l);
	}
	for (size_t i = 0; i < l->npending; i++) {
		struct mapping mapping = l->pending[i];

		mapping_examine(l, &mapping);
		free((char *)mapping.path);
		/* Examining takes milliseconds: nothing may overflow meanwhile. */
		probes_drain(l->config.probes, NULL);
		mappings_drain(l->config.mappings, on_mapping, l);
	}
	l->npending = 0;
}

/* Calls from outside the tree by probe: written, and added up into an array by probe. */
static void outside_write(struct libraries *l, uint64_t *by_probe)
{
	struct wire_outside key = { 0 };
	uint64_t calls;

	for (bool first = true; probes_outside(l->config.probes, first, &key, &calls); first = false) {
		struct row_outside row = { .tgid = key.tgid, .probe = key.probe, .calls = calls };

		if (key.probe < l->next_probe)
			by_probe[key.probe] += calls;
		writer_row(l->config.w, TABLE_outside, 0, &row);
	}
}

void libraries_finish(struct libraries *l)
{
	uint64_t *outside = calloc(l->next_probe, sizeof(*outside));

	if (!outside)
		return;
	outside_write(l, outside);
	for (size_t i = 0; i < l->count; i++) {
		struct library *library = l->libraries[i];

		library->row.outside = 0;
		for (size_t k = 0; k < library->file->count; k++) {
			library->row.outside += outside[library->first_probe + k];
			probe_write(l, library, k, outside[library->first_probe + k]);
		}
		writer_row(l->config.w, TABLE_library, 0, &library->row);
	}
	free(outside);
}

struct libraries_summary libraries_summary(const struct libraries *l)
{
	struct libraries_summary s = { 0 };

	for (size_t i = 0; i < l->count; i++) {
		const struct library *library = l->libraries[i];
		const struct row_library *row = &library->row;

		s.probed += row->probed != 0;
		s.refused += row->probed == 0;
		s.outside += row->outside;
		if (row->probed && row->mapped && row->probed - row->mapped > s.worst_gap)
			s.worst_gap = row->probed - row->mapped;
		for (size_t k = 0; k < library->file->count; k++) {
			s.symbols += row->probed && !library->refused[k];
			s.calls += ingest_calls(l->config.ingest, library->first_probe + k);
		}
	}
	return s;
}

void libraries_close(struct libraries *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++) {
		free(l->libraries[i]->refused);
		free(l->libraries[i]);
	}
	for (size_t i = 0; i < l->npending; i++)
		free((char *)l->pending[i].path);
	free(l->pending);
	tdestroy(l->seen, free);
	cudalib_set_release(&l->set);
	free(l->libraries);
	free(l);
}
