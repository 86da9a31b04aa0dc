/* SPDX-License-Identifier: Apache-2.0 */
/* A function in a library of its own, reached through the PLT. */
unsigned long nasty_empty(unsigned long x);
unsigned long nasty_empty(unsigned long x)
{
	return x;
}
