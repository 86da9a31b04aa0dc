/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is loaded when its process was looked at already. */
int loaded_late(void);
int loaded_late(void)
{
	return 1;
}
