package reply_test

import (
	"log/slog"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/server/reply"
)

// Few answers are in memory at the same time, however many clients ask.
func TestBytesTakeSlots(t *testing.T) {
	t.Parallel()
	s := reply.NewSender(time.Minute, slog.New(slog.DiscardHandler))
	var now, most atomic.Int64
	var all sync.WaitGroup
	slots := int64(max(4, 2*runtime.GOMAXPROCS(0)))
	for range 4 * slots {
		all.Go(func() {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
			err := s.Bytes(w, r, func() ([]byte, error) {
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Millisecond)
				now.Add(-1)
				return []byte("bytes"), nil
			})
			if err != nil || w.Body.String() != "bytes" {
				t.Errorf("%q, %v; want the bytes", w.Body, err)
			}
		})
	}
	all.Wait()
	if n := most.Load(); n > slots {
		t.Errorf("%d at the same time, want at most %d", n, slots)
	}
}
