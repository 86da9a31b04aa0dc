/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refuse WHAT... -- COMMAND: runs it where the kernel refuses a thing, as others do:
 *   memfd    memfd_create is not there        sealed   not with MFD_NOEXEC_SEAL (before 6.3)
 *   naming   PR_SET_VMA is not there          named    PR_SET_VMA seems to work
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_VMA 0x53564d41
#define NOEXEC_SEAL 8

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (n))
#define SKIP_UNLESS_SET(bits, n) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, (n))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))

static int install(struct sock_filter *code, size_t count)
{
	struct sock_fprog program = {(unsigned short)count, code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int refuse(const char *what)
{
	struct sock_filter memfd[] = {LOAD(nr), SKIP_UNLESS(SYS_memfd_create, 1),
				      ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
				      ANSWER(SECCOMP_RET_ALLOW)};
	struct sock_filter sealed[] = {LOAD(nr),
				       SKIP_UNLESS(SYS_memfd_create, 3),
				       LOAD(args[1]),
				       SKIP_UNLESS_SET(NOEXEC_SEAL, 1),
				       ANSWER(SECCOMP_RET_ERRNO | EINVAL),
				       ANSWER(SECCOMP_RET_ALLOW)};
	struct sock_filter naming[] = {LOAD(nr),
				       SKIP_UNLESS(SYS_prctl, 3),
				       LOAD(args[0]),
				       SKIP_UNLESS(SET_VMA, 1),
				       ANSWER(SECCOMP_RET_ERRNO | EINVAL),
				       ANSWER(SECCOMP_RET_ALLOW)};

	if (!strcmp(what, "memfd"))
		return install(memfd, sizeof(memfd) / sizeof(memfd[0]));
	if (!strcmp(what, "sealed"))
		return install(sealed, sizeof(sealed) / sizeof(sealed[0]));
	if (!strcmp(what, "named"))
		naming[4].k = SECCOMP_RET_ERRNO; /* 0 */
	return install(naming, sizeof(naming) / sizeof(naming[0]));
}

/* The filters only refuse: weft need not fear as many. */
static void say_filters(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256], count[16] = "1"; /* older kernels do not tell how many there are */

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "Seccomp_filters: %15s", count);
	if (status)
		fclose(status);
	setenv("WEFT_FILTERS", count, 1);
}

int main(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (refuse(argv[i])) {
			perror("refuse");
			return 77;
		}
	if (i + 1 >= argc)
		return 2;
	say_filters();
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}
