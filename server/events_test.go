package server_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/server"
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
	return m.hearAs(url, after, "")
}

// hearAs is hear with a header Authorization.
func (m *machine) hearAs(url, after, authorization string) *listener {
	m.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	m.must(err)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultClient.Do(r)
	m.must(err)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream" {
		m.Fatalf(`%s: %d %s; want res.StatusCode == 200, kind == "text/event-stream"`, url, res.StatusCode, kind)
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

// next returns the next event.
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

// Two clients see the same events in the same order, even if one goes away and comes back. A stream of one session has only its events.
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
		if i == 20 { // it misses some, and gets them when it is back
			seen[1] = append(seen[1], two.next())
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
	if diff := difftest.Diff(seen[0], seen[1]); diff != "" {
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
	// The query can name the starting position, too.
	again := m.hear(base+"/api/v1/sessions/"+beds+"/events?after="+seen[0][count-3][0], "")
	if e := again.next(); e != seen[0][count-2] {
		t.Errorf("resumed with %v", e)
	}
}

// A client of another process, or one that was away too long, is told to read anew.
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
	for { // a client that reads too slowly is told to reload, too
		if e := first.next(); e[1] == "reload" || strings.Contains(e[2], `"id":"m2099"`) {
			break
		}
	}
	l := m.hear(base+"/api/v1/events", start)
	if e := l.next(); e[1] != "reload" {
		t.Errorf("after too many events: %v", e)
	}
	m.add(garden+"pond.jsonl", said("p2", "p1", "user", "on it goes"))
	for { // first may have been told to reload before the last of the many events
		e := l.next()
		if e[1] != "entry" {
			t.Fatalf("after that: %v", e)
		}
		if strings.Contains(e[2], "on it goes") {
			return
		}
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
	words := strings.Fields("tomato bed water seed function return error value context server table index leaf branch commit file path read write lock queue")
	random, parent := rand.New(rand.NewPCG(1, 2)), "b3"
	for i := range 40 { // text that compresses badly
		var text strings.Builder
		for text.Len() < 5000 {
			fmt.Fprintf(&text, "%s%d ", words[random.IntN(len(words))], random.IntN(1000))
		}
		id := fmt.Sprint("t", i)
		m.add(garden+"beds.jsonl", said(id, parent, "user", text.String()))
		parent = id
	}
	paths := []string{
		"/s/" + beds, "/api/v1/sessions/" + beds + "/entries?cursor=20.t39", "/api/v1/sessions/" + beds + "/context", "/api/v1/sessions/" + beds + "/events",
		"/api/v1/sessions/" + beds + "/tree",
	}
	for _, path := range paths[:3] { // what is made only once
		m.get(path)
	}
	const clients = 100
	before := heap()
	var open []net.Conn
	for i := range clients {
		c, err := net.Dial("tcp", base)
		m.must(err)
		open = append(open, c)
		m.must(c.(*net.TCPConn).SetReadBuffer(32 << 10))
		encoding := ""
		if i%2 == 0 {
			encoding = "Accept-Encoding: gzip\r\n"
		}
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", paths[i%len(paths)], base, encoding)
		m.must(err)
	}
	for _, c := range open { // each one has the beginning of its answer
		m.must(c.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err := c.Read(make([]byte, 1))
		m.must(err)
	}
	each := int64(0)
	for end := wait(t); ; { // what they do not read is soon in a file
		if each = (heap() - before) / clients; each <= 64<<10 {
			break
		}
		select {
		case <-end:
			t.Fatalf("a slow client holds %d bytes", each)
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Logf("a slow client holds %d bytes", each)
	for i, c := range open[:len(paths)] { // the rest comes when they read
		m.must(c.SetReadDeadline(time.Now().Add(time.Minute)))
		m.must(c.(*net.TCPConn).SetReadBuffer(1 << 20))
		res, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader("H"), c)), nil)
		m.must(err)
		if strings.HasSuffix(paths[i], "/events") {
			continue
		}
		body := io.Reader(res.Body)
		if res.Header.Get("Content-Encoding") == "gzip" {
			body, err = gzip.NewReader(body)
			m.must(err)
		}
		text, err := io.ReadAll(body)
		if end := strings.TrimSpace(string(text)); err != nil || !strings.HasSuffix(end, "}") && !strings.HasSuffix(end, "]") && !strings.HasSuffix(end, "</html>") {
			t.Errorf("%s: %d bytes, %v", paths[i], len(text), err)
		}
	}
	for _, c := range open {
		m.must(c.Close())
	}
}

// A client that accepts nothing for too long is dropped, both from an answer and from a stream of events.
func TestDropped(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(o *server.Options) { o.Patience = 200 * time.Millisecond })
	base := strings.TrimPrefix(m.listen(), "http://")
	m.add(garden+"beds.jsonl", said("b4", "b3", "user", strings.Repeat("x", 12<<20)))
	in := func(want int) {
		t.Helper()
		for end := wait(t); ; {
			text := m.get("/metrics")
			if strings.Contains(text, fmt.Sprintf("treeline_requests_in_flight %d\n", want+1)) { // including this one
				return
			}
			select {
			case <-end:
				t.Fatalf("want %d requests in\n%s", want, text)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	for _, path := range []string{"/api/v1/sessions/" + beds + "/entries/b4", "/api/v1/events"} {
		c, err := net.Dial("tcp", base)
		m.must(err)
		m.must(c.(*net.TCPConn).SetReadBuffer(32 << 10))
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, base)
		m.must(err)
		in(1)
		if strings.HasSuffix(path, "events") {
			var many strings.Builder
			for i := range 2000 { // more than the system holds for it
				many.WriteString(said(fmt.Sprint("m", i), "p1", "user", strings.Repeat("y", 4000)))
			}
			m.add(garden+"pond.jsonl", many.String())
		}
		in(0)
		m.must(c.Close())
	}
}

// heap returns the memory in use. The smallest of several measurements counts, since other work goes on.
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

// A watch that cannot begin keeps no request waiting.
func TestWithoutWatch(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.must(m.store.Close())
	if w := m.ask("GET", "/api/v1/sessions", ""); w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s; want w.Code == http.StatusInternalServerError", w.Code, w.Body)
	}
}

// No more requests and streams than allowed are answered at the same time.
func TestLimits(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(o *server.Options) { o.MaxRequests, o.MaxStreams = 1, 1 })
	m.add(garden+"beds.jsonl", said("b4", "b3", "user", strings.Repeat("x", 12<<20)))
	base := m.listen()
	stream := m.hear(base+"/api/v1/events", "")
	if w := m.ask("GET", "/api/v1/events", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a second stream: %d", w.Code)
	}
	stream.stop()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	m.must(err)
	m.must(c.(*net.TCPConn).SetReadBuffer(32 << 10))
	_, err = fmt.Fprintf(c, "GET /api/v1/sessions/%s/entries/b4 HTTP/1.1\r\nHost: localhost\r\n\r\n", beds)
	m.must(err)
	_, err = c.Read(make([]byte, 1)) // it is in progress
	m.must(err)
	w := m.ask("GET", "/api/v1/version", "")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a second request: %d", w.Code)
	}
	if w := m.ask("GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("health: %d", w.Code)
	}
	m.must(c.Close())
}

