/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's file for a test of probes: made here, read here, by nobody else. Events are read
 * where nobody writes: no protocol. Also TAP.
 */
#ifndef WEFT_TEST_STATIONS_HPP
#define WEFT_TEST_STATIONS_HPP

#include <weft/abi/ctp.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

struct event {
	bool resumed;
	std::uint64_t addr, tid, seq;
};

class stations
{
      public:
	explicit stations(std::uint32_t count)
	{
		char path[] = "/tmp/weft-test-ctp.XXXXXX";
		const int fd = mkstemp(path);
		const std::size_t bytes = WEFT_CTP_FILE_BYTES(count);
		void *map = MAP_FAILED;

		if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0)
			map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			std::abort();
		close(fd);
		path_ = path;
		header_ = static_cast<weft_ctp_header *>(map);
		header_->magic = WEFT_CTP_MAGIC;
		header_->version = WEFT_CTP_VERSION;
		header_->max_stations = count;
		header_->clock_id = 1;
		header_->extension = WEFT_CTP_EXTENSION;
		header_->features = WEFT_CTP_TIMER;
		header_->dirty_shift = WEFT_CTP_DIRTY_SHIFT_LEAST;
		setenv("CTP_SHM_PATH", path, 1);
		unsetenv("CTP_SOCK_PATH");
		unsetenv("CTP_MAX_STATIONS");
	}
	~stations()
	{
		unlink(path_.c_str());
	}
	stations(const stations &) = delete;
	stations &operator=(const stations &) = delete;

	/* How many were ever had: the next coroutine's index. */
	std::uint32_t had() const
	{
		return __atomic_load_n(&header_->allocated_count, __ATOMIC_ACQUIRE);
	}
	const weft_ctp_station &at(std::uint32_t index) const
	{
		return reinterpret_cast<const weft_ctp_station *>(header_ + 1)[index];
	}
	/* The last eight at the most, in order. */
	std::vector<event> events(std::uint32_t index) const
	{
		std::vector<event> all;

		for (const auto &slot : at(index).slots)
			if (const auto seq = __atomic_load_n(&slot.seq, __ATOMIC_ACQUIRE); seq)
				all.push_back({slot.is_active == 1, slot.addr, slot.tid, seq});
		std::sort(all.begin(), all.end(),
			  [](const event &a, const event &b) { return a.seq < b.seq; });
		return all;
	}
	/* "RSRS": resumed, suspended ... */
	std::string shape(std::uint32_t index) const
	{
		std::string text;

		for (const auto &one : events(index))
			text += one.resumed ? 'R' : 'S';
		return text;
	}

      private:
	std::string path_;
	weft_ctp_header *header_;
};

inline int cases, failures;

inline void is(bool holds, const char *what)
{
	std::printf("%s %d - %s\n", holds ? "ok" : "not ok", ++cases, what);
	failures += !holds;
}

inline void same(const std::string &got, const char *expected, const char *what)
{
	if (got != expected)
		std::printf("# %s, not %s\n", got.c_str(), expected);
	is(got == expected, what);
}

#endif
