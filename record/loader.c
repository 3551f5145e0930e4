// SPDX-License-Identifier: BSD-2-Clause
#include "loader.h"
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CACHE_PATH "/etc/ld.so.cache"
#define CACHE_MAX (16u << 20)
#define FILES_MAX 400
#define NEEDED_MAX 512			/* of one file */
#define TIME_MAX_NS 100000000ull
#define RPATH_MAX 8192			/* of a file and those that loaded it */

#if defined(__x86_64__)
#define LIBRARY_DIRECTORY "lib/x86_64-linux-gnu"
#define PLATFORM "x86_64"
#define CACHE_FLAGS 0x0303		/* ELF, libc6, x86-64 */
#else
#define LIBRARY_DIRECTORY "lib/aarch64-linux-gnu"
#define PLATFORM "aarch64"
#define CACHE_FLAGS 0x0a03
#endif

static const char *const default_directories[] = {
	"/" LIBRARY_DIRECTORY, "/usr/" LIBRARY_DIRECTORY, "/lib64", "/usr/lib64", "/lib", "/usr/lib",
};

/* As ldconfig writes it; all offsets count from the start of the header. */
struct cache_header {
	char magic[20];
	uint32_t entries, string_bytes;
	uint8_t flags, pad[3];
	uint32_t extension, unused[3];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path, os_version;
	uint64_t capabilities;
};

struct visited { dev_t dev; ino_t ino; };

struct loader {
	char *cache;			/* the file's bytes, and a final 0 */
	size_t cache_size;
	const struct cache_entry *entries;
	uint32_t entry_count;
	struct visited visited[FILES_MAX];
	size_t visited_count;
	struct timespec deadline;
};

/* A file whose needs are being looked up. */
struct object {
	const char *path;
	char origin[PATH_MAX];
	char rpath[RPATH_MAX], runpath[RPATH_MAX / 2];
	char *needed[NEEDED_MAX];
	size_t needed_count;
};

struct search {
	struct loader *loader;
	loader_found found;
	void *context;
};

bool loader_split(const char **list, const char *separators, char *word, unsigned int size)
{
	size_t length;

	do {
		if (!*list || !**list)
			return false;
		length = strcspn(*list, separators);
		if (length < size) {
			memcpy(word, *list, length);
			word[length] = 0;
		}
		*list += length;
		if (**list)
			++*list;
	} while (!length || length >= size);
	return true;
}

/* The new format stands alone, or behind a table in the old one. */
static size_t cache_start(const struct loader *l)
{
	static const char old[] = "ld.so-1.7.0";
	uint32_t count;

	if (l->cache_size < 16 || memcmp(l->cache, old, sizeof(old) - 1))
		return 0;
	memcpy(&count, l->cache + 12, sizeof(count));
	return (16 + 12ull * count + 7) & ~7ull;
}

static void cache_parse(struct loader *l)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	size_t start = cache_start(l);
	struct cache_header header;

	if (start > l->cache_size || l->cache_size - start < sizeof(header))
		return;
	memmove(l->cache, l->cache + start, l->cache_size - start + 1);
	l->cache_size -= start;
	memcpy(&header, l->cache, sizeof(header));
	if (memcmp(header.magic, magic, sizeof(header.magic)) ||
	    header.entries > (l->cache_size - sizeof(header)) / sizeof(struct cache_entry))
		return;
	l->entries = (const struct cache_entry *)(l->cache + sizeof(header));
	l->entry_count = header.entries;
}

static void cache_read(struct loader *l)
{
	int fd = open(CACHE_PATH, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0 && st.st_size <= CACHE_MAX) {
		l->cache = malloc(st.st_size + 1);
		n = l->cache ? read(fd, l->cache, st.st_size) : -1;
		if (n > 0) {
			l->cache_size = n;
			l->cache[n] = 0;
			cache_parse(l);
		}
	}
	close(fd);
}

