/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of java.time and of the JDK's tool, rounding and limits included. */
#include "print/times.h"

#include "base/clock.h"
#include "print/decimal.h"

#include <math.h>
#include <stdio.h>

#define DAY_S 86400

__extension__ typedef __int128 wide;

static int64_t ticks_to_ns(const struct weft_jfr_chunk_view *chunk, int64_t ticks)
{
	if (chunk->ticks_per_second == NS_PER_S && ticks > -(1LL << 53) && ticks < 1LL << 53)
		return ticks;
	if (chunk->ticks_per_second <= 0)
		return ticks;
	return decimal_cast((double)ticks / ((double)chunk->ticks_per_second / 1e9));
}

struct moment times_span(const struct weft_jfr_chunk_view *chunk, int64_t number,
			 enum time_unit unit)
{
	static const int64_t scale[] = {
		[TIME_NS] = 1, [TIME_US] = 1000, [TIME_MS] = 1000000, [TIME_S] = NS_PER_S};

	if (number == INT64_MIN)
		return (struct moment){.is_none = 1, .ns = (wide)INT64_MIN * NS_PER_S};
	if (unit == TIME_TICKS || unit > TIME_S)
		return (struct moment){.ns = ticks_to_ns(chunk, number)};
	return (struct moment){.ns = (wide)number * scale[unit]};
}

struct moment times_point(const struct weft_jfr_chunk_view *chunk, int64_t number,
			  enum time_unit unit)
{
	uint64_t since, ns;

	if (number == INT64_MIN)
		return (struct moment){.is_none = 1};
	if (unit == TIME_EPOCH_MS)
		return (struct moment){.ns = (wide)number * 1000000};
	if (unit == TIME_EPOCH_S)
		return (struct moment){.ns = (wide)number * NS_PER_S};
	if (unit == TIME_EPOCH_NS)
		return (struct moment){.ns = number};
	/* wraps on overflow, as Java's addition does */
	since = (uint64_t)number - (uint64_t)chunk->start_ticks;
	ns = (uint64_t)chunk->start_ns + (uint64_t)ticks_to_ns(chunk, (int64_t)since);
	return (struct moment){.ns = (int64_t)ns};
}

/* ".5" of 500 000 000, without zeros at the end. */
static char *put_fraction(char *to, int64_t ns)
{
	to += sprintf(to, ".%09lld", (long long)ns);
	while (to[-1] == '0')
		to--;
	*to = 0;
	return to;
}

size_t times_put_iso_span(char out[TIMES_ROOM], struct moment span)
{
	int is_negative = span.ns < 0;
	wide ns = is_negative ? -span.ns : span.ns;
	int64_t seconds = (int64_t)(ns / NS_PER_S), fraction = (int64_t)(ns % NS_PER_S);
	int64_t hours, minutes;
	const char *sign = is_negative ? "-" : "";
	char *to = out + sprintf(out, "PT");

	/* the least number of seconds has no positive one */
	if (ns / NS_PER_S > INT64_MAX)
		return (size_t)sprintf(out, "PT-2562047788015215H-30M-8S");
	hours = seconds / 3600;
	minutes = seconds / 60 % 60;
	seconds %= 60;
	if (hours)
		to += sprintf(to, "%s%lldH", sign, (long long)hours);
	if (minutes)
		to += sprintf(to, "%s%lldM", sign, (long long)minutes);
	if (!seconds && !fraction && (hours || minutes))
		return (size_t)(to - out);
	to += sprintf(to, "%s%lld", seconds || fraction ? sign : "", (long long)seconds);
	if (fraction)
		to = put_fraction(to, fraction);
	*to++ = 'S';
	*to = 0;
	return (size_t)(to - out);
}

/* To three digits, halves up: 1 234 567 becomes 1 230 000. */
static int64_t round_to_three(int64_t ns)
{
	int64_t unit = 1;

	while (ns / unit >= 1000)
		unit *= 10;
	return (ns + unit / 2) / unit * unit;
}

static wide round_span(wide ns)
{
	const wide minute = (wide)60 * NS_PER_S;
	wide unit = minute * 60;

	if (ns < 1000)
		return ns;
	if (ns < minute)
		return round_to_three((int64_t)ns);
	if (ns < 60 * minute)
		unit = NS_PER_S;
	else if (ns < 24 * 60 * minute)
		unit = minute;
	return (ns + unit / 2) / unit * unit;
}

/* @ns of less than a minute, in a unit of @unit_ns, with three digits. */
static char *put_three(char *to, int64_t ns, int64_t unit_ns, const char *unit)
{
	int places = 0;
	char number[DECIMAL_ROOM];

	for (int64_t part = 100 * unit_ns; ns < part && places < 6; part /= 10)
		places++;
	decimal_fixed(number, (double)ns / (double)unit_ns, places);
	return to + sprintf(to, "%.32s %s", number, unit);
}

