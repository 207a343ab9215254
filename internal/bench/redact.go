package main

import (
	"strings"

	"github.com/treeline-dev/treeline/internal/redact"
)

// redacting looks for secrets in the lines of the session, as the check for secrets does. The rate counts on this machine.
func redacting(b *bench) {
	_, log := b.session()
	lines := strings.Split(string(log), "\n")
	redact.Find("") // the rules are made once
	found := 0
	d := b.best(func() {
		for _, line := range lines {
			found += len(redact.Find(line))
		}
	})
	b.add(row{what: "find secrets in texts", figure: ms(d), baseline: mb(int64(len(log))), ratio: 1000 * speed(len(log), d), unit: "MB/s", target: 20})
}