// A client that does not send its request, or sends too long a header, is dropped.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing, func(o *server.Options) { o.Patience = 300 * time.Millisecond })
	base := strings.TrimPrefix(m.listen(), "http://")
	for name, text := range map[string]string{
		"nothing":       "",
		"half a header": "GET / HTTP/1.1\r\nHost: loc",
		"half a body":   "POST /api/v1/sessions/" + beds + "/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"a long header": "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
	} {
		c, err := net.Dial("tcp", base)
		m.must(err)
		_, _ = io.WriteString(c, text) // the connection may end before all is sent
		m.must(c.SetReadDeadline(time.Now().Add(time.Minute)))
		answer, err := io.ReadAll(c)
		var late net.Error
		if errors.As(err, &late) && late.Timeout() || strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf(`%s: %v, %.40q; want not (errors.As(err, &late) && late.Timeout()), not strings.HasPrefix(string(answer), "HTTP/1.1 200")`, name, err, answer)
		}
		_ = c.Close()
	}
}

// A stream may last longer than the time for sending a request.
func TestStreamLasts(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(o *server.Options) { o.Patience = 900 * time.Millisecond })
	l := m.hear(m.listen()+"/api/v1/events", "")
	<-time.After(1200 * time.Millisecond)
	m.add(garden+"beds.jsonl", said("b4", "b3", "user", "still here"))
	if e := l.next(); !strings.Contains(e[2], "still here") {
		t.Errorf("told %v", e)
	}
}