/* Name and path of entry i; false for one of another machine, or out of bounds. */
static bool cache_entry(const struct loader *l, uint32_t i, const char **name, const char **path)
{
	const struct cache_entry *entry = &l->entries[i];

	if (entry->flags != CACHE_FLAGS || entry->name >= l->cache_size ||
	    entry->path >= l->cache_size)
		return false;
	*name = l->cache + entry->name;
	*path = l->cache + entry->path;
	return true;
}

int loader_open(struct loader **l, struct error *e)
{
	*l = calloc(1, sizeof(**l));
	if (!*l)
		return error_set(e, ERROR_MEMORY, "out of memory");
	cache_read(*l);
	clock_gettime(CLOCK_MONOTONIC, &(*l)->deadline);
	(*l)->deadline.tv_nsec += TIME_MAX_NS;
	if ((*l)->deadline.tv_nsec >= 1000000000) {
		(*l)->deadline.tv_nsec -= 1000000000;
		(*l)->deadline.tv_sec++;
	}
	return 0;
}

void loader_close(struct loader *l)
{
	if (!l)
		return;
	free(l->cache);
	free(l);
}

int loader_cached(struct loader *l, bool (*wanted)(const char *name), loader_found found,
		  void *context)
{
	const char *name, *path;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < l->entry_count; i++)
		if (cache_entry(l, i, &name, &path) && wanted(name) && !access(path, R_OK))
			rc = found(context, path);
	return rc;
}

static bool out_of_time(const struct loader *l)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > l->deadline.tv_sec ||
	       (now.tv_sec == l->deadline.tv_sec && now.tv_nsec > l->deadline.tv_nsec);
}

/* True for a file not seen before; false also when enough were seen. */
static bool visit(struct loader *l, const char *path)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || l->visited_count == FILES_MAX ||
	    out_of_time(l))
		return false;
	for (size_t i = 0; i < l->visited_count; i++)
		if (l->visited[i].ino == st.st_ino && l->visited[i].dev == st.st_dev)
			return false;
	l->visited[l->visited_count++] = (struct visited){ st.st_dev, st.st_ino };
	return true;
}

/* One dollar string of an RPATH; its length in the text, 0 when it is not known. */
static size_t token(const char *text, const char *origin, const char **value)
{
	static const char *const names[] = { "ORIGIN", "LIB", "PLATFORM" };
	const char *const values[] = { origin, LIBRARY_DIRECTORY, PLATFORM };
	bool braces = text[1] == '{';

	for (int i = 0; i < 3; i++) {
		size_t length = strlen(names[i]);
		const char *name = text + 1 + braces;

		if (strncmp(name, names[i], length) || (braces && name[length] != '}'))
			continue;
		*value = values[i];
		return 1 + 2 * braces + length;
	}
	return 0;
}

/* Append list, with $ORIGIN and its like replaced, to out; what does not fit is left out. */
static void expand(const char *list, const char *origin, char *out, size_t size)
{
	size_t used = strlen(out);

	if (used && used + 1 < size)
		out[used++] = ':';
	while (*list && used + 1 < size) {
		const char *value;
		size_t length = *list == '$' ? token(list, origin, &value) : 0;

		if (!length) {
			out[used++] = *list++;
			continue;
		}
		if (strlen(value) >= size - used)
			break;
		used += sprintf(out + used, "%s", value);
		list += length;
	}
	out[used] = 0;
}

static void read_dynamic_entry(struct object *o, Elf *elf, size_t strings, const GElf_Dyn *entry)
{
	const char *text;

	if (entry->d_tag != DT_NEEDED && entry->d_tag != DT_RPATH && entry->d_tag != DT_RUNPATH)
		return;
	text = elf_strptr(elf, strings, entry->d_un.d_val);
	if (!text)
		return;
	if (entry->d_tag == DT_RPATH)
		expand(text, o->origin, o->rpath, sizeof(o->rpath));
	else if (entry->d_tag == DT_RUNPATH)
		expand(text, o->origin, o->runpath, sizeof(o->runpath));
	else if (o->needed_count < NEEDED_MAX && (o->needed[o->needed_count] = strdup(text)))
		o->needed_count++;
}

