// SPDX-License-Identifier: BSD-2-Clause
/* Trees laid out as pip, conda, wheels and launchers do, and what the loader really loaded here. */
#include "record/discover.h"
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "record/loader.h"

static char top[PATH_MAX];

/* Make the folders and the file of TOP/path; the content is of no account. */
static void make(const char *path, const char *content, mode_t mode)
{
	char whole[PATH_MAX + 256];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", top, path);
	for (char *slash = strchr(whole + strlen(top) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(whole, 0755);
		*slash = '/';
	}
	f = fopen(whole, "we");
	CHECK(f && fputs(content, f) >= 0 && !fclose(f) && !chmod(whole, mode));
}

static void set(const char *name, const char *value, const char *below)
{
	char text[2 * PATH_MAX];

	snprintf(text, sizeof(text), "%s%s", value, below);
	setenv(name, text, 1);
}

/* Whether a file whose name ends so is among what is found for the command line. */
static bool found(const char *end, char *const argv[])
{
	struct cudalib_set files = { 0 };
	bool hit = false;

	CHECK(!discover(&files, argv, top, NULL));
	for (size_t i = 0; i < files.count; i++) {
		size_t length = strlen(files.files[i]->path);

		hit |= length >= strlen(end) &&
		       !strcmp(files.files[i]->path + length - strlen(end), end);
	}
	cudalib_set_release(&files);
	return hit;
}

static bool found_for(const char *end, const char *command)
{
	char *argv[] = { (char *)command, NULL };

	return found(end, argv);
}

static void test_python(void)
{
	static const char runtime[] = "site-packages/nvidia/cuda_runtime/lib/libcudart.so.12";
	static const char renamed[] = "site-packages/torch/lib/libcudart-d0da41ae.so.11.0";
	char command[PATH_MAX + 64], script[PATH_MAX + 128];

	make("venv/lib/python3.11/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12", "1", 0644);
	make("venv/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12", "1", 0644);
	make("venv/lib/python3.11/site-packages/torch/lib/libcudart-d0da41ae.so.11.0", "2", 0644);
	make("venv/lib/python3.11/site-packages/some.libs/libcudart-1.so.12", "3", 0644);
	make(".local/lib/python3.11/site-packages/nvidia/cu13/lib/libcudart.so.13", "4", 0644);
	make("venv/bin/python3", "\177ELF not really", 0755);
	snprintf(command, sizeof(command), "%s/venv/bin/python3", top);
	CHECK(found_for(runtime, command) && found_for(renamed, command));
	CHECK(found_for("some.libs/libcudart-1.so.12", command));
	CHECK(found_for(".local/lib/python3.11/site-packages/nvidia/cu13/lib/libcudart.so.13", command));
	CHECK(!found_for("libcublas.so.12", command));
	/* A script of that interpreter, directly and through env. */
	snprintf(script, sizeof(script), "#!%s\n", command);
	make("torchrun", script, 0755);
	snprintf(command, sizeof(command), "%s/torchrun", top);
	CHECK(found_for(runtime, command));
	set("PATH", top, "/venv/bin:/usr/bin:/bin");
	make("torchrun", "#!/usr/bin/env -S python3 -u\n", 0755);
	CHECK(found_for(runtime, command));
	CHECK(found(runtime, (char *[]){ "nice", "-n", "5", "python3", "train.py", NULL }));
	CHECK(!found(runtime, (char *[]){ "true", NULL }));
}

static void test_loops(void)
{
	char command[PATH_MAX + 64], script[PATH_MAX + 128];

	snprintf(script, sizeof(script), "#!%s/loop\n", top);
	make("loop", script, 0755);
	snprintf(command, sizeof(command), "%s/loop", top);
	CHECK(!found_for("loop", command));	/* and it ends */
	make("empty", "", 0755);
	snprintf(command, sizeof(command), "%s/empty", top);
	CHECK(found_for("/empty", command));
	CHECK(!found_for("missing", "missing"));
}

static void test_variables(void)
{
	make("ldpath/libcudart.so.13", "5", 0644);
	make("ldpath/libcuda.so.1", "6", 0644);
	make("home/lib64/libcudart.so.13", "7", 0644);
	make("conda/lib/libcudart.so.12", "8", 0644);
	make("preload/any-name.so", "9", 0644);
	CHECK(!found_for("/ldpath/libcuda.so.1", "true"));
	set("LD_LIBRARY_PATH", "/nonexistent:", top);
	set("LD_LIBRARY_PATH", getenv("LD_LIBRARY_PATH"), "/ldpath:");
	CHECK(found_for("/ldpath/libcuda.so.1", "true"));
	CHECK(found_for("/ldpath/libcudart.so.13", "true"));
	set("CUDA_HOME", top, "/home");
	CHECK(found_for("/home/lib64/libcudart.so.13", "true"));
	set("CONDA_PREFIX", top, "/conda");
	CHECK(found_for("/conda/lib/libcudart.so.12", "true"));
	set("LD_PRELOAD", top, "/preload/any-name.so");
	CHECK(found_for("/preload/any-name.so", "true"));
	unsetenv("LD_PRELOAD");
	unsetenv("LD_LIBRARY_PATH");
}

static void test_command(void)
{
	char *path = discover_command("sh"), here[PATH_MAX + 64];

	CHECK(path && path[0] == '/' && !strcmp(strrchr(path, '/'), "/sh"));
	free(path);
	CHECK(!discover_command("") && !discover_command("/") && !discover_command("/etc/passwd"));
	CHECK(!discover_command("no-such-command"));
	make("here/tool", "", 0755);
	make("other/tool", "", 0644);		/* not executable: passed over */
	set("PATH", top, "/other:");
	set("PATH", getenv("PATH"), top);
	set("PATH", getenv("PATH"), "/here");
	path = discover_command("tool");
	snprintf(here, sizeof(here), "%s/here/tool", top);
	CHECK(path && !strcmp(path, here));
	free(path);
}

/* What loader_needed() names, as real paths. */
struct names {
	char *name[256];
	size_t count;
};

static int collect(void *context, const char *path)
{
	struct names *names = context;

	if (names->count < 256)
		names->name[names->count++] = realpath(path, NULL);
	return 0;
}

static int check_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct names *names = context;
	char *real = *info->dlpi_name ? realpath(info->dlpi_name, NULL) : NULL;
	bool hit = false;

	(void)size;
	for (size_t i = 0; real && i < names->count; i++)
		hit |= names->name[i] && !strcmp(names->name[i], real);
	/* This program itself, the vDSO and the loader are nobody's needs. */
	CHECK(!real || hit || strstr(real, "/ld-linux"));
	free(real);
	return 0;
}

