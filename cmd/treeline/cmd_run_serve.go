package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	runlog "github.com/treeline-dev/treeline/run"
)

// loopback checks that an address is of this machine alone: whoever can reach the endpoint can read the run.
// A name other than localhost is not looked up: what it resolves to can change, and the check would be worth
// nothing.
func loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("--addr %q: it is HOST:PORT", addr)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("--addr %q: only this machine itself is served: 127.0.0.1, ::1 or localhost", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("--addr %q: no port", addr)
	}
	return net.JoinHostPort(host, port), nil
}

// serveRun plays the model until the run is used up or ctx ends.
// The URL is the first line on stdout, so that a script can start an agent with it. The command ends by itself
// when all is served, which is what a test of an agent waits for.
func (a *app) serveRun(ctx context.Context, l *runlog.Log, addr string, asJSON bool) error {
	p := &player{a: a, log: l, list: l.Exchanges(), json: asJSON, done: make(chan struct{})}
	if len(p.list) == 0 {
		return errors.New("the run has no request to a model")
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 10 * time.Second}
	if err := p.tell("http://"+listener.Addr().String()+"/v1", urlJSON{"http://" + listener.Addr().String() + "/v1"}); err != nil {
		listener.Close()
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	select {
	case err := <-stopped:
		return err
	case <-p.done:
	case <-ctx.Done():
	}
	// The last answer is on its way to the agent.
	// Five seconds are for a slow client to read its answer; nothing else is under way.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
	return p.finish()
}

type urlJSON struct {
	URL string `json:"url"`
}

// player answers requests with what was recorded.
// Requests are answered one after the other, in the order of the run, whatever the agent asks: the point of a
// replay is to see where it differs, and going on after a difference shows what follows.
type player struct {
	a    *app
	log  *runlog.Log
	list []runlog.Exchange
	json bool
	done chan struct{} // closed when the last answer is given

	mu      sync.Mutex
	next    int
	differ  int
	telling error // a line that could not be printed
}

// handler takes both spellings of the path, since some clients add /v1 to the base themselves.
func (p *player) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", p.complete)
	mux.HandleFunc("POST /chat/completions", p.complete)
	mux.HandleFunc("GET /v1/models", p.models)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		failure(w, http.StatusNotFound, "not_found", "there is only POST /v1/chat/completions")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page in a browser must not get here under a name of its own.
		// DNS rebinding: its name then points to this machine, but the Host header still has the name.
		if _, err := loopback(net.JoinHostPort(hostname(r.Host), "0")); err != nil {
			failure(w, http.StatusForbidden, "forbidden", "only this machine itself is served")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// hostname is a Host header without its port, which a client leaves out on port 80 and behind a proxy. An address of IPv6
// has brackets around it either way; names are the same in any case.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		if h, ok := strings.CutSuffix(inner, "]"); ok {
			host = h
		}
	}
	return strings.ToLower(host)
}

func failure(w http.ResponseWriter, status int, kind, message string) {
	reply(w, status, runlog.ChatError(kind, message))
}

func reply(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that went away does not want to know.
	_, _ = w.Write(append(body, '\n'))
}

// mostBody is how long a request may be; a conversation with pictures is a few megabytes.
const mostBody = 256 << 20

