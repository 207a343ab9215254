package rpc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/treeline-dev/treeline/store"
)

// Whether a method takes a session. It decides in which queue a request waits.
const (
	never = iota
	always
	maybe
)

// method is a row of the table: what a method is called, what it takes and gives, and how it is carried out. Decoding,
// rpc.discover and docs/rpc.md come from it.
type method struct {
	name string
	// doc says what the method does and gives. Its first sentence is the summary.
	doc     string
	session int
	// long: it may take long and waits in a queue of its own, so that the other methods without a session do not wait for it.
	long bool
	// params is a struct. The parameter "session" is not in it; see session.
	params, result reflect.Type
	// list is what decoding wants to know of params.
	list func() []param
	// do takes a pointer to params and gives a result.
	do func(c *call, params any) (any, error)
}

// section is a part of the table, with the heading that it has in docs/rpc.md.
type section struct {
	title   string
	methods []method
}

// call is a request that is being carried out. open is nil for a request without a session; fresh is the session that it
// opens, if its client wants to be told of events.
type call struct {
	*client
	open, fresh *openSession
	params      json.RawMessage
	then        []func()
}

// after has f called once the answer is written.
func (c *call) after(f func()) { c.then = append(c.then, f) }

// free is a method that takes no session.
func free[P, R any](name, doc string, f func(*call, P) (R, error)) method {
	return row(name, doc, never, f)
}

// slow makes a method without a session one that may take long.
func slow(m method) method {
	m.long = true
	return m
}

// on is a method of a session.
func on[P, R any](name, doc string, f func(*call, P) (R, error)) method {
	return row(name, doc, always, f)
}

// either is a method that takes a session if the client names one.
func either[P, R any](name, doc string, f func(*call, P) (R, error)) method {
	return row(name, doc, maybe, f)
}

// get is a method of a session without parameters.
func get[R any](name, doc string, f func(*call, *store.Session) (R, error)) method {
	return row(name, doc, always, func(c *call, _ struct{}) (R, error) { return f(c, c.open.s) })
}

// row makes a row of the table. The types of f are those of the method: a row cannot promise anything else. What can be done without the types is
// in method.call: each of 80 pairs of types gets its own code here.
func row[P, R any](name, doc string, session int, f func(*call, P) (R, error)) method {
	return newMethod(name, doc, session, reflect.TypeFor[P](), reflect.TypeFor[R](), func(c *call, params any) (any, error) {
		return f(c, *params.(*P))
	})
}

//go:noinline
func newMethod(name, doc string, session int, params, result reflect.Type, do func(*call, any) (any, error)) method {
	return method{name: name, doc: doc, session: session, params: params, result: result, do: do,
		list: sync.OnceValue(func() []param { return paramsOf(params) })}
}

// call carries out a request. It gives JSON, null if the method has no result.
func (m *method) call(c *call) ([]byte, error) {
	params := reflect.New(m.params).Interface()
	if err := decode(c.params, params, m.list()); err != nil {
		return nil, err
	}
	result, err := m.do(c, params)
	if err != nil {
		return nil, err
	}
	return encode(result)
}

// raw is a result that is JSON already and is passed on byte for byte. T is its shape.
type raw[T any] []byte

func (r raw[T]) text() []byte      { return r }
func (raw[T]) shape() reflect.Type { return reflect.TypeFor[T]() }

// written is implemented by raw for every T.
type written interface {
	text() []byte
	shape() reflect.Type
}

// nothing is the result of a method that only does something: null.
type nothing struct{}

// encode gives a result as JSON.
func encode(result any) ([]byte, error) {
	switch r := result.(type) {
	case written:
		return r.text(), nil
	case nothing:
		return null, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	// Escaping for browsers (\u003c for "<") is of no use on a pipe.
	e.SetEscapeHTML(false)
	if err := e.Encode(result); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
