/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of event types, by tables: names, units, words. Texts come with their length, and are
 * not read beyond it. Calls nothing of libc: it runs in the recorded program.
 */
#include "base/event_settings.h"

#include "base/text/digits.h"

#include <errno.h>

/* A word and what it stands for: of units their nanoseconds. */
struct word {
	const char *name;
	uint64_t value;
};

/* Longest first, so that a time is written in the largest unit that divides it. */
static const struct word units[] = {
	{"d", UINT64_C(86400000000000)},
	{"h", UINT64_C(3600000000000)},
	{"m", UINT64_C(60000000000)},
	{"s", UINT64_C(1000000000)},
	{"ms", UINT64_C(1000000)},
	{"us", UINT64_C(1000)},
	{"ns", UINT64_C(1)},
	{NULL, 0},
};
#define UNIT_COUNT (sizeof(units) / sizeof(units[0]) - 1)

static const struct word bool_words[] = {{"false", 0}, {"true", 1}, {NULL, 0}};
static const struct word select_words[] = {{"all", SELECT_ALL},
					   {"if-context", SELECT_IF_CONTEXT},
					   {"if-triggered", SELECT_IF_TRIGGERED},
					   {NULL, 0}};
static const struct word thresholds[] = {{"infinity", UINT64_MAX}, {NULL, 0}};
static const struct word periods[] = {{"everyChunk", PERIOD_EVERY_CHUNK},
				      {"beginChunk", PERIOD_BEGIN_CHUNK},
				      {"endChunk", PERIOD_END_CHUNK},
				      {NULL, 0}};

/* Values that are words alone are ints in struct event_settings, times are 64 bits. */
#define AT(member) offsetof(struct event_settings, member)
static const struct {
	const char *name;
	size_t at;
	const struct word *words;
	int is_time;
} settings[SETTING_COUNT] = {
	[SETTING_ENABLED] = {"enabled", AT(enabled), bool_words, 0},
	[SETTING_THRESHOLD] = {"threshold", AT(threshold_ns), thresholds, 1},
	[SETTING_THROTTLE] = {.name = "throttle"},
	[SETTING_STACK_TRACE] = {"stackTrace", AT(stack_trace), bool_words, 0},
	[SETTING_SELECT] = {"select", AT(select), select_words, 0},
	[SETTING_PERIOD] = {"period", AT(period_ns), periods, 1},
};

static char event_settings_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int event_settings_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct setting_text weft_setting_trimmed(struct setting_text text)
{
	while (text.bytes && event_settings_is_blank(*text.at)) {
		text.at++;
		text.bytes--;
	}
	while (text.bytes && event_settings_is_blank(text.at[text.bytes - 1]))
		text.bytes--;
	return text;
}

static int is_word(struct setting_text text, const char *word)
{
	size_t i;

	for (i = 0; i < text.bytes; i++)
		if (!word[i] || event_settings_lower(text.at[i]) != event_settings_lower(word[i]))
			return 0;
	return !word[i];
}

static const struct word *word_named(const struct word *words, struct setting_text text)
{
	for (; words->name; words++)
		if (is_word(text, words->name))
			return words;
	return NULL;
}

static const struct word *word_of_value(const struct word *words, uint64_t value)
{
	while (words->name && words->value != value)
		words++;
	return words->name ? words : NULL;
}

const char *weft_setting_name(enum event_setting setting)
{
	return (unsigned int)setting < SETTING_COUNT ? settings[setting].name : NULL;
}

int weft_setting_find(const char *name, size_t bytes)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (is_word((struct setting_text){name, bytes}, settings[i].name))
			return i;
	return -ENOENT;
}

/* ---- reading values */

/* Parses the digits at the text's head. No time needs more than 63 bits. */
static int event_settings_take_number(struct setting_text *text, uint64_t *out)
{
	const char *end = text->at + text->bytes, *at = text->at;
	uint64_t number = 0;

	if (digits_read(&at, end, 10, &number) || number > INT64_MAX)
		return -EINVAL;
	*text = weft_setting_trimmed((struct setting_text){at, (size_t)(end - at)});
	*out = number;
	return 0;
}

