// SPDX-License-Identifier: Apache-2.0

// golabels hold | turns SECONDS: a Go program that knows nothing of weft and labels its goroutines by
// runtime/pprof, each on a thread of its own.
//
// hold: six workers, half of them of tenant acme, half of globex, the last with twelve labels more,
// wait in a read for ever; "ready" when all do.
//
// turns: they wait in turn for 35 ms as acme, 15 ms as globex, and 20 ms without labels, in a system
// call; at the end the three sums of the time for which they were blocked, by their own clocks, in ns.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const workers = 6

var waits = [3]time.Duration{35 * time.Millisecond, 15 * time.Millisecond, 20 * time.Millisecond}
var tenants = [3]string{"acme", "globex", ""}

// Its thread is called "worker", and stays its own.
func ownThread() {
	name := []byte("worker\x00")
	runtime.LockOSThread()
	syscall.RawSyscall(syscall.SYS_PRCTL, 15, uintptr(unsafe.Pointer(&name[0])), 0)
}

func hold() {
	var begun sync.WaitGroup
	var pipe [2]int
	if syscall.Pipe(pipe[:]) != nil {
		os.Exit(3)
	}
	for i := 0; i < workers; i++ {
		begun.Add(1)
		go func(i int) {
			ownThread()
			labels := []string{"tenant", tenants[i%2], "route", "/a b", "worker", strconv.Itoa(i)}
			for k := 0; i == workers-1 && k < 12; k++ {
				labels = append(labels, "more"+strconv.Itoa(k), strings.Repeat("x", k))
			}
			pprof.Do(context.Background(), pprof.Labels(labels...), func(context.Context) {
				var byte [1]byte
				begun.Done()
				for {
					syscall.Read(pipe[0], byte[:])
				}
			})
		}(i)
	}
	begun.Wait()
	fmt.Println("ready", os.Getpid())
	time.Sleep(time.Hour)
}

// Nanoseconds that the thread was on a CPU, or waited for one.
func notBlocked(schedstat int) int64 {
	var text [128]byte
	n, _ := syscall.Pread(schedstat, text[:], 0)
	field := strings.Fields(string(text[:max(n, 0)]))
	if len(field) < 2 {
		os.Exit(4)
	}
	ran, _ := strconv.ParseInt(field[0], 10, 64)
	waited, _ := strconv.ParseInt(field[1], 10, 64)
	return ran + waited
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func waitFor(schedstat int, request int, spent *[3]int64) {
	at, other := time.Now(), notBlocked(schedstat)
	pause := syscall.NsecToTimespec(int64(waits[request]))
	syscall.Nanosleep(&pause, nil)
	passed := int64(time.Since(at)) - (notBlocked(schedstat) - other)
	atomic.AddInt64(&spent[request], passed)
}

func turn(over *int32, spent *[3]int64) {
	ownThread()
	schedstat, err := syscall.Open("/proc/thread-self/schedstat", syscall.O_RDONLY, 0)
	if err != nil {
		os.Exit(4)
	}
	for atomic.LoadInt32(over) == 0 {
		for request, tenant := range tenants {
			if tenant == "" {
				waitFor(schedstat, request, spent)
				continue
			}
			pprof.Do(context.Background(), pprof.Labels("tenant", tenant), func(context.Context) {
				waitFor(schedstat, request, spent)
			})
		}
	}
}

func turns(seconds int) {
	var spent [3]int64
	var over int32
	var all sync.WaitGroup
	for i := 0; i < workers; i++ {
		all.Add(1)
		go func() {
			turn(&over, &spent)
			all.Done()
		}()
	}
	fmt.Println("ready", os.Getpid())
	time.Sleep(time.Duration(seconds) * time.Second)
	atomic.StoreInt32(&over, 1)
	all.Wait()
	fmt.Println(spent[0], spent[1], spent[2])
}

func main() {
	runtime.GOMAXPROCS(workers + 2) // none waits for another to leave a processor of Go's
	if len(os.Args) > 2 && os.Args[1] == "turns" {
		seconds, _ := strconv.Atoi(os.Args[2])
		turns(seconds)
		return
	}
	hold()
}
