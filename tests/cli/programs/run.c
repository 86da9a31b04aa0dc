/* SPDX-License-Identifier: Apache-2.0 */
/* run CMD [ARG]...: starts it and passes its status on. Linked statically: see record.bats. */
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int status = 127;

	if (argc > 1 && fork() == 0) {
		execv(argv[1], argv + 1);
		_exit(127);
	}
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