int weft_setting_time(struct setting_text text, uint64_t bare_ns, uint64_t *out_ns)
{
	const struct word bare = {"", bare_ns}, *unit;
	uint64_t number, ns;

	text = weft_setting_trimmed(text);
	if (event_settings_take_number(&text, &number))
		return -EINVAL;
	unit = !text.bytes && bare_ns ? &bare : word_named(units, text);
	if (!unit || __builtin_mul_overflow(number, unit->value, &ns) || ns > INT64_MAX)
		return -EINVAL;
	*out_ns = ns;
	return 0;
}

static int put_throttle(struct event_settings *s, struct setting_text text)
{
	const struct word *unit;
	uint64_t count, window_ns;

	if (is_word(text, "off")) {
		s->throttle_count = s->throttle_window_ns = 0;
		return 0;
	}
	if (weft_setting_time(text, 0, &window_ns) == 0 && window_ns) {
		s->throttle_count = 1;
		s->throttle_window_ns = window_ns;
		return 0;
	}
	if (event_settings_take_number(&text, &count) || !text.bytes || *text.at != '/')
		return -EINVAL;
	unit = word_named(units,
			  weft_setting_trimmed((struct setting_text){text.at + 1, text.bytes - 1}));
	if (!unit)
		return -EINVAL;
	s->throttle_count = count;
	s->throttle_window_ns = unit->value;
	return 0;
}

static int event_settings_put_value(struct event_settings *s, enum event_setting setting,
				    struct setting_text text)
{
	void *to = (char *)s + settings[setting].at;
	const struct word *word;
	uint64_t value = 0;

	if (setting == SETTING_THROTTLE)
		return put_throttle(s, text);
	word = word_named(settings[setting].words, text);
	if (!word && setting == SETTING_SELECT)
		s->select = SELECT_ALL;
	if (word)
		value = word->value;
	else if (!settings[setting].is_time || weft_setting_time(text, 0, &value))
		return -EINVAL;
	if (settings[setting].is_time)
		*(uint64_t *)to = value;
	else
		*(int *)to = (int)value;
	return 0;
}

int weft_setting_put(struct event_settings *s, enum event_setting setting, const char *value,
		     size_t bytes)
{
	uint32_t bit;
	int err;

	if ((unsigned int)setting >= SETTING_COUNT)
		return -EINVAL;
	bit = UINT32_C(1) << setting;
	err = event_settings_put_value(s, setting,
				       weft_setting_trimmed((struct setting_text){value, bytes}));
	if (err)
		s->wrong |= bit;
	if (!err || setting == SETTING_SELECT)
		s->given |= bit;
	return err;
}

/* ---- writing values */

struct room {
	char *at;
	size_t bytes, used;
};

static void add_text(struct room *room, const char *text)
{
	for (; *text && room->used + 1 < room->bytes; text++)
		room->at[room->used++] = *text;
}

static void event_settings_add_number(struct room *room, uint64_t number)
{
	char digits[DIGITS_BYTES + 1], *end = digits + DIGITS_BYTES;

	*end = 0;
	add_text(room, digits_put_before(end, number));
}

static void add_time(struct room *room, uint64_t ns)
{
	size_t unit = ns ? 0 : UNIT_COUNT - 1;

	while (ns % units[unit].value)
		unit++;
	event_settings_add_number(room, ns / units[unit].value);
	add_text(room, " ");
	add_text(room, units[unit].name);
}

static void add_throttle(struct room *room, const struct event_settings *s)
{
	const struct word *unit = word_of_value(units, s->throttle_window_ns);

	if (!s->throttle_window_ns) {
		add_text(room, "off");
	} else if (!unit) {
		add_time(room, s->throttle_window_ns);
	} else {
		event_settings_add_number(room, s->throttle_count);
		add_text(room, "/");
		add_text(room, unit->name);
	}
}

static void event_settings_add_setting(struct room *room, const struct event_settings *s,
				       enum event_setting setting)
{
	const void *at = (const char *)s + settings[setting].at;
	int is_time = settings[setting].is_time;
	const struct word *word;
	uint64_t value;

