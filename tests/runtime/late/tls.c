/* SPDX-License-Identifier: Apache-2.0 */
/* A library with BYTES of initial-exec TLS: as many of it as there is static TLS for. */
__attribute__((visibility("default"), tls_model("initial-exec"))) __thread char used_tls[BYTES];
char *touch_tls(void);

char *touch_tls(void)
{
	return used_tls;
}
