package main

import (
	"fmt"
	"os/exec"
	"time"
)

// command measures the start of the program, since shells and editors start it often.
func command(b *bench) error {
	// Built as it is shipped.
	program, err := b.build()
	if err != nil {
		return err
	}
	least, memory := time.Duration(1<<63-1), int64(1<<62)
	// The first run reads the program from disk, and others may be interrupted.
	for range 5 * b.rounds {
		cmd := exec.Command(program, "version")
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("treeline version: %w", err)
		}
		least = min(least, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		memory = min(memory, maxMemory(cmd.ProcessState))
	}
	// 15 ms and 25 MB go unnoticed in a prompt or an editor.
	b.add(row{what: "treeline version, CPU", figure: ms(least), ratio: float64(least) / 1e6, unit: "ms", target: 15, most: true})
	b.add(row{what: "treeline version, memory", figure: mb(memory), ratio: float64(memory) / 1e6, unit: "MB", target: 25, most: true})
	return nil
}