	if (setting == SETTING_THROTTLE) {
		add_throttle(room, s);
		return;
	}
	value = is_time ? *(const uint64_t *)at : (uint64_t) * (const int *)at;
	word = word_of_value(settings[setting].words, value);
	if (is_time && !word)
		add_time(room, value);
	else
		add_text(room, word ? word->name : settings[setting].words->name);
}

size_t weft_setting_text(const struct event_settings *s, enum event_setting setting, char *room,
			 size_t room_bytes)
{
	struct room to = {room, room_bytes, 0};

	if (!room_bytes)
		return 0;
	if ((unsigned int)setting < SETTING_COUNT)
		event_settings_add_setting(&to, s, setting);
	room[to.used] = 0;
	return to.used;
}

/* ---- lines */

/* Only the last `*` ever has to match more on a mismatch. */
int weft_setting_glob_whole(const char *glob, size_t bytes, const char *name)
{
	size_t at = 0, star = SIZE_MAX;
	const char *retry = NULL;

	while (*name) {
		if (at < bytes && glob[at] == '*') {
			star = at++;
			retry = name;
		} else if (at < bytes && (glob[at] == '?' || glob[at] == *name)) {
			at++;
			name++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			name = ++retry;
		} else {
			return 0;
		}
	}
	while (at < bytes && glob[at] == '*')
		at++;
	return at == bytes;
}

int weft_setting_glob(const char *glob, size_t bytes, const char *event)
{
	const char *last = event;

	if (weft_setting_glob_whole(glob, bytes, event))
		return 1;
	for (size_t i = 0; i < bytes; i++)
		if (glob[i] == '.')
			return 0;
	for (const char *at = event; *at; at++)
		if (*at == '.')
			last = at + 1;
	return last != event && weft_setting_glob_whole(glob, bytes, last);
}

static size_t find_char(const char *text, size_t bytes, size_t from, char c)
{
	while (from < bytes && text[from] != c)
		from++;
	return from;
}

int weft_setting_split(const char *line, size_t bytes, struct setting_line *out)
{
	size_t hash = find_char(line, bytes, 0, '#');
	size_t equals = find_char(line, bytes, hash, '=');

	if (equals == bytes || equals == hash) /* another may write over the text meanwhile */
		return -EINVAL;
	out->glob = (struct setting_text){line, hash};
	out->name = (struct setting_text){line + hash + 1, equals - hash - 1};
	out->value = (struct setting_text){line + equals + 1, bytes - equals - 1};
	return 0;
}

int weft_setting_line(const char *text, size_t bytes, size_t *at, struct setting_line *out)
{
	size_t start = *at, end = find_char(text, bytes, start, '\n');

	if (start >= bytes)
		return 0;
	*at = end < bytes ? end + 1 : bytes;
	return weft_setting_split(text + start, end - start, out) ? -EINVAL : 1;
}

static void apply_line(struct event_settings *s, const char *event, const struct setting_line *line)
{
	struct setting_text glob = weft_setting_trimmed(line->glob);
	struct setting_text name = weft_setting_trimmed(line->name);
	int setting = weft_setting_find(name.at, name.bytes);

	if (setting < 0 || !weft_setting_glob(glob.at, glob.bytes, event))
		return;
	/* an error is reported in s->wrong */
	(void)weft_setting_put(s, (enum event_setting)setting, line->value.at, line->value.bytes);
}

void weft_settings_apply(struct event_settings *s, const char *event, const char *text,
			 size_t bytes)
{
	struct setting_line line;
	size_t at = 0;
	int rc;

	while ((rc = weft_setting_line(text, bytes, &at, &line)))
		if (rc > 0)
			apply_line(s, event, &line);
}

int weft_settings_settle(struct event_settings *s, int is_contextual)
{
	enum event_select never = is_contextual ? SELECT_IF_CONTEXT : SELECT_IF_TRIGGERED;

	if (s->select != never)
		return 0;
	s->select = SELECT_ALL;
	return 1;
}
