/* SPDX-License-Identifier: Apache-2.0 */
/* What both forms of weft inspect share: what is shown, and words for it. */
#include "cli/inspect/inspect_show.h"

#include <errno.h>
#include <fnmatch.h>

const char *const inspect_abi_text[] = {"weft", "otel", "custom-labels", "nodejs", "go", NULL};

int inspect_shows_thread(const struct inspect_show *show, const struct inspect_thread *t)
{
	char tid[16];

	snprintf(tid, sizeof(tid), "%d", (int)t->tid);
	return !show->thread || fnmatch(show->thread, t->name, 0) == 0 ||
	       fnmatch(show->thread, tid, 0) == 0;
}

int inspect_shows_context(const struct inspect_show *show, const struct live_context *c)
{
	return (show->abis & 1U << c->abi) != 0;
}

const char *inspect_publisher(const struct inspect *i, enum inspect_format format)
{
	const struct weft_session_header *h = i->session ? weft_session_header(i->session) : NULL;
	const uint32_t words[] = {h ? h->otel_process : 0, h ? h->otel_thread : 0,
				  h ? h->custom_labels : 0, 0};
	const int found[] = {i->otel.address != 0, i->otel_thread.count > i->otel_thread.own,
			     i->labels.count > i->labels.own, i->nodejs.count > 0};

	if (h && words[format] == WEFT_PUBLISHER_WEFT)
		return "weft";
	if (h && words[format] == WEFT_PUBLISHER_FAILED)
		return "failed";
	if (found[format] && !h && i->session_error != -ENOENT && format != INSPECT_NODEJS)
		return "weft or another library";
	if (found[format] || (h && words[format] == WEFT_PUBLISHER_ANOTHER))
		return "another library";
	return NULL;
}

const char *inspect_go_trouble(const struct inspect *i)
{
	switch (i->go.state) {
	case GO_ABSENT:
		break;
	case GO_UNKNOWN:
		return "weft does not know where this version of Go has them";
	case GO_STRIPPED:
		return "it is stripped, and its threads' structures are not found";
	case GO_READABLE:
		if (i->go_threads.is_unlike)
			return "its runtime is not as this version of Go has it";
	}
	return NULL;
}

const char *inspect_trouble_text(enum inspect_trouble trouble)
{
	static const char *const text[] = {
		[INSPECT_NONE] = "",
		[INSPECT_NO_POINTER] = "where its thread-local variables are cannot be told "
				       "without stopping it; --stop does",
		[INSPECT_NOT_STOPPED] = "could not be stopped (traced by another, or in a wait "
					"that nothing interrupts), read as it was",
	};

	return text[trouble];
}