size_t times_put_span(char out[TIMES_ROOM], struct moment span)
{
	const int64_t minute = 60;
	wide ns = round_span(span.ns < 0 ? -span.ns : span.ns);
	long long s = (long long)(ns / NS_PER_S);
	char *to = out;

	if (span.is_none)
		return (size_t)sprintf(out, "N/A");
	if (!ns)
		return (size_t)sprintf(out, "0 s");
	if (span.ns < 0)
		*to++ = '-';
	if (ns < NS_PER_S)
		to = put_three(to, (int64_t)ns, 1000000, "ms");
	else if (s < minute)
		to = put_three(to, (int64_t)ns, NS_PER_S, "s");
	else if (s < 60 * minute)
		to += sprintf(to, "%lld m %lld s", s / 60, s % 60);
	else if (s < DAY_S)
		to += sprintf(to, "%lld h %lld m", s / 3600, s / 60 % 60);
	else
		to += sprintf(to, "%lld d %lld h", s / DAY_S, s / 3600 % 24);
	return (size_t)(to - out);
}

struct civil {
	int64_t year;
	int month, day;
};

/* Days since 1970 in the Gregorian calendar, which goes on for ever both ways. */
static struct civil civil_of(int64_t days)
{
	int64_t era, of_era, year, of_year, shifted;
	struct civil c;

	days += 719468; /* since the first of March of the year 0 */
	era = (days >= 0 ? days : days - 146096) / 146097;
	of_era = days - era * 146097;
	year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	of_year = of_era - (365 * year + year / 4 - year / 100);
	shifted = (5 * of_year + 2) / 153; /* month, from March */
	c.day = (int)(of_year - (153 * shifted + 2) / 5 + 1);
	c.month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
	c.year = year + era * 400 + (c.month <= 2);
	return c;
}

static void split(wide ns, int64_t per, int64_t *whole, int64_t *rest)
{
	wide quotient = ns / per, left = ns % per;

	if (left < 0) {
		left += per;
		quotient--;
	}
	*whole = (int64_t)quotient;
	*rest = (int64_t)left;
}

static char *put_year(char *to, int64_t year)
{
	if (year > 9999)
		return to + sprintf(to, "+%lld", (long long)year);
	if (year < 0)
		return to + sprintf(to, "-%04lld", (long long)-year);
	return to + sprintf(to, "%04lld", (long long)year);
}

/* None, or 3, 6 or 9 digits. */
static char *put_fraction_by_three(char *to, int64_t ns)
{
	if (!ns)
		return to;
	if (ns % 1000000 == 0)
		return to + sprintf(to, ".%03d", (int)(ns / 1000000));
	if (ns % 1000 == 0)
		return to + sprintf(to, ".%06d", (int)(ns / 1000));
	return to + sprintf(to, ".%09d", (int)ns);
}

static char *put_offset(char *to, int32_t offset_s)
{
	int32_t all = offset_s < 0 ? -offset_s : offset_s;

	if (!offset_s)
		return to + sprintf(to, "Z");
	to += sprintf(to, "%c%02d:%02d", offset_s < 0 ? '-' : '+', all / 3600, all / 60 % 60);
	return all % 60 ? to + sprintf(to, ":%02d", all % 60) : to;
}

size_t times_put_iso_point(char out[TIMES_ROOM], struct moment point, int32_t offset_s)
{
	int64_t seconds, fraction, days, of_day;
	struct civil c;
	char *to;

	if (point.is_none)
		return (size_t)sprintf(out, "-999999999-01-01T00:00+18:00");
	split(point.ns + (wide)offset_s * NS_PER_S, NS_PER_S, &seconds, &fraction);
	split(seconds, DAY_S, &days, &of_day);
	c = civil_of(days);
	to = put_year(out, c.year);
	to += sprintf(to, "-%02d-%02dT%02d:%02d", c.month, c.day, (int)(of_day / 3600),
		      (int)(of_day / 60 % 60));
	if (of_day % 60 || fraction)
		to += sprintf(to, ":%02d", (int)(of_day % 60));
	to = put_fraction_by_three(to, fraction);
	return (size_t)(put_offset(to, offset_s) - out);
}

size_t times_put_clock(char out[TIMES_ROOM], struct moment point, int32_t offset_s)
{
	int64_t seconds, fraction, days, of_day;

	if (point.is_none)
		return (size_t)sprintf(out, "N/A");
	split(point.ns + (wide)offset_s * NS_PER_S, NS_PER_S, &seconds, &fraction);
	split(seconds, DAY_S, &days, &of_day);
	return (size_t)sprintf(out, "%02d:%02d:%02d.%03d", (int)(of_day / 3600),
			       (int)(of_day / 60 % 60), (int)(of_day % 60),
			       (int)(fraction / 1000000));
}

size_t times_put_amount(char out[TIMES_ROOM], int64_t amount, enum amount_unit unit)
{
	static const struct {
		const char *one, *many, *scaled;
	} names[] = {
		[AMOUNT_BYTES] = {" byte", " bytes", "B"},
		[AMOUNT_BITS] = {" bit", " bits", "bit"},
		[AMOUNT_BYTES_PER_S] = {" byte/s", " byte/s", "B/s"},
		[AMOUNT_BITS_PER_S] = {" bps", " bps", "bps"},
	};
	int is_one = amount == 1 || amount == -1, power;
	char number[DECIMAL_ROOM];

	if (amount < 1024 && amount > -1024)
		return (size_t)sprintf(out, "%lld%s", (long long)amount,
				       is_one ? names[unit].one : names[unit].many);
	/* as the JDK finds it, which is not always the lesser power just below the next */
	power = (int)(log(fabs((double)amount)) / log(1024));
	decimal_fixed(number, (double)amount / pow(1024, power), 1);
	return (size_t)sprintf(out, "%.32s %c%s", number, "?kMGTPE"[power], names[unit].scaled);
}
