package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/treeline-dev/treeline/store"
)

// Whether a method takes a session. This decides in which queue a request waits.
const (
	never = iota
	always
	maybe
)

// method is a row of the table: its name, its parameters, its result and the function that carries it out. Decoding, rpc.discover and
// docs/rpc.md are made from it.
type method struct {
	name string
	// doc says what the method does and returns. Its first sentence is the summary.
	doc     string
	session int
	// long means that the method may take long. It waits in a queue of its own, so that the other methods without a session do not wait for
	// it.
	long bool
	// params is a struct type. The parameter "session" is not in it; see session.
	params, result reflect.Type
	// list returns the parameters for decoding.
	list func() []param
	// do is a function that takes a *call and params, and returns a result and an error. bare means that it takes the session in place of
	// params.
	do   reflect.Value
	bare bool
}

// section is a part of the table, with the heading that it has in docs/rpc.md.
type section struct {
	title   string
	methods []*method
}

// call is a request that is being carried out. open is nil for a request without a session. fresh is the session that the request opens if
// its client subscribes to events.
type call struct {
	*client
	open, fresh *openSession
	params      json.RawMessage
	// ctx is for what must be finished once it has begun; outer ends when the client cancels the request or the server is told to stop.
	ctx, outer context.Context
	then       []func()
}

// after schedules f to be called after the answer was written.
func (c *call) after(f func()) { c.then = append(c.then, f) }

// free makes a method that takes no session.
func free[P, R any](name, doc string, f func(*call, P) (R, error)) *method {
	return row(name, doc, never, f)
}

// slow marks a method without a session as one that may take long.
func slow(m *method) *method {
	m.long = true
	return m
}

// on makes a method of a session.
func on[P, R any](name, doc string, f func(*call, P) (R, error)) *method {
	return row(name, doc, always, f)
}

// either makes a method that takes a session if the client gives a handle.
func either[P, R any](name, doc string, f func(*call, P) (R, error)) *method {
	return row(name, doc, maybe, f)
}

// get makes a method of a session without parameters.
func get[R any](name, doc string, f func(*call, *store.Session) (R, error)) *method {
	return row(name, doc, always, f)
}

// row makes a row of the table. The types of f are those of the method, so the table cannot differ from the code. It has no type parameters: each of
// 80 pairs of types would get its own code.
//
//go:noinline
func row(name, doc string, session int, f any) *method {
	do := reflect.ValueOf(f)
	params := do.Type().In(1)
	bare := params == reflect.TypeFor[*store.Session]()
	if bare {
		params = reflect.TypeFor[struct{}]()
	}
	return &method{name: name, doc: doc, session: session, params: params, result: do.Type().Out(0), do: do, bare: bare,
		list: sync.OnceValue(func() []param { return paramsOf(params) })}
}

// call carries out a request. It returns JSON: null if the method has no result.
func (m *method) call(c *call) ([]byte, error) {
	params := reflect.New(m.params)
	if err := decode(c.params, params.Interface(), m.list()); err != nil {
		return nil, err
	}
	with := params.Elem()
	if m.bare {
		with = reflect.ValueOf(c.open.s)
	}
	results := m.do.Call([]reflect.Value{reflect.ValueOf(c), with})
	if err, _ := results[1].Interface().(error); err != nil {
		return nil, err
	}
	return encode(results[0].Interface())
}

// raw is a result that is already JSON and is passed on byte for byte. T is its type in the documents.
type raw[T any] []byte

func (r raw[T]) text() []byte      { return r }
func (raw[T]) shape() reflect.Type { return reflect.TypeFor[T]() }

// written is implemented by raw for every T.
type written interface {
	text() []byte
	shape() reflect.Type
}

// nothing is the result of a method that returns none: null.
type nothing struct{}

// encode encodes a result as JSON.
func encode(result any) ([]byte, error) {
	switch r := result.(type) {
	case written:
		return r.text(), nil
	case nothing:
		return null, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	// Escaping for browsers (\u003c for "<") is useless on a pipe.
	e.SetEscapeHTML(false)
	if err := e.Encode(result); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
