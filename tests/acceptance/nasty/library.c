/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that come and go, as NAME; linked to resolve their symbols at their first call. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define inner PASTE(inner_, NAME)

unsigned long inner(unsigned long turns);
__attribute__((noinline)) unsigned long inner(unsigned long turns)
{
	volatile unsigned long x = 1;

	for (unsigned long i = 0; i < turns; i++)
		x = x * 31 + i;
	(void)x;
	return RESULT;
}

unsigned long run_library(unsigned long turns);
unsigned long run_library(unsigned long turns)
{
	volatile unsigned long got = inner(turns);

	return got;
}

/* Each of them through the PLT, for the first time. */
unsigned long call_many(unsigned long one);
unsigned long call_many(unsigned long one)
{
	unsigned long right = 0;
	char text[20];

	memset(text, 'a', sizeof(text));
	text[19] = '\0';
	right += strlen(text) == 19;
	right += strchr(text, 'b') == NULL;
	right += strcmp(text, "a") > 0;
	right += strncmp(text, "aab", 2) == 0;
	right += strcasecmp("A", "a") == 0;
	right += memcmp(text, "aa", 2) == 0;
	right += strtol("17", NULL, 10) == 17;
	right += strtoul("17", NULL, 16) == 23;
	right += strspn(text, "a") == 19;
	right += strcspn(text, "b") == 19;
	right += (unsigned long)abs(-(int)one);
	right += toupper('a') == 'A';
	return right;
}
