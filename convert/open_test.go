package convert_test

import (
	"context"
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
