// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fmt.h"
#include "terminal.h"

#define PAGE_WIDTH_MAX 1000
#define PAGER_WORDS 16
#define BUFFER_SIZE 65536

/* The pager answers to these; this program waits for it. */
static const int pager_signals[TERMINAL_SIGNALS] = { SIGPIPE, SIGINT, SIGQUIT };

/* ---- the environment ---- */

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool is_dumb(void)
{
	const char *term = variable("TERM");

	return !term || !strcmp(term, "dumb");
}

static bool is_utf8(void)
{
	const char *name = variable("LC_ALL");

	name = name ? name : variable("LC_CTYPE");
	name = name ? name : variable("LANG");
	name = name ? strchr(name, '.') : NULL;
	return name && (!strncasecmp(name, ".UTF-8", 6) || !strncasecmp(name, ".UTF8", 5));
}

static size_t terminal_width(void)
{
	struct winsize size;
	const char *columns = variable("COLUMNS");
	unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;

	if (!width && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		width = size.ws_col;
	if (!width)
		return PAGE_WIDTH;
	if (width < PAGE_WIDTH_MIN)
		return PAGE_WIDTH_MIN;
	return width < PAGE_WIDTH_MAX ? width : PAGE_WIDTH_MAX;
}

/* ---- the pager ---- */

static const char *pager_command(void)
{
	const char *command = getenv("INGERO_PAGER");

	command = command ? command : getenv("PAGER");
	command = command ? command : "less";
	return *command && strcmp(command, "cat") && !is_dumb() ? command : NULL;
}

/* Its words where they are plain, so that one that is not there is noticed; else for the shell. */
static void pager_words(char *command, char *words[PAGER_WORDS + 1])
{
	size_t count = 0;

	if (!command[strcspn(command, "|&;<>()$`\\\"'*?[]#~=%{}!\n")])
		for (char *word; (word = strsep(&command, " \t")) && count < PAGER_WORDS;)
			if (*word)
				words[count++] = word;
	if (!count) {
		words[count++] = "sh";
		words[count++] = "-c";
		words[count++] = command;
	}
	words[count] = NULL;
}

static int spawn(struct terminal *t, const char *command, int input)
{
	extern char **environ;
	char *words[PAGER_WORDS + 1], *copy = strdup(command);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int ret = ENOMEM;

	if (!copy)
		return ret;
	setenv("LESS", "FRX", false);
	setenv("LV", "-c", false);
	pager_words(copy, words);
	sigemptyset(&defaults);
	for (size_t i = 0; i < TERMINAL_SIGNALS; i++)
		sigaddset(&defaults, pager_signals[i]);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	ret = posix_spawnp(&t->pager, words[0], &actions, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	free(copy);
	return ret;
}

static bool open_pager(struct terminal *t, const char *command)
{
	int ends[2];
	FILE *file;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	file = fdopen(ends[1], "w");
	if (!file || spawn(t, command, ends[0])) {
		t->pager = 0;
		close(ends[0]);
		if (file)
			fclose(file);
		else
			close(ends[1]);
		return false;
	}
	close(ends[0]);
	t->page.file = file;
	for (size_t i = 0; i < TERMINAL_SIGNALS; i++)
		t->handlers[i] = signal(pager_signals[i], SIG_IGN);
	return true;
}

/* ---- open and close ---- */

/* less shows sequences as colour only when it is told to; more counts them as columns. */
static bool pager_colors(const struct terminal *t)
{
	const char *less = getenv("LESS"), *command = pager_command();

	return !t->pager || (strncmp(command, "more", 4) && (!less || strpbrk(less, "rR")));
}

int terminal_check(const struct terminal_options *options, struct error *e)
{
	const char *when = options->color;

	if (!when || !*when || !strcmp(when, "always") || !strcmp(when, "never") ||
	    !strcmp(when, "auto"))
		return 0;
	error_set(e, ERROR_USAGE, "option \"--color\": unknown: \"%s\"", when);
	return error_hint(e, "auto, always or never");
}

void terminal_open(struct terminal *t, const struct terminal_options *options)
{
	const char *when = options->color ? options->color : "auto";
	bool screen = isatty(STDOUT_FILENO) && !options->machine;
	const char *pager = screen && !options->no_pager ? pager_command() : NULL;

	*t = (struct terminal){ .page = { .file = stdout, .raw = options->raw } };
	t->page.width = screen ? terminal_width() : PAGE_WIDTH;
	t->page.ascii = !is_utf8();
	t->page.terminal = isatty(STDOUT_FILENO);
	if (pager)
		open_pager(t, pager);
	setvbuf(t->page.file, NULL, _IOFBF, BUFFER_SIZE);
	if (!strcmp(when, "auto"))
		t->page.color = screen && !is_dumb() && !variable("NO_COLOR") && pager_colors(t);
	else
		t->page.color = !options->machine && strcmp(when, "never");
}

/* 126 and 127: the shell could not run it. */
static int wait_for_pager(const struct terminal *t, struct error *e)
{
	int status = 0;

	while (waitpid(t->pager, &status, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < TERMINAL_SIGNALS; i++)
		signal(pager_signals[i], t->handlers[i]);
	if (!WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127))
		return 0;
	error_set(e, ERROR_SYSTEM, "cannot run the pager \"%s\"", pager_command());
	error_hint(e, "set PAGER, or use --no-pager");
	return ERROR_SYSTEM;
}

int terminal_close(struct terminal *t, struct error *e)
{
	bool failed = ferror(t->page.file);
	int ret = 0;

	errno = failed ? t->write_errno : 0;
	failed |= fclose(t->page.file) != 0;
	if (failed && errno != EPIPE)
		ret = errno ? error_system(e, "cannot write the report") :
			      error_set(e, ERROR_SYSTEM, "cannot write the report");
	if (t->pager && !ret)
		ret = wait_for_pager(t, e);
	else if (t->pager)
		wait_for_pager(t, NULL);
	t->pager = 0;
	return ret;
}

/* ---- progress ---- */

static char progress_text[96];
static volatile sig_atomic_t progress_seconds;

/* Only what may be called at any time: no stdio. */
static void show_progress(int signal_number)
{
	char digits[12], *at = digits + sizeof(digits);
	int saved = errno, seconds = ++progress_seconds;

	(void)signal_number;
	do {
		*--at = (char)('0' + seconds % 10);
		seconds /= 10;
	} while (seconds);
	if (write(STDERR_FILENO, "\r", 1) < 0 ||
	    write(STDERR_FILENO, progress_text, strlen(progress_text)) < 0 ||
	    write(STDERR_FILENO, ": ", 2) < 0 ||
	    write(STDERR_FILENO, at, (size_t)(digits + sizeof(digits) - at)) < 0 ||
	    write(STDERR_FILENO, " s", 2) < 0)
		progress_seconds = 0;
	errno = saved;
}

static void set_timer(time_t seconds)
{
	struct itimerval timer = { { seconds, 0 }, { seconds, 0 } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

void terminal_progress(const char *text)
{
	struct sigaction action = { .sa_handler = show_progress, .sa_flags = SA_RESTART };

	if (!isatty(STDERR_FILENO))
		return;
	fmt_text(progress_text, sizeof(progress_text), text, PAGE_WIDTH - 10);
	progress_seconds = 0;
	sigaction(SIGALRM, &action, NULL);
	set_timer(1);
}

void terminal_progress_end(void)
{
	size_t width = fmt_width(progress_text) + 10;

	if (!*progress_text)
		return;
	set_timer(0);
	signal(SIGALRM, SIG_IGN);
	if (progress_seconds)
		fprintf(stderr, "\r%*s\r", (int)width, "");
	progress_text[0] = '\0';
}
