// SPDX-License-Identifier: BSD-2-Clause
/* Prints the tables of an .ing file from the schema inside it, or checks the whole file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/options.h"
#include "common/reader.h"
#include "common/verify.h"

enum exit_status {
	EXIT_OK = 0, EXIT_OTHER = 1, EXIT_USAGE = 2, EXIT_UNREADABLE = 3, EXIT_VERSION = 4,
	EXIT_DAMAGED = 5,
};

struct dump {
	bool csv, tables, verify;
	const char *table;
	struct reader *r;
};

static int status_of(int error)
{
	switch (error) {
	case ERROR_USAGE:
		return EXIT_USAGE;
	case ERROR_VERSION:
		return EXIT_VERSION;
	case ERROR_DAMAGED:
	case ERROR_LIMIT:
		return EXIT_DAMAGED;
	case ERROR_NOT_OURS:
	case ERROR_SYSTEM:
		return EXIT_UNREADABLE;
	default:
		return EXIT_OTHER;
	}
}

/* ---- values ---- */

/* A string as one CSV field, quoted where it has to be. */
static void put_csv_text(const char *s, size_t length)
{
	if (!memchr(s, '"', length) && !memchr(s, ',', length) && !memchr(s, '\n', length) &&
	    !memchr(s, '\r', length)) {
		fwrite(s, 1, length, stdout);
		return;
	}
	putchar_unlocked('"');
	for (size_t i = 0; i < length; i++) {
		if (s[i] == '"')
			putchar_unlocked('"');
		putchar_unlocked(s[i]);
	}
	putchar_unlocked('"');
}

/* For people: control characters must not reach the terminal. */
static void put_plain_text(const char *s, size_t length, int width)
{
	int used = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)s[i];

		used += c < 0x20 || c == 0x7f ? printf("\\x%02x", c) : (putchar_unlocked(c), 1);
	}
	for (; used < width; used++)
		putchar_unlocked(' ');
}

static void put_digits(uint64_t value, bool negative, int width)
{
	char digits[24];
	int at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	if (negative)
		digits[--at] = '-';
	for (int pad = width - ((int)sizeof(digits) - at); pad > 0; pad--)
		putchar_unlocked(' ');
	fwrite(digits + at, 1, sizeof(digits) - (size_t)at, stdout);
}

static int width_of(const struct schema_column *c)
{
	int name = (int)strlen(c->name), least;

	switch (c->type) {
	case TYPE_TIME:
		least = 18;
		break;
	case TYPE_DURATION:
	case TYPE_SIZE:
		least = 12;
		break;
	case TYPE_STRING:
		least = 16;
		break;
	default:
		least = 8;
	}
	return name > least ? name : least;
}

/* text is what is left of the block's text; the value's share of it is taken. */
static void put_value(const struct dump *d, const struct schema_column *c, uint64_t value,
		      const char **text)
{
	int width = d->csv ? 0 : width_of(c);
	const char *s = c->type == TYPE_TEXT ? *text : NULL;
	size_t length = value;

	switch (c->type) {
	case TYPE_TEXT:
	case TYPE_STRING:
		if (c->type == TYPE_TEXT) {
			*text += s ? length : 0;
		} else {
			s = reader_string(d->r, value);
			length = strlen(s);
		}
		if (d->csv)
			put_csv_text(s ? s : "", s ? length : 0);
		else
			put_plain_text(s ? s : "", s ? length : 0, width);
		break;
	case TYPE_HEX:
		printf("%#*" PRIx64, width, value);
		break;
	case TYPE_INT:
		put_digits((int64_t)value < 0 ? -value : value, (int64_t)value < 0, width);
		break;
	default:
		put_digits(value, false, width);
	}
}

/* ---- tables ---- */

static void print_header(const struct dump *d, const struct schema_table *t)
{
	const char *between = d->csv ? "," : " ";

	if (t->scope == SCOPE_CPU)
		printf("%*s", d->csv ? 0 : 10, "cpu_stream");
	for (unsigned int i = 0; i < t->ncolumns; i++) {
		bool left = t->column[i].type == TYPE_STRING || t->column[i].type == TYPE_TEXT;
		int width = d->csv ? 0 : width_of(&t->column[i]);

		if (i || t->scope == SCOPE_CPU)
			fputs(between, stdout);
		printf("%*s", left ? -width : width, t->column[i].name);
	}
	putchar_unlocked('\n');
}

