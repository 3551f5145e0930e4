// SPDX-License-Identifier: BSD-2-Clause
/* The line of progress: only on a terminal, only when work takes long, and gone afterwards. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "check.h"
#include "report/terminal.h"

static void work(unsigned int ms)
{
	struct timespec left = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&left, &left))
		;
}

/* What appears on standard error, a terminal or else a pipe, while it works for so long. */
static void progress(char *text, size_t size, bool terminal, unsigned int ms)
{
	int ends[2], saved = dup(STDERR_FILENO);
	ssize_t length;
	size_t used = 0;

	if (terminal) {
		ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
		grantpt(ends[0]);
		unlockpt(ends[0]);
		ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
	} else {
		CHECK(!pipe2(ends, O_NONBLOCK));
	}
	dup2(ends[1], STDERR_FILENO);
	terminal_progress("reading a\033[31m.ing");
	work(ms);
	terminal_progress_end();
	while ((length = read(ends[0], text + used, size - 1 - used)) > 0)
		used += (size_t)length;
	text[used] = '\0';
	dup2(saved, STDERR_FILENO);
	close(ends[0]);
	close(ends[1]);
	close(saved);
}

static void test_progress(void)
{
	char text[512];

	progress(text, sizeof(text), true, 2300);
	CHECK(!strncmp(text, "\rreading a\\x1b[31m.ing: 1 s\r", 27));
	CHECK(strstr(text, ": 2 s\r  ") && text[strlen(text) - 1] == '\r');
	progress(text, sizeof(text), true, 50);
	CHECK(!*text);
	progress(text, sizeof(text), false, 1300);
	CHECK(!*text);
}

int main(void)
{
	test_progress();
	return check_result();
}
