// SPDX-License-Identifier: Apache-2.0

package main

// With this file the program is linked by the C compiler, and dynamic.

import "C"
