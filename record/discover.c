// SPDX-License-Identifier: BSD-2-Clause
#include "discover.h"
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "loader.h"

#define SCRIPT_DEPTH 4			/* interpreters that are scripts themselves */
#define SCRIPT_LINE 512
#define WORDS_MAX 32			/* of the command line that are looked at */

struct discovery {
	struct cudalib_set *set;
	struct loader *loader;
	const char *home;
	struct error *e;
};

static const char *const toolkit_patterns[] = {
	"/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/opt/cuda/lib64",
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
	"/usr/lib/*/nvidia/current", "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64",
};

/* Below an interpreter's prefix. */
static const char *const site_patterns[] = {
	"lib/python3*/site-packages", "lib64/python3*/site-packages",
	"lib/python3*/dist-packages", "local/lib/python3*/dist-packages",
};

/* Below a directory of Python packages. */
static const char *const package_patterns[] = {
	"nvidia/*/lib", "torch/lib", "*.libs",
};

static int examine(struct discovery *d, const char *path)
{
	struct cudalib *lib;
	int rc = cudalib_examine(d->set, path, NULL, &lib, NULL, d->e);

	return rc == ERROR_MEMORY ? rc : 0;
}

/* Libraries a program needs: those named like CUDA's. */
static int found_needed(void *context, const char *path)
{
	return cudalib_name(path) ? examine(context, path) : 0;
}

static int found_any(void *context, const char *path)
{
	return examine(context, path);
}

static int in_directory(struct discovery *d, const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char path[PATH_MAX];
	int rc = 0;

	while (dir && !rc && (entry = readdir(dir)))
		if (cudalib_name(entry->d_name) &&
		    snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) < (int)sizeof(path))
			rc = examine(d, path);
	if (dir)
		closedir(dir);
	return rc;
}

static int in_pattern(struct discovery *d, int (*each)(struct discovery *, const char *),
		      const char *prefix, const char *pattern)
{
	glob_t matches;
	char *whole;
	int rc = 0;

	if (asprintf(&whole, "%s%s%s", prefix, *prefix ? "/" : "", pattern) < 0)
		return error_set(d->e, ERROR_MEMORY, "out of memory");
	if (!glob(whole, GLOB_NOSORT, NULL, &matches)) {
		for (size_t i = 0; !rc && i < matches.gl_pathc; i++)
			rc = each(d, matches.gl_pathv[i]);
		globfree(&matches);
	}
	free(whole);
	return rc;
}

static int in_list(struct discovery *d, int (*each)(struct discovery *, const char *),
		   const char *list, const char *separators)
{
	char word[PATH_MAX];
	int rc = 0;

	while (!rc && loader_split(&list, separators, word, sizeof(word)))
		rc = each(d, word);
	return rc;
}

/* A directory of Python packages. */
static int in_site(struct discovery *d, const char *site)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(package_patterns) / sizeof(package_patterns[0]); i++)
		rc = in_pattern(d, in_directory, site, package_patterns[i]);
	return rc;
}

/* What an interpreter, a virtual environment or a conda environment was installed under. */
static int in_prefix(struct discovery *d, const char *prefix)
{
	int rc = in_pattern(d, in_directory, prefix, "lib");

	for (size_t i = 0; !rc && i < sizeof(site_patterns) / sizeof(site_patterns[0]); i++)
		rc = in_pattern(d, in_site, prefix, site_patterns[i]);
	return rc;
}

static int in_variable(struct discovery *d, int (*each)(struct discovery *, const char *),
		       const char *name, const char *below)
{
	const char *value = getenv(name);
	char path[PATH_MAX];

	if (!value || !*value || snprintf(path, sizeof(path), "%s%s", value, below) >= (int)sizeof(path))
		return 0;
	return each(d, path);
}

static int in_toolkits(struct discovery *d)
{
	int rc = in_variable(d, in_directory, "CUDA_HOME", "/lib64");

	if (!rc)
		rc = in_variable(d, in_directory, "CUDA_HOME", "/lib");
	if (!rc)
		rc = in_variable(d, in_directory, "CUDA_PATH", "/lib64");
	if (!rc)
		rc = in_variable(d, in_directory, "CUDA_PATH", "/lib");
	for (size_t i = 0; !rc && i < sizeof(toolkit_patterns) / sizeof(toolkit_patterns[0]); i++)
		rc = in_pattern(d, in_directory, "", toolkit_patterns[i]);
	return rc;
}

/* Directory of path, times levels up; false when there is none. */
static bool parent(const char *path, int levels, char *out, size_t size)
{
	char *slash;

	if (snprintf(out, size, "%s", path) >= (int)size)
		return false;
	while (levels--) {
		slash = strrchr(out, '/');
		if (!slash)
			return false;
		*slash = 0;
	}
	return true;
}

