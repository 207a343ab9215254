package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listener is a client of events.
type listener struct {
	*testing.T
	stop   context.CancelFunc
	events chan [3]string // id, event, data
	last   string         // id
}

// hear opens a stream and waits for its first line.
func (m *machine) hear(url, after string) *listener {
	m.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	m.must(err)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	res, err := http.DefaultClient.Do(r)
	m.must(err)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream" {
		m.Fatalf("%s: %d %s", url, res.StatusCode, kind)
	}
	l := &listener{T: m.T, stop: stop, events: make(chan [3]string, 4096)}
	begun := make(chan struct{})
	go func() {
		defer close(l.events)
		defer res.Body.Close()
		var e [3]string
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for first := true; lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e[0] = value
			case "event":
				e[1] = value
			case "data":
				e[2] = value
			case "":
				if e[2] != "" {
					l.events <- e
				}
				if first {
					l.last, first = e[0], false
					close(begun)
				}
				e = [3]string{}
			}
		}
	}()
	m.Cleanup(stop)
	select {
	case <-begun:
	case <-wait(m.T):
		m.Fatal("the stream does not begin")
	}
	return l
}

// next gives the next event.
func (l *listener) next() [3]string {
	l.Helper()
	select {
	case e, ok := <-l.events:
		if !ok {
			l.Fatal("the stream ended")
		}
		l.last = e[0]
		return e
	case <-wait(l.T):
		l.Fatal("no event")
	}
	return [3]string{}
}

// Two clients see the same events in the same order, also one that goes away and comes back; those of one session come alone.
func TestEvents(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	base := m.listen()
	one, two := m.hear(base+"/api/v1/sessions/"+beds+"/events", ""), m.hear(base+"/api/v1/sessions/"+beds+"/events", "")
	all := m.hear(base+"/api/v1/events", "")
	const count = 60
	var seen [2][][3]string
	for i := range count {
		m.add(garden+"beds.jsonl", said(fmt.Sprintf("n%d", i), "b3", "user", fmt.Sprint("number ", i)))
		if i%10 == 0 {
			m.add(garden+"pond.jsonl", said(fmt.Sprintf("q%d", i), "p1", "user", "ripple"))
		}
		seen[0] = append(seen[0], one.next())
		if i == 20 { // it misses some, and is told of them when it is back
			two.stop()
			for e := range two.events {
				two.last = e[0]
				seen[1] = append(seen[1], e)
			}
		}
		if i == 40 {
			two = m.hear(base+"/api/v1/sessions/"+beds+"/events", seen[1][len(seen[1])-1][0])
		}
	}
	for len(seen[1]) < count {
		seen[1] = append(seen[1], two.next())
	}
	if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
		t.Errorf("two clients:\n%s", diff)
	}
	for i, e := range seen[0] {
		if e[1] != "entry" || !strings.Contains(e[2], fmt.Sprintf(`"id":"n%d"`, i)) || !strings.Contains(e[2], fmt.Sprint("number ", i)) {
			t.Errorf("event %d is %v", i, e)
		}
	}
	ripples := 0
	for range count + 6 {
		if e := all.next(); strings.Contains(e[2], "ripple") {
			ripples++
		}
	}
	if ripples != 6 {
		t.Errorf("%d events of the other session", ripples)
	}
	// The address can say where to begin as well.
	again := m.hear(base+"/api/v1/sessions/"+beds+"/events?after="+seen[0][count-3][0], "")
	if e := again.next(); e != seen[0][count-2] {
		t.Errorf("resumed with %v", e)
	}
}

// A client of another process, or one that was away for too long, is told to read anew.
func TestReload(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	base := m.listen()
	first := m.hear(base+"/api/v1/events", "")
	start := first.last
	for _, id := range []string{"0badc0de-7", "nonsense", strings.Split(start, "-")[0] + "-99999"} {
		if e := m.hear(base+"/api/v1/events", id).next(); e[1] != "reload" {
			t.Errorf("after %q: %v", id, e)
		}
	}
	var many strings.Builder
	parent := "b3"
	for i := range 2100 {
		id := fmt.Sprint("m", i)
		many.WriteString(said(id, parent, "user", "x"))
		parent = id
	}
	m.add(garden+"beds.jsonl", many.String())
	for range 2100 {
		first.next()
	}
	l := m.hear(base+"/api/v1/events", start)
	if e := l.next(); e[1] != "reload" {
		t.Errorf("after too many events: %v", e)
	}
	m.add(garden+"pond.jsonl", said("p2", "p1", "user", "on it goes"))
	if e := l.next(); e[1] != "entry" || !strings.Contains(e[2], "on it goes") {
		t.Errorf("after that: %v", e)
	}
}

// A large entry comes without its parts; its id leads to them.
func TestLargeEvent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	l := m.hear(m.listen()+"/api/v1/sessions/"+beds+"/events", "")
	for _, size := range []int{20 << 10, 3 << 20} {
		id := fmt.Sprint("large", size)
		m.add(garden+"beds.jsonl", said(id, "b3", "user", strings.Repeat("x", size)))
		e := l.next()
		if len(e[2]) > 1<<10 || !strings.Contains(e[2], `"id":"`+id+`"`) || strings.Contains(e[2], `"parts"`) {
			t.Errorf("an entry of %d bytes: %.300s", size, e[2])
		}
		if text := m.get("/api/v1/sessions/" + beds + "/entries/" + id); len(text) < size {
			t.Errorf("the entry has %d bytes", len(text))
		}
	}
}

// Clients that do not read hold little memory each.
func TestSlowClients(t *testing.T) {
	m := newMachine(t)
	base := strings.TrimPrefix(m.listen(), "http://")
	text := make([]string, 40)
	for i := range text {
		text[i] = said(fmt.Sprint("t", i), "b3", "user", strings.Repeat(fmt.Sprintf("Row %d of the beds. ", i), 250))
	}
	for i := 1; i < len(text); i++ {
		text[i] = strings.Replace(text[i], `"parentId":"b3"`, fmt.Sprintf(`"parentId":"t%d"`, i-1), 1)
	}
	m.add(garden+"beds.jsonl", strings.Join(text, ""))
	paths := []string{
		"/s/" + beds, "/api/v1/sessions/" + beds + "/entries", "/api/v1/sessions/" + beds + "/context", "/api/v1/sessions/" + beds + "/events",
		"/api/v1/sessions/" + beds + "/context?form=parts",
	}
	for _, path := range paths[:3] { // what is made once
		m.get(path)
	}
	const clients = 100
	before := heap()
	var open []net.Conn
	for i := range clients {
		c, err := net.Dial("tcp", base)
		m.must(err)
		open = append(open, c)
		m.must(c.(*net.TCPConn).SetReadBuffer(4 << 10))
		encoding := ""
		if i%2 == 0 {
			encoding = "Accept-Encoding: gzip\r\n"
		}
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", paths[i%len(paths)], base, encoding)
		m.must(err)
	}
	for _, c := range open { // each has a beginning of its answer
		m.must(c.SetReadDeadline(time.Now().Add(20 * time.Second)))
		_, err := c.Read(make([]byte, 1))
		m.must(err)
	}
	each := (heap() - before) / clients
	for _, c := range open {
		m.must(c.Close())
	}
	if each > 64<<10 {
		t.Errorf("a slow client holds %d bytes", each)
	}
	t.Logf("a slow client holds %d bytes", each)
}

// heap is what is in use. The smallest of several looks counts: other work goes on.
func heap() int64 {
	var list []int64
	for range 3 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		list = append(list, int64(s.HeapInuse+s.StackInuse))
	}
	return slices.Min(list)
}
