/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of it, loaded one after the other, use up what a loader has left for late libraries. */
__thread char ballast[BALLAST_BYTES] __attribute__((tls_model("initial-exec")));

char *ballast_of_this_thread(void);

char *ballast_of_this_thread(void)
{
	return ballast;
}
