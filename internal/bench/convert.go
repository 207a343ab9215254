package main

import (
	"os"
	"path/filepath"
)

// crossings are the conversions that are measured: each family once as the source and once as the target, and the pair that
// takes the most memory. bytes are those of the generated session that becomes 100 MB in the format of the source.
var crossings = []struct {
	from, data string
	bytes      int
	to         string
}{
	{"claude", "claude", 66_700_000, "pi"},
	{"pi", "session", 100_000_000, "claude"},
	{"pi", "session", 100_000_000, "operator"},
	{"operator", "operator", 113_000_000, "codex"},
	{"codex", "codex", 83_000_000, "wave"},
	{"wave", "wave", 136_000_000, "omp"},
}

// conversion measures the memory of conversions of a session of 100 MB: it must not depend on the size of the session.
func conversion(b *bench) {
	p := b.program(filepath.Join(b.dir, "home"))
	log := filepath.Join(b.dir, "0f8fad5b-d9cb-469f-a165-70867728950f.jsonl")
	for _, c := range crossings {
		apart(c.data, log, 1, int64(b.size(c.bytes)))
		clear := func() { check(os.RemoveAll(p.home)); check(os.MkdirAll(p.home, 0o700)) }
		used := p.costs(1, clear, "convert", log, "--dialect", c.from, "--to", c.to)
		b.memory("convert "+c.from+" to "+c.to, used.memory, ms(used.cpu), 250)
		check(os.Remove(log))
	}
	check(os.RemoveAll(p.home))
}