/* The libraries this very program has loaded are those it is found to need. */
static void test_needed(void)
{
	struct names names = { .count = 0 };
	struct loader *l = NULL;

	CHECK(!loader_open(&l, NULL));
	CHECK(!loader_needed(l, "/proc/self/exe", collect, &names));
	CHECK(names.count > 0);
	CHECK(!loader_needed(l, "/etc/passwd", collect, &names));
	dl_iterate_phdr(check_loaded, &names);
	for (size_t i = 0; i < names.count; i++)
		free(names.name[i]);
	loader_close(l);
	loader_close(NULL);
}

static void test_split(void)
{
	const char *list = ":a::bc;d";
	char word[3];

	CHECK(loader_split(&list, ":;", word, sizeof(word)) && !strcmp(word, "a"));
	CHECK(loader_split(&list, ":;", word, sizeof(word)) && !strcmp(word, "bc"));
	CHECK(loader_split(&list, ":;", word, sizeof(word)) && !strcmp(word, "d"));
	CHECK(!loader_split(&list, ":;", word, sizeof(word)));
	list = "long:ok";			/* a word without room is left out */
	CHECK(loader_split(&list, ":", word, sizeof(word)) && !strcmp(word, "ok"));
	list = NULL;
	CHECK(!loader_split(&list, ":", word, sizeof(word)));
}

int main(void)
{
	static const char *const variables[] = {
		"LD_PRELOAD", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV", "PYTHONPATH",
		"PYTHONHOME", "PYTHONUSERBASE",
	};
	char directory[] = "/tmp/test-discover-XXXXXX", command[PATH_MAX + 64];

	if (!mkdtemp(directory) || !realpath(directory, top))
		return 1;
	test_needed();		/* before the environment it was loaded with is changed */
	unsetenv("LD_LIBRARY_PATH");
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	test_split();
	test_python();
	test_loops();
	test_variables();
	test_command();
	snprintf(command, sizeof(command), "/bin/rm -rf '%s'", top);
	CHECK(!system(command));
	return check_result();
}
