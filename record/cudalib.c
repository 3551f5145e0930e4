// SPDX-License-Identifier: BSD-2-Clause
#include "cudalib.h"
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cuda_api.h"
#include "instruction.h"

#define SYMBOL_TABLE_MAX (1ull << 28)	/* bytes of a symbol or string table that is still read */
#define SECTIONS_MAX 4096
#define SEGMENTS_MAX 128
#define NOTES_MAX 65536
#define FOUND_MAX (4 * CUDA_SYMBOLS_MAX)
#define CODE_BYTES 16

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "only x86-64 and aarch64 are known"
#endif

/* One file while it is being examined. */
struct image {
	Elf *elf;
	struct cudalib *lib;
	uint64_t size;
	GElf_Phdr segments[SEGMENTS_MAX];
	size_t segment_count;
	bool executable;	/* a program, not a library */
	bool imports;		/* takes CUDA symbols from elsewhere */
	bool device_code;	/* carries code for the GPU: built by nvcc */
	bool resolver;		/* a CUDA symbol is an indirect function */
};

struct cudalib *cudalib_find(const struct cudalib_set *set, uint64_t dev, uint64_t inode, int64_t changed)
{
	for (size_t i = 0; i < set->count; i++) {
		struct cudalib *lib = set->files[i];

		if (lib->inode == inode && lib->dev == dev && (lib->fd >= 0 || lib->changed == changed))
			return lib;
	}
	return NULL;
}

static int64_t changed_ns(const struct stat *st)
{
	return st->st_ctim.tv_sec * 1000000000ll + st->st_ctim.tv_nsec;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool cudalib_name(const char *path)
{
	const char *name = base_name(path);

	return !strncmp(name, "libcuda.so", 10) ||
	       (!strncmp(name, "libcudart", 9) && strstr(name, ".so"));
}

static void read_segments(struct image *image)
{
	size_t count = 0;

	if (elf_getphdrnum(image->elf, &count))
		count = 0;
	for (size_t i = 0; i < count && image->segment_count < SEGMENTS_MAX; i++) {
		GElf_Phdr *p = &image->segments[image->segment_count];

		if (!gelf_getphdr(image->elf, i, p))
			continue;
		image->segment_count++;
		if (p->p_type == PT_INTERP)
			image->executable = true;
	}
}

/* File offset of an address in an executable segment; 0, where no code can be, when in none. */
static uint64_t file_offset(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const GElf_Phdr *p = &image->segments[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || address < p->p_vaddr ||
		    address - p->p_vaddr >= p->p_filesz)
			continue;
		if (p->p_offset >= image->size || address - p->p_vaddr >= image->size - p->p_offset)
			return 0;
		return address - p->p_vaddr + p->p_offset;
	}
	return 0;
}

static int symbol_row(const char *name)
{
	char plain[96];
	size_t length;

	if (!name || name[0] != 'c' || name[1] != 'u')
		return -1;
	/* A .symtab may carry versions in names: cudaMalloc@@libcudart.so.12. */
	length = strcspn(name, "@");
	if (length >= sizeof(plain))
		return -1;
	memcpy(plain, name, length);
	plain[length] = 0;
	return cuda_symbol_find(plain);
}

static int symbol_add(struct cudalib *lib, uint64_t offset, int row)
{
	struct cudalib_symbol *bigger;

	if (lib->count >= FOUND_MAX)
		return 0;
	if (!(lib->count & (lib->count - 1))) {
		bigger = reallocarray(lib->symbols, lib->count ? 2 * lib->count : 1, sizeof(*bigger));
		if (!bigger)
			return ERROR_MEMORY;
		lib->symbols = bigger;
	}
	lib->symbols[lib->count++] = (struct cudalib_symbol){ .offset = offset, .row = row };
	return 0;
}

static int symbol_consider(struct image *image, const GElf_Sym *symbol, const char *name)
{
	int row = symbol_row(name);
	uint64_t offset;

	if (row < 0)
		return 0;
	if (symbol->st_shndx == SHN_UNDEF) {
		image->imports = true;
		return 0;
	}
	if (GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		image->resolver = true;
	if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC)
		return 0;
	offset = file_offset(image, symbol->st_value);
	return offset ? symbol_add(image->lib, offset, row) : 0;
}

static int read_symbols(struct image *image, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Scn *names = elf_getscn(image->elf, header->sh_link);
	GElf_Shdr names_header;
	Elf_Data *data;
	GElf_Sym symbol;
	int rc = 0;

	if (!names || !gelf_getshdr(names, &names_header) || !header->sh_entsize ||
	    header->sh_size > SYMBOL_TABLE_MAX || names_header.sh_size > SYMBOL_TABLE_MAX)
		return 0;
	data = elf_getdata(section, NULL);
	if (!data)
		return 0;
	for (size_t i = 1; !rc && i < data->d_size / header->sh_entsize && i <= INT32_MAX; i++) {
		if (!gelf_getsym(data, i, &symbol))
			break;
		rc = symbol_consider(image, &symbol,
				     elf_strptr(image->elf, header->sh_link, symbol.st_name));
	}
	return rc;
}