/* A column whose encoding is not known stays empty. */
static void put_missing(const struct dump *d, const struct schema_column *c)
{
	printf("%*s", d->csv ? 0 : width_of(c), "");
}

static void print_rows(const struct dump *d, const struct schema_table *t, uint32_t cpu,
		       const struct columns *c)
{
	const char *text = c->text;

	for (uint32_t row = 0; row < c->rows; row++) {
		if (t->scope == SCOPE_CPU)
			put_digits(cpu, false, d->csv ? 0 : 10);
		for (unsigned int i = 0; i < t->ncolumns; i++) {
			if (i || t->scope == SCOPE_CPU)
				putchar_unlocked(d->csv ? ',' : ' ');
			if (c->present >> i & 1)
				put_value(d, &t->column[i], c->col[i][row], &text);
			else
				put_missing(d, &t->column[i]);
		}
		putchar_unlocked('\n');
	}
}

static const struct schema_table *find_table(const struct dump *d, struct error *e)
{
	for (size_t i = 0; i < reader_tables(d->r); i++)
		if (!strcmp(reader_table(d->r, i)->name, d->table))
			return reader_table(d->r, i);
	error_set(e, ERROR_USAGE, "the file has no table \"%s\"", d->table);
	error_hint(e, "--tables lists those it has");
	return NULL;
}

static int print_table(const struct dump *d, struct error *e)
{
	const struct schema_table *t = find_table(d, e);
	struct columns c = { 0 };
	int status = EXIT_OK;
	bool missing = false;

	if (!t) {
		log_failure(e);
		return EXIT_USAGE;
	}
	print_header(d, t);
	for (size_t i = 0; i < reader_blocks(d->r); i++) {
		const struct block_info *info = reader_block(d->r, i);

		if (info->table != t->id)
			continue;
		if (reader_load_raw(d->r, i, &c, e)) {
			log_failure(e);
			status = status_of(e->code);
		} else {
			print_rows(d, t, info->cpu, &c);
			missing |= (uint32_t)__builtin_popcountll(c.present) < t->ncolumns;
		}
	}
	columns_release(&c);
	if (missing)
		log_warning("columns in encodings this program does not know are left empty");
	return status;
}

static const char *type_name(uint8_t type)
{
	static const char *const names[] = {
		[TYPE_TIME] = "time (ns)", [TYPE_DURATION] = "duration (ns)",
		[TYPE_UINT] = "unsigned", [TYPE_INT] = "signed", [TYPE_HEX] = "hexadecimal",
		[TYPE_STRING] = "string", [TYPE_SIZE] = "size (bytes)", [TYPE_TEXT] = "text",
	};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "unknown";
}

static void print_schema(const struct dump *d)
{
	for (size_t i = 0; i < reader_tables(d->r); i++) {
		const struct schema_table *t = reader_table(d->r, i);

		printf("%u %s%s\n", t->id, t->name, t->scope == SCOPE_CPU ? ", per CPU" : "");
		for (unsigned int k = 0; k < t->ncolumns; k++)
			printf("  %3u %-18s %s\n", t->column[k].id, t->column[k].name,
			       type_name(t->column[k].type));
	}
}

/* ---- summary ---- */

static void print_line(const char *name, uint64_t rows, uint64_t blocks, uint64_t bytes)
{
	printf("%-12s %12" PRIu64 " %9" PRIu64 " %14" PRIu64, name, rows, blocks, bytes);
	if (rows)
		printf(" %9.2f", (double)bytes / (double)rows);
	putchar_unlocked('\n');
}

static void print_summary(const struct dump *d)
{
	const struct reader_info *info = reader_info(d->r);

	printf("format %u.%u, %" PRIu64 " bytes, %s\n", info->major, info->minor, info->size,
	       info->closed ? "closed cleanly" : "not closed cleanly");
	printf("%-12s %12s %9s %14s %9s\n", "table", "rows", "blocks", "bytes", "bytes/row");
	for (size_t t = 0; t < reader_tables(d->r); t++) {
		const struct schema_table *table = reader_table(d->r, t);
		uint64_t rows = 0, blocks = 0, bytes = 0;

		for (size_t i = 0; i < reader_blocks(d->r); i++) {
			const struct block_info *b = reader_block(d->r, i);

			if (b->table == table->id) {
				rows += b->rows;
				bytes += b->size;
				blocks++;
			}
		}
		print_line(table->name, rows, blocks, bytes);
	}
	if (info->unknown_blocks)
		printf("%" PRIu64 " block%s of tables or encodings this program does not know\n",
		       info->unknown_blocks, info->unknown_blocks == 1 ? "" : "s");
	for (size_t i = 0; i < info->damage_count; i++)
		log_warning("offset %" PRIu64 ", %" PRIu64 " byte%s: %s", info->damage[i].offset,
			    info->damage[i].size, info->damage[i].size == 1 ? "" : "s",
			    info->damage[i].text);
}

