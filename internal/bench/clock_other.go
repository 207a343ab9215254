//go:build !unix

package main

import (
	"os"
	"time"
)

// The rows are the same, but less precise on a busy machine.
const clockName = "elapsed time (this system does not tell processor time)"

var began = time.Now()

func clock() time.Duration { return time.Since(began) }

func forgetPeak() {}

// maxMemory is unknown here; 0 meets every limit of memory.
func maxMemory(*os.ProcessState) int64 { return 0 }
