package session_test

import (
	"fmt"
	"log"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/session"
)

// garden is a session of oh-my-pi in which the same question was answered twice.
const garden = `{"type":"session","version":3,"id":"5e55","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/work/garden"}
{"type":"message","id":"q","parentId":null,"timestamp":"2026-03-01T08:00:01.000Z","message":{"role":"user","content":"plan the beds"}}
{"type":"message","id":"six","parentId":"q","timestamp":"2026-03-01T08:00:02.000Z","message":{"role":"assistant","content":"six of them"}}
{"type":"message","id":"two","parentId":"q","timestamp":"2026-03-01T08:00:03.000Z","message":{"role":"assistant","content":"two will do"}}
`

// text is a log in memory.
type text string

func (t text) Bytes(s session.Span) ([]byte, error) { return []byte(t[s.Offset:s.End()]), nil }

// tree decodes a log. A program that has a store gets the tree from it, and the store detects the dialect.
func tree(log text) (*session.Tree, error) {
	b := session.NewBuilder("garden.jsonl", log)
	err := dialect.DecodeLog(pi.Omp.NewDecoder(b), []byte(log))
	return b.Finish(), err
}

// The context at a leaf is what the model sees there: the messages from the root on, byte for byte.
func ExampleBuildContext() {
	t, err := tree(garden)
	if err != nil {
		log.Fatal(err)
	}
	for _, leaf := range []session.EntryID{t.LeafID(), "six"} {
		c, err := session.BuildContext(t, leaf, session.ContextOptions{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("at", leaf)
		for m, err := range c.Messages() {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(string(m.JSON))
		}
	}
	// Output:
	// at two
	// {"role":"user","content":"plan the beds"}
	// {"role":"assistant","content":"two will do"}
	// at six
	// {"role":"user","content":"plan the beds"}
	// {"role":"assistant","content":"six of them"}
}

// What does not fit together is kept and reported, with its place in the log.
func ExampleTree_Problems() {
	t, err := tree(garden + `{"type":"message","id":"lost","parentId":"gone","timestamp":"2026-03-01T08:00:04.000Z","message":{"role":"user","content":"?"}}` + "\n")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Len(), "entries, of these", len(t.Roots()), "roots")
	for _, p := range t.Problems() {
		fmt.Printf("line %d: %s; %s\n", p.Line, p.Message, p.Advice)
	}
	// Output:
	// 4 entries, of these 2 roots
	// line 5: the parent "gone" of entry "lost" does not exist; the entry is kept as a root; what came before it may be lost
}