/* Every symbol table of that type. */
static int read_tables(struct image *image, uint32_t type)
{
	Elf_Scn *section = NULL;
	size_t sections = 0;
	int rc = 0;

	while (!rc && sections++ < SECTIONS_MAX && (section = elf_nextscn(image->elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == type)
			rc = read_symbols(image, section, &header);
	}
	return rc;
}

/* nvcc leaves these sections even in a stripped file. */
static void find_device_code(struct image *image)
{
	Elf_Scn *section = NULL;
	size_t names, sections = 0;

	if (elf_getshdrstrndx(image->elf, &names))
		return;
	while (sections++ < SECTIONS_MAX && (section = elf_nextscn(image->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(image->elf, names, header.sh_name);
		if (name && !strcmp(name, ".nv_fatbin"))
			image->device_code = true;
	}
}

static void build_id_print(struct cudalib *lib, const uint8_t *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < length && 2 * i + 2 < sizeof(lib->build_id); i++) {
		lib->build_id[2 * i] = digits[bytes[i] >> 4];
		lib->build_id[2 * i + 1] = digits[bytes[i] & 15];
	}
	lib->build_id[2 * i] = 0;
}

static void read_notes(struct image *image, const GElf_Phdr *segment)
{
	size_t offset = 0, name, description;
	Elf_Data *data;
	GElf_Nhdr note;

	if (segment->p_filesz > NOTES_MAX)
		return;
	data = elf_getdata_rawchunk(image->elf, segment->p_offset, segment->p_filesz,
				    segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	while (data && (offset = gelf_getnote(data, offset, &note, &name, &description)) > 0)
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp((char *)data->d_buf + name, "GNU", 4))
			build_id_print(image->lib, (uint8_t *)data->d_buf + description,
				       note.n_descsz);
}

/*
 * Of two symbols at one address, whether row a names it better than row b: sizes of 64 bits
 * before those of the 32-bit interface, then the name with fewer suffixes.
 */
static bool row_is_better(int a, int b)
{
	const struct cuda_symbol *x = &cuda_symbols[a], *y = &cuda_symbols[b];
	bool narrow_x = x->bytes.where == ARGUMENT_VALUE && x->bytes.size == 4;
	bool narrow_y = y->bytes.where == ARGUMENT_VALUE && y->bytes.size == 4;

	if (narrow_x != narrow_y)
		return narrow_y;
	return strlen(x->symbol) < strlen(y->symbol);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct cudalib_symbol *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->row == y->row)
		return 0;
	return row_is_better(x->row, y->row) ? -1 : 1;
}

static void symbols_unique(struct cudalib *lib)
{
	size_t kept = 0;

	if (!lib->count)
		return;
	qsort(lib->symbols, lib->count, sizeof(*lib->symbols), compare_symbols);
	for (size_t i = 1; i < lib->count; i++)
		if (lib->symbols[i].offset != lib->symbols[kept].offset)
			lib->symbols[++kept] = lib->symbols[i];
	lib->count = kept + 1;
}

static bool has_offset(const struct cudalib *lib, uint64_t offset)
{
	struct cudalib_symbol key = { .offset = offset };

	for (size_t i = 0; i < lib->count; i++)
		if (lib->symbols[i].offset == key.offset)
			return true;
	return false;
}

/* Price each probe; drop a symbol that is but a jump to another, where its calls count. */
static void symbols_classify(struct cudalib *lib)
{
	size_t kept = 0;

	for (size_t i = 0; i < lib->count; i++) {
		struct cudalib_symbol *symbol = &lib->symbols[i];
		uint8_t code[CODE_BYTES] = { 0 };
		ssize_t n = pread(lib->fd, code, sizeof(code), symbol->offset);
		uint64_t target = n > 0 ? instruction_jump(code, n, symbol->offset) : 0;

		if (target && target != symbol->offset && has_offset(lib, target))
			continue;
		symbol->instruction = n > 0 ? instruction_class(code, n) : 0;
		lib->symbols[kept++] = *symbol;
	}
	lib->count = kept;
}

static int examine_symbols(struct image *image)
{
	struct cudalib *lib = image->lib;
	int rc;

	find_device_code(image);
	rc = read_tables(image, SHT_DYNSYM);

	/*
	 * The static runtime's functions are local symbols, of a program or beside GPU code. Other
	 * libraries' symbol tables, which can be huge, are not worth the time.
	 */
	if (!rc && (image->executable || (!lib->count && (image->device_code || cudalib_name(lib->path))))) {
		size_t before = lib->count;

		rc = read_tables(image, SHT_SYMTAB);
		lib->from_symtab = lib->count > before;
	}
	if (rc)
		return rc;
	symbols_unique(lib);
	symbols_classify(lib);
	return 0;
}

static void refuse(struct cudalib *lib, const char *why)
{
	snprintf(lib->why_not, sizeof(lib->why_not), "%s", why);
}

/* Not a file to expect CUDA in, unless its name says so. */
static void refuse_named(struct cudalib *lib, const char *why)
{
	if (cudalib_name(lib->path))
		refuse(lib, why);
}

static void explain(struct image *image)
{
	struct cudalib *lib = image->lib;

	if (lib->count)
		return;
	if (image->resolver)
		refuse(lib, "its CUDA functions are indirect (chosen at load time)");
	else if (image->device_code && !image->imports)
		refuse(lib, "GPU code without CUDA symbols: a static runtime, stripped of its symbols");
	else
		refuse_named(lib, "no CUDA functions among its symbols");
}

static int examine_elf(struct image *image)
{
	GElf_Ehdr header;
	int rc;

	if (elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &header)) {
		refuse_named(image->lib, "not an ELF file");
		return 0;
	}
	if (header.e_machine != MACHINE || gelf_getclass(image->elf) != ELFCLASS64) {
		refuse_named(image->lib, "built for another kind of machine");
		return 0;
	}
	if (header.e_type != ET_DYN && header.e_type != ET_EXEC)
		return 0;
	image->executable = header.e_type == ET_EXEC;
	read_segments(image);
	rc = examine_symbols(image);
	if (rc)
		return rc;
	for (size_t i = 0; i < image->segment_count; i++)
		if (image->segments[i].p_type == PT_NOTE)
			read_notes(image, &image->segments[i]);
	explain(image);
	return 0;
}

