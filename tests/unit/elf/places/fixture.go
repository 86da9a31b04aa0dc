// SPDX-License-Identifier: Apache-2.0
// Inlined calls and closures, as Go describes them.
package main

import (
	"fmt"
	"os"
	"sort"
)

func helper(a int) int { return a*5 + 3 }

//go:noinline
func sum(all []int) int {
	total := 0
	for _, one := range all {
		total += helper(one)
	}
	return total
}

func main() {
	all := make([]int, 10*len(os.Args))
	for i := range all {
		all[i] = i * 31 % 17
	}
	sort.Slice(all, func(i, j int) bool { return helper(all[i]) < helper(all[j]) })
	fmt.Println(sum(all))
}
