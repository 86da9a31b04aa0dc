/* SPDX-License-Identifier: Apache-2.0 */
/* Whose code an address of this program is, by its full symbol table (parts of coroutines are
 * local). */
#ifndef WEFT_TEST_SYMBOLS_HPP
#define WEFT_TEST_SYMBOLS_HPP

#include <elf.h>
#include <link.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

class symbols
{
      public:
	symbols()
	{
		const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		struct stat info = {};
		void *map = MAP_FAILED;

		if (fd >= 0 && fstat(fd, &info) == 0)
			map = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ,
				   MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			std::abort();
		close(fd);
		image_ = static_cast<const char *>(map);
		dl_iterate_phdr(
			[](dl_phdr_info *first, std::size_t, void *base) {
				*static_cast<std::uint64_t *>(base) = first->dlpi_addr;
				return 1; /* the program is the first */
			},
			&base_);
	}
	/* "" = nobody's. */
	std::string of(std::uint64_t addr) const
	{
		const auto &file = at<Elf64_Ehdr>(0);

		for (unsigned n = 0; n < file.e_shnum; n++) {
			const auto &table = section(n);

			if (table.sh_type != SHT_SYMTAB)
				continue;
			for (std::uint64_t i = 0; i < table.sh_size; i += sizeof(Elf64_Sym)) {
				const auto &one = at<Elf64_Sym>(table.sh_offset + i);

				if (ELF64_ST_TYPE(one.st_info) == STT_FUNC &&
				    addr - base_ - one.st_value < one.st_size)
					return &at<char>(section(table.sh_link).sh_offset +
							 one.st_name);
			}
		}
		return "";
	}

      private:
	template <typename T> const T &at(std::uint64_t offset) const
	{
		return *reinterpret_cast<const T *>(static_cast<const void *>(image_ + offset));
	}
	const Elf64_Shdr &section(unsigned n) const
	{
		const auto &file = at<Elf64_Ehdr>(0);

		return at<Elf64_Shdr>(file.e_shoff + n * sizeof(Elf64_Shdr));
	}

	const char *image_;
	std::uint64_t base_ = 0;
};

#endif
