// SPDX-License-Identifier: BSD-2-Clause
#include "view.h"
#include "view_text.h"

/* The document of --json; format-spec/report.md describes it. Raise it when a name changes. */
#define SCHEMA_VERSION 1

const struct view views[] = {
	{ NULL, NULL, false, "one screen about the whole recording",
	  view_summary, NULL, view_document },
	{ "per-process", NULL, false, "print a section for each process",
	  view_processes, view_process_tables, NULL },
	{ "threads", NULL, false, "print a line for each thread", NULL, view_thread_tables, NULL },
	{ "tree", NULL, false, "print the process tree: lifetimes, roles, exit codes",
	  NULL, view_tree_tables, NULL },
	{ "ops", NULL, false, "print all CUDA operations", NULL, view_operation_tables, NULL },
	{ "op-detail", "OP", false,
	  "print one operation by process, size, kind and stream, and its slowest calls",
	  NULL, view_detail_tables, NULL },
	{ "errors", NULL, false, "print failed CUDA calls by code", NULL, view_error_tables, NULL },
	{ "open", NULL, false, "print CUDA calls that never returned",
	  NULL, view_open_tables, NULL },
	{ "chains", NULL, false, "print all cause-to-effect chains, and what is behind them",
	  view_chains, NULL, view_json_chains },
	{ "waits", NULL, false, "print who waited for whom", NULL, view_wait_tables, NULL },
	{ "timeline", "STEP", true, "print a line for each second, or STEP (100ms)",
	  NULL, view_timeline_tables, NULL },
	{ "memory", "STEP", true, "print page allocations over time by process",
	  NULL, view_memory_tables, NULL },
	{ "losses", NULL, false, "print what was lost, by source and second",
	  NULL, view_loss_tables, NULL },
	{ "info", NULL, false, "print what the file says of itself",
	  view_info, NULL, view_json_info },
	{ NULL, NULL, false, NULL, NULL, NULL, NULL },
};

void view_document_begin(struct json *j, const struct page *out)
{
	json_init(j, out->file);
	json_object(j, NULL);
	json_uint(j, "schema_version", SCHEMA_VERSION);
}

static void put_text(const struct report *r, const struct listing_set *set, const struct page *out)
{
	print_completeness(r, out);
	for (size_t i = 0; i < set->count; i++)
		listing_print(&set->tables[i], out);
}

static void put_json(const struct listing_set *set, const struct page *out)
{
	struct json j;

	view_document_begin(&j, out);
	for (size_t i = 0; i < set->count; i++)
		listing_json(&set->tables[i], &j);
	json_object_end(&j);
}

static int show_tables(const struct view *v, const char *argument, enum view_format format,
		       struct report *r, const struct page *out, struct error *e)
{
	struct listing_set set = { .count = 0 };
	int ret = v->tables(r, argument, &set, e);

	if (!ret)
		ret = listing_set_order(&set, &r->order_by, e);
	if (!ret && format == VIEW_CSV)
		listing_csv(&set.tables[0], out);
	else if (!ret && format == VIEW_JSON)
		put_json(&set, out);
	else if (!ret)
		put_text(r, &set, out);
	listing_set_release(&set);
	return ret;
}

/* A view with text of its own: whether its tables have the column asked for. */
static int check_order(const struct view *v, const char *argument, struct report *r,
		       struct error *e)
{
	struct listing_set set = { .count = 0 };
	int ret = 0;

	if (r->order_by.column && v->tables)
		ret = v->tables(r, argument, &set, e);
	if (r->order_by.column && !v->name) {	/* the default one shows the tables of two others */
		ret = view_operation_tables(r, NULL, &set, e);
		ret = ret ? ret : view_process_tables(r, NULL, &set, e);
	}
	if (!ret && set.count)
		ret = listing_set_order(&set, &r->order_by, e);
	listing_set_release(&set);
	return ret;
}

int view_show(const struct view *v, const char *argument, enum view_format format,
	      struct report *r, const struct page *out, struct error *e)
{
	struct json j;

	if (format == VIEW_CSV || (format == VIEW_JSON && !v->json) ||
	    (format == VIEW_TEXT && !v->text))
		return show_tables(v, argument, format, r, out, e);
	if (format == VIEW_TEXT) {
		int ret = check_order(v, argument, r, e);

		if (!ret)
			v->text(r, out);
		return ret;
	}
	view_document_begin(&j, out);
	v->json(r, &j);
	json_object_end(&j);
	return 0;
}
