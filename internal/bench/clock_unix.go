//go:build unix

package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

const clockName = "CPU time"

// clock returns the CPU time of this process, in user mode and in the kernel, on all its threads.
func clock() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // getrusage cannot fail with a valid argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forgetPeak releases memory, and resets the peak of this process. On Linux the peak of a child begins with that of the process that
// started it.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // without this file, the peak of a child is its own
}

// maxMemory returns the peak memory of a child in bytes; 0 if it is unknown.
func maxMemory(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	// Kilobytes everywhere but on darwin.
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) * 1024
}
