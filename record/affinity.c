// SPDX-License-Identifier: BSD-2-Clause
#include "affinity.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool has(const uint64_t *mask, unsigned int cpu)
{
	return mask[cpu / 64] >> cpu % 64 & 1;
}

unsigned int affinity_text(const uint64_t *mask, unsigned int words, char text[AFFINITY_TEXT])
{
	unsigned int count = 0, first = 0;
	size_t used = 0;

	*text = '\0';
	for (unsigned int cpu = 0; cpu <= 64 * words; cpu++) {
		bool in = cpu < 64 * words && has(mask, cpu);

		count += in;
		if (in && (!cpu || !has(mask, cpu - 1)))
			first = cpu;
		if (in || !cpu || !has(mask, cpu - 1) || used + 24 > AFFINITY_TEXT)
			continue;
		used += snprintf(text + used, AFFINITY_TEXT - used, "%s%u", used ? "," : "", first);
		if (cpu - 1 > first)
			used += snprintf(text + used, AFFINITY_TEXT - used, "-%u", cpu - 1);
	}
	return count;
}

void affinity_online(uint64_t mask[AFFINITY_WORDS])
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	unsigned int first, last;

	memset(mask, file ? 0 : 0xff, AFFINITY_WORDS * sizeof(*mask));
	while (file && fscanf(file, "%u", &first) == 1) {
		last = first;
		if (fscanf(file, "-%u", &last) != 1)
			last = first;
		for (unsigned int cpu = first; cpu <= last && cpu < 64 * AFFINITY_WORDS; cpu++)
			mask[cpu / 64] |= UINT64_C(1) << cpu % 64;
		if (fgetc(file) != ',')
			break;
	}
	if (file)
		fclose(file);
}

unsigned int affinity_list(const uint64_t *mask, unsigned int words, char text[AFFINITY_TEXT])
{
	uint64_t usable[AFFINITY_WORDS];

	if (words > AFFINITY_WORDS)
		words = AFFINITY_WORDS;
	affinity_online(usable);
	for (unsigned int i = 0; i < words; i++)
		usable[i] &= mask[i];
	return affinity_text(usable, words, text);
}