static void read_dynamic(struct object *o, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Dyn entry;
	Elf_Data *data;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC)
			break;
	if (!section || !header.sh_entsize || header.sh_size > (1u << 20))
		return;
	data = elf_getdata(section, NULL);
	for (size_t i = 0; data && i < data->d_size / header.sh_entsize; i++) {
		if (!gelf_getdyn(data, i, &entry) || entry.d_tag == DT_NULL)
			break;
		read_dynamic_entry(o, elf, header.sh_link, &entry);
	}
}

static void object_read(struct object *o)
{
	int fd = open(o->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	Elf *elf;

	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		read_dynamic(o, elf);
	elf_end(elf);
	close(fd);
}

static void set_origin(struct object *o)
{
	char *slash;

	if (!realpath(o->path, o->origin))
		snprintf(o->origin, sizeof(o->origin), "%s", o->path);
	slash = strrchr(o->origin, '/');
	if (slash)
		*slash = 0;
}

static bool in_directories(const char *list, const char *name, char *path, size_t size)
{
	char directory[PATH_MAX];

	while (loader_split(&list, ":;", directory, sizeof(directory)))
		if (snprintf(path, size, "%s/%s", directory, name) < (int)size &&
		    !access(path, R_OK))
			return true;
	return false;
}

static bool in_defaults(const char *name, char *path, size_t size)
{
	for (size_t i = 0; i < sizeof(default_directories) / sizeof(default_directories[0]); i++)
		if (snprintf(path, size, "%s/%s", default_directories[i], name) < (int)size &&
		    !access(path, R_OK))
			return true;
	return false;
}

static bool in_cache(const struct loader *l, const char *wanted, char *path, size_t size)
{
	const char *name, *found;

	for (uint32_t i = 0; i < l->entry_count; i++)
		if (cache_entry(l, i, &name, &found) && !strcmp(name, wanted))
			return snprintf(path, size, "%s", found) < (int)size && !access(path, R_OK);
	return false;
}

/* The order of ld.so(8). */
static bool resolve(const struct loader *l, const struct object *o, const char *name, char *path,
		    size_t size)
{
	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size && !access(path, R_OK);
	if (!o->runpath[0] && in_directories(o->rpath, name, path, size))
		return true;
	return in_directories(getenv("LD_LIBRARY_PATH"), name, path, size) ||
	       in_directories(o->runpath, name, path, size) ||
	       in_cache(l, name, path, size) || in_defaults(name, path, size);
}

static int needed_of(struct search *s, const char *path, const char *rpath);

static int follow(struct search *s, const struct object *o, const char *name)
{
	char path[PATH_MAX];
	int rc;

	if (!resolve(s->loader, o, name, path, sizeof(path)) || !visit(s->loader, path))
		return 0;
	rc = s->found(s->context, path);
	return rc ? rc : needed_of(s, path, o->runpath[0] ? "" : o->rpath);
}

/* Depth is bounded by FILES_MAX: each file is entered once. */
static int needed_of(struct search *s, const char *path, const char *rpath)
{
	struct object *o = calloc(1, sizeof(*o));
	int rc = 0;

	if (!o)
		return ERROR_MEMORY;
	o->path = path;
	set_origin(o);
	object_read(o);
	if (rpath[0])
		expand(rpath, o->origin, o->rpath, sizeof(o->rpath));
	for (size_t i = 0; !rc && i < o->needed_count; i++)
		rc = follow(s, o, o->needed[i]);
	for (size_t i = 0; i < o->needed_count; i++)
		free(o->needed[i]);
	free(o);
	return rc;
}

int loader_needed(struct loader *l, const char *path, loader_found found, void *context)
{
	struct search s = { .loader = l, .found = found, .context = context };

	return visit(l, path) ? needed_of(&s, path, "") : 0;
}
