/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be recorded: CPU time under weft's labels (span 11), under a set of the program's
 * own in their place (12, with two values of a label), and under weft's again (13).
 */
#include <string.h>
#include <time.h>

#include <customlabels.h>
#include <weft/labels.h>

static custom_labels_string_t str(const char *s)
{
	return (custom_labels_string_t){.len = strlen(s), .buf = (const unsigned char *)s};
}

static void burn(long milliseconds)
{
	struct timespec now, until;
	volatile unsigned int x = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &until);
	until.tv_nsec += milliseconds * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	do {
		for (int i = 0; i < 10000; i++)
			x = x * 3 + 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec < until.tv_sec ||
		 (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
}

int main(void)
{
	custom_labels_labelset_t *ls = custom_labels_new(1), *old;
	int failed;

	weft_context_set(11, 1);
	failed = weft_label_set("mine", "weft's") != WEFT_LABEL_SET;
	burn(150);
	failed |= custom_labels_set(ls, str("tenant"), str("acme"), NULL);
	old = custom_labels_replace(ls);
	weft_context_set(12, 1);
	burn(150);
	failed |= custom_labels_set(ls, str("tenant"), str("zeta"), NULL);
	burn(150);
	custom_labels_replace(old);
	custom_labels_free(ls);
	weft_context_set(13, 1);
	burn(150);
	return failed;
}
