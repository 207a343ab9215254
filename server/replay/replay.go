// Package replay plays the model of a recorded run: it is an HTTP endpoint in the form of the chat-completions interface, which most agents
// can be pointed to, and sends the recorded responses one after the other. No model is called.
//
// The responses come in the order of the run, whatever the agent asks. The point of a replay is to see where the agent differs; going on
// after a difference shows what follows from it. Recorded failures are played as well.
//
// The endpoint serves this machine only: a client that reaches it can read the run.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
)

// ErrEmpty means that the run has no request to a model, so there is nothing to play.
var ErrEmpty = errors.New("the run has no request to a model")

// Loopback checks a HOST:PORT to listen on, or a Host header: it must be 127.0.0.1, ::1 or localhost. Other names are
// not looked up, since what they resolve to can change.
func Loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("invalid address %q: use HOST:PORT", addr)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("invalid address %q: only this machine is served; use 127.0.0.1, ::1 or localhost", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("invalid address %q: the port is not a number up to 65535", addr)
	}
	return net.JoinHostPort(host, port), nil
}

// Served reports one request. Difference is nil if the request is the recorded one.
type Served struct {
	Seq        int64
	Difference *run.Difference
	Error      string
}

// Result reports how far a replay came: the requests that were recorded, those that were served, and those that differed.
type Result struct{ Requests, Served, Differed int }

// Player answers requests with the responses of a run.
type Player struct {
	log  *run.Log
	list []run.Exchange
	told func(Served)
	done chan struct{} // closed when all responses are written
	// patience is how long a client may take to send a request, and to read the response.
	patience time.Duration

	// mu guards the fields below. It is not held while a response is written, so that a slow client delays no other one.
	mu       sync.Mutex
	served   int // responses taken
	writing  int // responses being written
	differed int
}

// New makes a player of a run. It calls told for each request, one at a time, before the response is written.
func New(l *run.Log, told func(Served)) (*Player, error) {
	p := &Player{log: l, list: l.Exchanges(), told: told, done: make(chan struct{}), patience: 30 * time.Second}
	if len(p.list) == 0 {
		return nil, ErrEmpty
	}
	return p, nil
}

// Serve answers requests until all responses have been sent or ctx ends. It closes the listener.
func (p *Player) Serve(ctx context.Context, l net.Listener) (Result, error) {
	server := &http.Server{Handler: p, ReadHeaderTimeout: p.patience, ReadTimeout: p.patience, WriteTimeout: 2 * p.patience}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(l) }()
	select {
	case err := <-stopped:
		return Result{}, err
	case <-p.done:
	case <-ctx.Done():
	}
	// A slow client gets five seconds to read the last response.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return Result{Requests: len(p.list), Served: p.served, Differed: p.differed}, nil
}

// ServeHTTP answers chat completions, with and without /v1 since some clients add it, and the list of models. It refuses a Host header that
// is not loopback: with DNS rebinding, a page in a browser could read the run. It also refuses an Origin that is not loopback: any page in
// a browser could use up the responses without reading them.
func (p *Player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, err := Loopback(net.JoinHostPort(hostname(r.Host), "0"))
	switch path := strings.TrimPrefix(r.URL.Path, "/v1"); {
	case err != nil || !sameMachine(r.Header.Values("Origin")):
		failure(w, http.StatusForbidden, "forbidden", "only this machine is served")
	case r.Method == http.MethodPost && path == "/chat/completions":
		p.complete(w, r)
	case r.Method == http.MethodGet && path == "/models":
		p.models(w)
	default:
		failure(w, http.StatusNotFound, "not_found", "there is only POST /v1/chat/completions")
	}
}

// hostname returns a Host header in lower case, without the port and the brackets of an IPv6 address. Either may be missing.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	return strings.ToLower(host)
}

