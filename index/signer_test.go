package index_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
)

func parse(t *testing.T, text string) *query.Query {
	t.Helper()
	q, err := query.Parse(text, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestSignerChunks: chunks hold whole records in their order, and the signature of a chunk has the words of its records.
func TestSignerChunks(t *testing.T) {
	t.Parallel()
	var s index.Signer
	for range 2 { // when it is reused, it has forgotten everything before
		s.Reset()
		const size, records = 1000, 500
		for i := range records {
			at := int64(i * size)
			s.Add([]byte(fmt.Sprintf("word%d and more", i)), at, at+size-1)
			s.Add([]byte("of the same record"), at, at+size-1)
		}
		chunks := s.Finish()
		if len(chunks) < 4 || len(chunks) > 20 {
			t.Fatalf("%d chunks of %d bytes", len(chunks), records*size)
		}
		end, passed := int64(0), 0
		for _, c := range chunks {
			if c.From < end || c.From%size != 0 || (c.To+1)%size != 0 {
				t.Errorf("chunk [%d, %d) after %d", c.From, c.To, end)
			}
			end = c.To
			for i := range records {
				may, in := parse(t, fmt.Sprint("word", i)).May(kept(c)), int64(i*size) >= c.From && int64(i*size) < c.To
				if in && !may {
					t.Errorf("chunk [%d, %d) does not know word%d", c.From, c.To, i)
				}
				if may && !in {
					passed++
				}
			}
		}
		// One in 64 is expected.
		if most := records * len(chunks) / 25; passed > most {
			t.Errorf("%d false positives, more than %d", passed, most)
		}
	}
}

// TestSignerOverflow: a record with too many words for a filter may contain anything.
func TestSignerOverflow(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&text, "w%d ", i)
	}
	var s index.Signer
	s.Add([]byte(text.String()), 0, int64(text.Len()))
	s.Add([]byte("walrus"), int64(text.Len()), int64(text.Len())+10)
	chunks := s.Finish()
	if len(chunks) != 2 || len(chunks[0].Sig) > 16 {
		t.Fatalf("%d chunks, the first with %d bytes", len(chunks), len(chunks[0].Sig))
	}
	if !parse(t, "anything").May(kept(chunks[0])) || !parse(t, "walrus").May(kept(chunks[1])) || parse(t, "anything").May(kept(chunks[1])) {
		t.Error("the signatures say something else")
	}
}

// TestForeignSignatures: an unknown signature excludes nothing.
func TestForeignSignatures(t *testing.T) {
	t.Parallel()
	for _, c := range []index.Chunk{{}, {Sig: []byte{0}}, {Sig: []byte{0, 0}, Flags: 0xf0}} {
		if !parse(t, "word").May(kept(c)) || !c.Odd() {
			t.Errorf("the signature %x, %x excludes something", c.Flags, c.Sig)
		}
	}
}

// kept returns a chunk as in the index.
func kept(c index.Chunk) *index.Kept { return &index.Kept{Chunk: c} }

// TestSignerLongRun: a run without an end, such as base64, does not list more keys than a record with many words.
func TestSignerLongRun(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = letters[rnd.IntN(len(letters))]
	}
	s := index.Signer{List: true}
	s.Add(text, 0, int64(len(text)))
	c := s.Finish()[0]
	if !c.All() || len(c.Words)+len(c.Grams) > 0 {
		t.Errorf("%d words and %d trigrams are listed; all: %t", len(c.Words), len(c.Grams), c.All())
	}
	s.Reset()
	s.Add(text[:64<<10], 0, 64<<10)
	if c := s.Finish()[0]; c.All() || len(c.Words) == 0 {
		t.Errorf("%d words of a text that is not long are listed; all: %t", len(c.Words), c.All())
	}
}