static int examine_file(struct cudalib *lib, uint64_t size)
{
	struct image image = { .lib = lib, .size = size };
	int rc;

	elf_version(EV_CURRENT);
	/* Plain reads: a mapped file that shrinks raises SIGBUS. */
	image.elf = elf_begin(lib->fd, ELF_C_READ, NULL);
	if (!image.elf) {
		refuse_named(lib, "not an ELF file");
		return 0;
	}
	rc = examine_elf(&image);
	elf_end(image.elf);
	return rc;
}

static void cudalib_free(struct cudalib *lib)
{
	if (!lib)
		return;
	if (lib->fd >= 0)
		close(lib->fd);
	free(lib->symbols);
	free(lib->path);
	free(lib);
}

static int set_add(struct cudalib_set *set, struct cudalib *lib)
{
	if (set->count == set->room) {
		size_t room = set->room ? 2 * set->room : 64;
		struct cudalib **files = reallocarray(set->files, room, sizeof(*files));

		if (!files)
			return ERROR_MEMORY;
		set->files = files;
		set->room = room;
	}
	set->files[set->count++] = lib;
	return 0;
}

static struct cudalib *cudalib_new(int fd, const struct stat *st, const char *path)
{
	struct cudalib *lib = calloc(1, sizeof(*lib));

	if (!lib)
		return NULL;
	lib->fd = fd;
	lib->dev = st->st_dev;
	lib->inode = st->st_ino;
	lib->changed = changed_ns(st);
	lib->path = strdup(path);
	if (lib->path)
		return lib;
	free(lib);
	return NULL;
}

static int open_regular(const char *path, struct stat *st, struct error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return error_system(e, "cannot open \"%s\"", path);
	if (!fstat(fd, st) && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return error_set(e, ERROR_SYSTEM, "\"%s\" is not a regular file", path);
}

int cudalib_examine(struct cudalib_set *set, const char *open_path, const char *shown,
		    struct cudalib **out, bool *fresh, struct error *e)
{
	struct cudalib *lib;
	struct stat st;
	int fd = open_regular(open_path, &st, e), rc;

	if (fd < 0)
		return fd;
	*out = cudalib_find(set, st.st_dev, st.st_ino, changed_ns(&st));
	if (fresh)
		*fresh = !*out;
	if (*out)
		return close(fd), 0;
	lib = cudalib_new(fd, &st, shown ? shown : open_path);
	if (!lib) {
		close(fd);
		return error_set(e, ERROR_MEMORY, "out of memory");
	}
	rc = examine_file(lib, st.st_size);
	if (!rc)
		rc = set_add(set, lib);
	if (rc) {
		cudalib_free(lib);
		return error_set(e, rc, "out of memory");
	}
	if (!lib->count) {
		close(lib->fd);
		lib->fd = -1;
	}
	*out = lib;
	return 0;
}

void cudalib_set_release(struct cudalib_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		cudalib_free(set->files[i]);
	free(set->files);
	memset(set, 0, sizeof(*set));
}
