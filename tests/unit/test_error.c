// SPDX-License-Identifier: BSD-2-Clause
#include "common/error.h"

#include <errno.h>
#include <string.h>

#include "check.h"

int main(void)
{
	struct error e;
	char long_text[1000];

	CHECK(error_set(&e, ERROR_USAGE, "no '%s' here", "x") == ERROR_USAGE);
	CHECK(e.code == ERROR_USAGE && !strcmp(e.text, "no 'x' here") && !e.hint[0]);
	CHECK(!e.section[0] && e.offset == 0);
	CHECK(error_hint(&e, "try %d", 7) == ERROR_USAGE && !strcmp(e.hint, "try 7"));
	CHECK(error_at(&e, ERROR_DAMAGED, "block", 96, "bad") == ERROR_DAMAGED);
	CHECK(e.offset == 96 && !strcmp(e.section, "block") && !e.hint[0]);
	errno = ENOENT;
	CHECK(error_system(&e, "cannot open '%s'", "f") == ERROR_SYSTEM && errno == ENOENT);
	CHECK(!strcmp(e.text, "cannot open 'f': No such file or directory"));
	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	errno = EIO;
	CHECK(error_system(&e, "%s", long_text) == ERROR_SYSTEM);
	CHECK(strlen(e.text) == sizeof(e.text) - 1);
	CHECK(error_set(NULL, ERROR_LIMIT, "unseen") == ERROR_LIMIT);
	CHECK(error_hint(NULL, "unseen") < 0);
	return check_result();
}