// sameMachine reports whether a request comes from a page of this machine or from a program, which sends no Origin.
func sameMachine(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil {
			return false
		}
		if _, err := Loopback(net.JoinHostPort(strings.ToLower(u.Hostname()), "0")); err != nil {
			return false
		}
	}
	return true
}

func failure(w http.ResponseWriter, status int, kind, message string) {
	reply(w, status, run.ChatError(kind, message))
}

// reply sends an answer. It ignores errors of the client's connection.
func reply(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// mostBody limits the body of a request. A conversation with images has a few megabytes.
const mostBody = 256 << 20

// complete sends the next recorded response.
func (p *Player) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		failure(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	if !rawjson.IsObject(body) || !rawjson.Valid(body) || !rawjson.IsArray(rawjson.Get(body, "messages")) {
		failure(w, http.StatusBadRequest, "bad_request", "the body must be a JSON object with a list of messages")
		return
	}
	x, d, err := p.next(body)
	if errors.Is(err, errUsedUp) {
		failure(w, http.StatusGone, "used_up", fmt.Sprintf("all %d recorded responses were given", len(p.list)))
		return
	}
	defer p.written()
	if err != nil {
		failure(w, http.StatusInternalServerError, "unreadable", err.Error())
		return
	}
	w.Header().Set("X-Treeline-Seq", strconv.FormatInt(x.Seq, 10))
	if d != nil {
		pointer := strconv.QuoteToASCII(d.Pointer) // a header is ASCII; a pointer need not be
		w.Header().Set("X-Treeline-Difference", pointer[1:len(pointer)-1])
	}
	if err := p.answer(w, x, body); err != nil {
		failure(w, http.StatusInternalServerError, "unreadable", err.Error())
	}
}

var errUsedUp = errors.New("all recorded responses were given")

// next takes the next exchange, compares the request with the recorded one, and reports it. Concurrent requests get the responses in order.
// The caller must call written afterwards, except after errUsedUp.
func (p *Player) next(body []byte) (run.Exchange, *run.Difference, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.served >= len(p.list) {
		return run.Exchange{}, nil, errUsedUp
	}
	x := p.list[p.served]
	p.served++
	p.writing++
	d, err := run.CompareChat(x, body)
	s := Served{Seq: x.Seq, Difference: d}
	switch {
	case err != nil:
		s = Served{Seq: x.Seq, Error: err.Error()}
	case d != nil:
		p.differed++
	}
	p.told(s)
	return x, d, err
}

// written notes that a response has been written.
func (p *Player) written() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing--
	if p.writing == 0 && p.served == len(p.list) {
		close(p.done)
	}
}

// answer sends the recorded response, whole or streamed, or the recorded failure. If the log cannot be read, it returns an error before it
// writes anything.
func (p *Player) answer(w http.ResponseWriter, x run.Exchange, body []byte) error {
	if !x.Answered {
		status, text, err := run.Failure(p.log, x)
		if err == nil {
			reply(w, status, text)
		}
		return err
	}
	a, err := run.NewAnswer(p.log.Header.RunID, x)
	if err != nil {
		return err
	}
	if string(rawjson.Get(body, "stream")) != "true" {
		reply(w, http.StatusOK, a.JSON())
		return nil
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	usage := rawjson.Truthy(rawjson.At(body, "/stream_options/include_usage"))
	for _, chunk := range append(a.Chunks(usage), []byte("[DONE]")) { // [DONE] ends a stream
		if _, err := fmt.Fprintf(w, "data: %s\n\n", chunk); err != nil {
			return nil // the client has gone
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	return nil
}

// models sends a list with the model of the run, which some agents ask for first.
func (p *Player) models(w http.ResponseWriter) {
	name := "recorded"
	if m := p.log.Header.Model; m != nil && m.Name != "" {
		name = m.Name
	}
	reply(w, http.StatusOK, fmt.Appendf(nil, `{"object":"list","data":[{"id":%s,"object":"model","created":0,"owned_by":"treeline"}]}`, rawjson.Quote(name)))
}