// complete answers with the next recorded response.
func (p *player) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		failure(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	if !rawjson.IsObject(body) || !rawjson.Valid(body) || !rawjson.IsArray(rawjson.Get(body, "messages")) {
		failure(w, http.StatusBadRequest, "bad_request", "the body must be a JSON object with a list of messages")
		return
	}
	// Held while the answer is written: an agent that asks twice at once gets the two answers in order.
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next >= len(p.list) {
		failure(w, http.StatusGone, "used_up", fmt.Sprintf("all %d recorded responses were given", len(p.list)))
		return
	}
	x := p.list[p.next]
	p.next++
	// deferred, so that the answer is written before the server is told to stop
	if p.next == len(p.list) {
		defer close(p.done)
	}
	d, err := runlog.CompareChat(x, body)
	if err != nil {
		failure(w, http.StatusInternalServerError, "unreadable", err.Error())
		p.note(fmt.Sprintf("request %d: %v", x.Seq, err), servedJSON{Seq: x.Seq, Error: err.Error()})
		return
	}
	w.Header().Set("X-Treeline-Seq", strconv.FormatInt(x.Seq, 10))
	if d == nil {
		p.note(fmt.Sprintf("request %d: as recorded", x.Seq), servedJSON{Seq: x.Seq})
	} else {
		p.differ++
		// A pointer may hold any character, a header may not; the quotes of QuoteToASCII are cut off.
		w.Header().Set("X-Treeline-Difference", strconv.QuoteToASCII(d.Pointer)[1:len(strconv.QuoteToASCII(d.Pointer))-1])
		p.note(fmt.Sprintf("request %d differs at %s", x.Seq, d.Describe("recorded", "got")), servedJSON{Seq: x.Seq, Difference: d})
	}
	p.answer(w, x, body)
}

// answer gives what came of an exchange: its response, whole or in pieces, or the recorded failure.
// A failure that was recorded is played, too: how an agent copes with it is worth testing.
func (p *player) answer(w http.ResponseWriter, x runlog.Exchange, body []byte) {
	if !x.Answered {
		status, text, err := runlog.Failure(p.log, x)
		if err != nil {
			failure(w, http.StatusInternalServerError, "unreadable", err.Error())
			return
		}
		reply(w, status, text)
		return
	}
	a, err := runlog.NewAnswer(p.log.Header.RunID, x)
	if err != nil {
		failure(w, http.StatusInternalServerError, "unreadable", err.Error())
		return
	}
	if string(rawjson.Get(body, "stream")) != "true" {
		reply(w, http.StatusOK, a.JSON())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	usage := rawjson.Truthy(rawjson.At(body, "/stream_options/include_usage"))
	// [DONE] ends a stream in this interface.
	for _, chunk := range append(a.Chunks(usage), []byte("[DONE]")) {
		if _, err := fmt.Fprintf(w, "data: %s\n\n", chunk); err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

// models lists the model of the run: some agents ask before they begin.
func (p *player) models(w http.ResponseWriter, _ *http.Request) {
	name := "recorded"
	if m := p.log.Header.Model; m != nil && m.Name != "" {
		name = m.Name
	}
	reply(w, http.StatusOK, fmt.Appendf(nil, `{"object":"list","data":[{"id":%s,"object":"model","created":0,"owned_by":"treeline"}]}`, rawjson.Quote(name)))
}

// servedJSON tells of one request, for programs.
// It is a stable format: difference is null where the request was as recorded.
type servedJSON struct {
	Seq        int64              `json:"seq"`
	Difference *runlog.Difference `json:"difference"`
	Error      string             `json:"error,omitempty"`
}

// tell prints a line, at once.
func (p *player) tell(line string, v any) error {
	if p.json {
		return writeJSON(p.a.stdout, v)
	}
	_, err := fmt.Fprintln(p.a.stdout, screen.OneLine(line, 0))
	return err
}

// note is tell for those who go on without a reader.
func (p *player) note(line string, v any) {
	if err := p.tell(line, v); err != nil && p.telling == nil {
		p.telling = err
	}
}

// finish tells how far it came.
func (p *player) finish() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("%d of %s served, %d differed", p.next, counted(len(p.list), "request", "requests"), p.differ)
	p.note(line, struct {
		Requests int `json:"requests"`
		Served   int `json:"served"`
		Differed int `json:"differed"`
	}{len(p.list), p.next, p.differ})
	switch {
	case p.telling != nil && !closedPipe(p.telling):
		return p.telling
	case p.differ > 0:
		return quietError{errors.New("requests differed")}
	}
	return nil
}
