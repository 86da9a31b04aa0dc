// SPDX-License-Identifier: Apache-2.0

package main

import "C"

// With this file it is a library for programs that are not Go's.
//
//export GoLabelsHold
func GoLabelsHold() { hold() }
