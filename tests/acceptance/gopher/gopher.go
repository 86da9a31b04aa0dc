// SPDX-License-Identifier: Apache-2.0

// gopher PROFILE: ten thousand goroutines, each of which spends seven parts of its CPU time in
// sevenParts and three in threeParts, and calls C now and then, while Go's own profiler is at work.
package main

// static int answer(int n) { return n + 42; }
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
)

const goroutines = 10000

var sum atomic.Uint64

//go:noinline
func sevenParts(turns int) uint64 {
	x := uint64(turns) | 1
	for i := 0; i < 7*turns; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func threeParts(turns int) uint64 {
	x := uint64(turns) | 3
	for i := 0; i < 3*turns; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func work(wait *sync.WaitGroup) {
	defer wait.Done()
	for i := 0; i < 4; i++ {
		sum.Add(sevenParts(8000) + threeParts(8000))
		sum.Add(uint64(C.answer(C.int(i))))
		runtime.Gosched()
	}
}

func main() {
	file, err := os.Create(os.Args[1])
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	runtime.GOMAXPROCS(4)
	var wait sync.WaitGroup
	wait.Add(goroutines)
	for i := 0; i < goroutines; i++ {
		go work(&wait)
	}
	wait.Wait()
	pprof.StopCPUProfile()
	file.Close()
	fmt.Println("done")
}
