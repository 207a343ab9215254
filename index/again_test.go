package index

import "testing"

// TestAgain: a chunk is marked as having the signature of the chunk before only if the caller has seen that signature. Otherwise the
// caller's decision about another signature would exclude the log.
func TestAgain(t *testing.T) {
	var s signatures
	var pieces []piece
	for _, names := range [][2]string{{"a", "b"}, {"c", "d"}} {
		signer := Signer{Whole: true}
		logs := make([]Log, len(names))
		for i, name := range names {
			signer.Add([]byte("word "+name), 0, 5)
			from, to, _ := signer.Leave()
			logs[i] = Log{Name: name, Chunks: []Chunk{{From: from, To: to}}}
		}
		s.holdShared(logs, signer.Together())
		for i := range logs {
			pieces = append(pieces, logs[i].pieces...)
		}
	}
	// The third log is not the one that its piece belongs to.
	places := []Log{{Name: "a"}, {Name: "b"}, {Name: "moved"}, {Name: "d"}}
	logs := LogsOf(places)
	w := window{s: &s, sharedAt: -1}
	defer w.close()
	want := []string{"new", "again", "lost", "new"}
	for i, p := range pieces {
		got := "new"
		err := w.each(&Place{Logs: logs, At: i}, p, func(c *Kept) {
			if c.Again {
				got = "again"
			}
		})
		if err != nil {
			got = "lost"
		}
		if got != want[i] {
			t.Errorf("the signature of %s is %s, not %s", places[i].Name, got, want[i])
		}
	}
}