/* A virtual environment's interpreter is a link: its name and its target have a prefix each. */
static int in_python(struct discovery *d, const char *path)
{
	char prefix[PATH_MAX], target[PATH_MAX];
	int rc = parent(path, 2, prefix, sizeof(prefix)) ? in_prefix(d, prefix) : 0;

	if (!rc && realpath(path, target) && parent(target, 2, prefix, sizeof(prefix)))
		rc = in_prefix(d, prefix);
	if (!rc)
		rc = in_variable(d, in_prefix, "VIRTUAL_ENV", "");
	if (!rc)
		rc = in_variable(d, in_prefix, "PYTHONHOME", "");
	if (!rc)
		rc = in_variable(d, in_prefix, "PYTHONUSERBASE", "");
	if (!rc)
		rc = in_list(d, in_site, getenv("PYTHONPATH"), ":");
	if (!rc && d->home && snprintf(prefix, sizeof(prefix), "%s/.local", d->home) < (int)sizeof(prefix))
		rc = in_prefix(d, prefix);
	return rc;
}

static bool is_python(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "python", 6) ||
	       !strncmp(slash ? slash + 1 : path, "pypy", 4);
}

/* The words after "#!", or false for what is no script. */
static bool script_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, line, size - 1);
	close(fd);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
	memmove(line, line + 2, strlen(line + 2) + 1);
	return true;
}

/* pyenv puts a script in the interpreter's place; the interpreters are beside its directory. */
static int in_shim(struct discovery *d, const char *path)
{
	char directory[PATH_MAX];

	if (!parent(path, 2, directory, sizeof(directory)))
		return 0;
	return in_pattern(d, in_prefix, directory, "versions/*");
}

static int in_program(struct discovery *d, const char *path, int depth);

/* Every word of the line that is a program: the interpreter, and what env is to run. */
static int in_script(struct discovery *d, const char *line, int depth)
{
	char word[SCRIPT_LINE];
	int rc = 0;

	while (!rc && loader_split(&line, " \t", word, sizeof(word))) {
		char *path = discover_command(word);

		if (path)
			rc = in_program(d, path, depth + 1);
		free(path);
	}
	return rc;
}

static int in_program(struct discovery *d, const char *path, int depth)
{
	char line[SCRIPT_LINE];
	int rc;

	if (script_line(path, line, sizeof(line))) {
		rc = is_python(path) ? in_shim(d, path) : 0;
		return rc || depth >= SCRIPT_DEPTH ? rc : in_script(d, line, depth);
	}
	rc = examine(d, path);
	if (!rc)
		rc = loader_needed(d->loader, path, found_needed, d);
	if (!rc && is_python(path))
		rc = in_python(d, path);
	return rc;
}

/* The command, and for launchers the programs among its arguments. */
static int in_command_line(struct discovery *d, char *const argv[])
{
	int rc = 0;

	for (int i = 0; !rc && argv[i] && i < WORDS_MAX; i++) {
		char *path = argv[i][0] == '-' ? NULL : discover_command(argv[i]);

		if (path)
			rc = in_program(d, path, 0);
		free(path);
	}
	return rc;
}

int discover(struct cudalib_set *set, char *const argv[], const char *home, struct error *e)
{
	struct discovery d = { .set = set, .home = home ? home : getenv("HOME"), .e = e };
	int rc = loader_open(&d.loader, e);

	if (rc)
		return rc;
	rc = in_list(&d, examine, getenv("LD_PRELOAD"), ": ");
	if (!rc)
		rc = in_command_line(&d, argv);
	if (!rc)
		rc = in_list(&d, in_directory, getenv("LD_LIBRARY_PATH"), ":;");
	if (!rc)
		rc = loader_cached(d.loader, cudalib_name, found_any, &d);
	if (!rc)
		rc = in_variable(&d, in_prefix, "CONDA_PREFIX", "");
	if (!rc)
		rc = in_toolkits(&d);
	loader_close(d.loader);
	return rc;
}

static char *executable(const char *directory, const char *name)
{
	struct stat st;
	char *path;

	if (asprintf(&path, "%s%s%s", directory, *directory ? "/" : "", name) < 0)
		return NULL;
	if (!stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK))
		return path;
	free(path);
	return NULL;
}

char *discover_command(const char *command)
{
	const char *list = getenv("PATH");
	char *path = NULL;

	if (!*command)
		return NULL;
	if (strchr(command, '/'))
		return executable("", command);
	if (!list)
		list = "/bin:/usr/bin";
	/* An empty element is the current directory: loader_split() would drop it. */
	for (const char *next; !path; list = next + 1) {
		char directory[PATH_MAX];
		size_t length;

		next = strchrnul(list, ':');
		length = next - list;
		if (length < sizeof(directory)) {
			memcpy(directory, list, length);
			directory[length] = 0;
			path = executable(length ? directory : ".", command);
		}
		if (!*next)
			break;
	}
	return path;
}
