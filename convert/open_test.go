package convert_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/store"
)

// An id means its last entry. So the way through the entries after a call may come back to where it began, where a program
// wrote an id twice.
func TestConvertRepeatedID(t *testing.T) {
	t.Parallel()
	const log = `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/garden"}
{"type":"message","id":"a","parentId":"p","timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"user","content":"How deep?"}}
{"type":"message","id":"p","parentId":"a","timestamp":"2026-03-02T14:00:02.000Z","message":{"role":"user","content":"And how wide?"}}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-02T14:00:03.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"measure","arguments":{}}],"provider":"p","model":"m","stopReason":"toolUse"}}
`
	w, folder := inMemory(t)
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", log)
	src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: w.Format("pi")})
	w.Must(err)
	opt := convert.Options{To: w.Format("operator"), Dir: folder(), Write: w.Write(store.WriteOptions{})}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		there, _, err := convert.Session(ctx, w.Store, src, opt)
		if err == nil {
			err = there.Close()
		}
		done <- err
	}()
	select {
	case err := <-done:
		w.Must(err)
		w.Must(src.Close())
	case <-ctx.Done():
		t.Fatal("the conversion does not end")
	}
}

// asking counts how often it is asked whether it is done.
type asking struct {
	context.Context
	asked *int
}

func (c asking) Err() error {
	*c.asked++
	return c.Context.Err()
}

// Very many entries may have one id. What follows the last of them seems to follow each, and is looked through once: twice the session is
// twice the work.
func TestConvertRepeatedAnswers(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	work := func(n int) (asked int) {
		var b strings.Builder
		b.WriteString(`{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/garden"}` + "\n")
		for i := range n {
			fmt.Fprintf(&b, `{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c%d","name":"measure","arguments":{}}],"provider":"p","model":"m","stopReason":"toolUse"}}`+"\n", i)
		}
		parent := "a"
		for i := range n {
			id := fmt.Sprintf("u%d", i)
			fmt.Fprintf(&b, `{"type":"message","id":"%s","parentId":"%s","timestamp":"2026-03-02T14:00:02.000Z","message":{"role":"user","content":"How deep?"}}`+"\n", id, parent)
			parent = id
		}
		src, err := w.Open(t.Context(), w.Put(fmt.Sprintf("in/%d/019cab00-0000-7000-8000-00000000000a.jsonl", n), b.String()), store.OpenOptions{Dialect: w.Format("pi")})
		w.Must(err)
		defer src.Close()
		there, _, err := convert.Session(asking{t.Context(), &asked}, w.Store, src, convert.Options{To: w.Format("operator"), Dir: folder(), Write: w.Write(store.WriteOptions{})})
		w.Must(err)
		w.Must(there.Close())
		return asked
	}
	once, twice := work(100), work(200)
	if once < 100 || twice > 3*once {
		t.Errorf("a session of 200 entries is asked about %d times, one of 400 %d times", once, twice)
	}
}