/* ---- verify ---- */

static void say(void *arg, enum verify_kind kind, const char *line)
{
	static const char *const words[] = {
		[VERIFY_NOTE] = "note", [VERIFY_DAMAGED] = "damaged",
		[VERIFY_INCONSISTENT] = "inconsistent",
	};

	(void)arg;
	printf("%s: %s\n", words[kind], line);
}

static int verify(const struct dump *d)
{
	int found = verify_file(d->r, say, NULL);

	if (found < 0) {
		log_error("out of memory");
		return EXIT_OTHER;
	}
	if (found) {
		printf("%d fault%s\n", found, found == 1 ? "" : "s");
		return EXIT_DAMAGED;
	}
	printf("ok: %zu block%s\n", reader_blocks(d->r), reader_blocks(d->r) == 1 ? "" : "s");
	return EXIT_OK;
}

static int run(struct dump *d, const char *path)
{
	struct error e;
	int err = reader_open(&d->r, path, &e), status = EXIT_OK;

	if (err) {
		log_failure(&e);
		return status_of(err);
	}
	if (d->verify)
		status = verify(d);
	else if (d->table)
		status = print_table(d, &e);
	else if (d->tables)
		print_schema(d);
	else
		print_summary(d);
	reader_close(d->r);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write to standard output");
		return EXIT_OTHER;
	}
	return status;
}

/* ---- command line ---- */

static const struct option_usage usage = {
	.program = "ing-dump",
	.synopsis = "[options] FILE",
	.summary = "print the tables of a recording, or verify it; without options, list them",
	.footer = "exit status: 0 fine, 1 cannot print, 2 usage, 3 unreadable or not an .ing file,\n"
		  "4 newer version, 5 damaged or inconsistent",
};

static int answer(int request, const struct option_row *rows)
{
	char *text = options_answer(request, &usage, rows);

	fputs(text ? text : "", stdout);
	free(text);
	return text ? EXIT_OK : EXIT_OTHER;
}

static int check_options(const struct dump *d, int operands, struct error *e)
{
	if ((d->verify && (d->table || d->tables)) || (d->table && d->tables))
		return error_set(e, ERROR_USAGE,
				 "only one of --table, --tables and --verify can be given");
	if (d->csv && !d->table)
		return error_set(e, ERROR_USAGE, "--csv needs --table NAME");
	if (operands != 1)
		return error_set(e, ERROR_USAGE, operands ? "more than one file was given" :
							    "no file was given");
	return 0;
}

int main(int argc, char **argv)
{
	struct dump d = { 0 };
	const struct option_row rows[] = {
		{ "table", 't', OPTION_STRING, &d.table, "NAME", "print the rows of this table", 0, 0 },
		{ "csv", 'c', OPTION_FLAG, &d.csv, NULL, "with --table: as CSV", 0, 0 },
		{ "tables", 'T', OPTION_FLAG, &d.tables, NULL,
		  "print the schema inside the file: tables and their columns", 0, 0 },
		{ "verify", 0, OPTION_FLAG, &d.verify, NULL, "check every checksum and invariant", 0, 0 },
		{ "help", 'h', OPTION_HELP, NULL, NULL, "print this and exit", 0, 0 },
		{ "version", 'V', OPTION_VERSION, NULL, NULL, "print the version and exit", 0, 0 },
		{ 0 },
	};
	struct error e;
	int first, err;

	log_init("ing-dump", LOG_LEVEL_NOTICE);
	err = options_parse(rows, argc, argv, false, &first, &e);
	if (err > 0)
		return answer(err, rows);
	if (!err)
		err = check_options(&d, argc - first, &e);
	if (err) {
		log_failure(&e);
		return EXIT_USAGE;
	}
	return run(&d, argv[first]);
}
