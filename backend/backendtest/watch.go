package backendtest

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
)

// watched is a watch and the names it reported.
type watched struct {
	*prober
	io.Closer
	names chan string
}

// watch starts to watch as the contract says: Watch, then List.
func (p *prober) watch() *watched {
	p.Helper()
	w := &watched{prober: p, names: make(chan string, 1<<16)}
	var err error
	w.Closer, err = p.b.(backend.Watcher).Watch(func(name string, err error) {
		if err != nil {
			p.Error(err)
		}
		w.names <- name
	})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = w.Close() })
	w.list("")
	return w
}

// told waits until a log is reported, listing folders as the contract says. Other reports are ignored.
func (w *watched) told(want string) {
	w.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case name := <-w.names:
			if name == want {
				return
			}
			if name == "" || strings.HasSuffix(name, "/") && strings.HasPrefix(want, name) {
				if slices.ContainsFunc(w.list(name), func(at backend.Log) bool { return at.Name == want }) {
					return
				}
			}
		case <-late:
			w.Fatalf("%s was never reported", want)
		}
	}
}

// forget drops what was reported so far.
func (w *watched) forget() {
	for len(w.names) > 0 {
		<-w.names
	}
}

// watchTells: every kind of change is reported.
func watchTells(t *testing.T, p *prober) {
	if _, ok := p.b.(backend.Watcher); !ok {
		return // the capability is optional
	}
	at := p.fill("a/old.jsonl", `{"n":1}`)
	w := p.watch()
	at = p.append(at, `{"n":2}`)
	w.told("a/old.jsonl")
	at = p.replace(at, `{"n":3}`)
	w.told("a/old.jsonl")
	p.fill("a/new.jsonl", `{"n":4}`)
	w.told("a/new.jsonl")
	p.fill("b/c/deep.jsonl", `{"n":5}`)
	w.told("b/c/deep.jsonl")
	w.forget()
	p.append(p.stat("b/c/deep.jsonl"), `{"n":6}`) // in new folders
	w.told("b/c/deep.jsonl")
	w.forget()
	p.remove(at)
	w.told("a/old.jsonl")
	p.fill("a/old.jsonl", `{"n":7}`)
	w.told("a/old.jsonl")
}

// watchTellsOfOthers: changes by other programs are reported too.
func watchTellsOfOthers(t *testing.T, p *prober) {
	if _, ok := p.b.(backend.Watcher); !ok {
		return
	}
	p.put("x.jsonl", "{}\n")
	w := p.watch()
	for _, content := range []string{"{}\n{}\n", "{}", ""} {
		w.forget()
		p.put("x.jsonl", content)
		w.told("x.jsonl")
	}
	p.put("folder/in/y.jsonl", "{}\n")
	w.told("folder/in/y.jsonl")
}

// watchEnds: a watch ends with its own Close, which may be called twice, and with that of the backend.
func watchEnds(t *testing.T, p *prober) {
	if _, ok := p.b.(backend.Watcher); !ok {
		return
	}
	at := p.fill("a.jsonl", `{}`)
	first, second := p.watch(), p.watch()
	for range 2 {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	first.forget()
	p.append(at, `{}`)
	second.told("a.jsonl") // one watch does not end another
	if len(first.names) > 0 {
		t.Error("told after Close")
	}
	if err := p.b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	_, err := p.b.(backend.Watcher).Watch(func(string, error) {})
	p.is(err, backend.ErrClosed, "")
}

// hold opens a log and returns a function that renews it and checks what it holds then; nil if the backend cannot.
func (p *prober) hold(at backend.Log) (renewed func(want string, wantGrew bool)) {
	o, ok := p.b.(backend.Opener)
	if !ok {
		return nil
	}
	r, err := o.Open(p.ctx, at)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = r.Close() })
	held, ok := r.(backend.Renewer)
	if !ok {
		return nil
	}
	return func(want string, wantGrew bool) {
		p.Helper()
		size, grew, err := held.Renew()
		if err != nil || grew != wantGrew || size != int64(len(want)) {
			p.Fatalf("size %d, grew %v, error %v; want %d, %v", size, grew, err, len(want), wantGrew)
		}
		got := make([]byte, size)
		if _, err := held.ReadAt(got, 0); err != nil && err != io.EOF || string(got) != want {
			p.Fatalf("holds %q (%v), want %q", got, err, want)
		}
	}
}

// renew: a held log grows, and stays the same log after its name was given to another log.
func renew(t *testing.T, p *prober) {
	at := p.fill("a.jsonl", `{"n":1}`)
	renewed := p.hold(at)
	if renewed == nil {
		return // the capability is optional
	}
	renewed("{\"n\":1}\n", true)
	at = p.append(at, `{"n":2}`)
	renewed("{\"n\":1}\n{\"n\":2}\n", true)
	at = p.replace(p.append(at, `{"n":3}`), `{"n":4}`)
	renewed("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n", true) // the log that was opened
	p.remove(at)
	renewed("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n", true)
}

// renewChanged: a held log that is rewritten in place has not grown.
func renewChanged(t *testing.T, p *prober) {
	renewed := p.hold(p.put("a.jsonl", "{\"n\":1}\n{\"n\":2}\n"))
	if renewed == nil {
		return
	}
	for _, content := range []string{"{\"n\":1}\n", "{\"m\":1}\n{\"m\":2}\n", ""} {
		p.put("a.jsonl", content)
		renewed(content, false)
	}
}
