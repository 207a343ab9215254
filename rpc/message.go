package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// The codes of errors. All but the last two are JSON-RPC's own. Clients distinguish errors by the codes, so they are stable. The texts are
// for people and may change. A request that the client can correct has codeParams.
const (
	codeParse    = -32700 // the line is not JSON
	codeInvalid  = -32600 // it is JSON, but not a request
	codeMethod   = -32601 // there is no such method
	codeParams   = -32602 // a parameter is missing, of the wrong type, or names no open session
	codeInternal = -32603 // a bug
	codeFailed   = -32000 // the library says why
	// codeCancelled is that of the Language Server Protocol: the client cancelled the request, or the server was told to stop.
	codeCancelled = -32800
)

// rpcError is an error with a code.
type rpcError struct {
	code    int
	message string
}

func (e *rpcError) Error() string { return e.message }

func badParams(format string, args ...any) error {
	return &rpcError{codeParams, fmt.Sprintf(format, args...)}
}

// request is one request as it came.
type request struct {
	id     json.RawMessage // nil for a notification, which is not answered
	method string
	params json.RawMessage
}

var null = json.RawMessage("null")

// parseRequest parses one request. If it fails, the request still has the id for the answer. The id is sent back byte for byte, because
// clients may compare it as text.
func parseRequest(text []byte) (request, error) {
	var raw struct {
		JSONRPC json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		var syntax *json.SyntaxError
		if rawjson.Valid(text) && errors.As(err, &syntax) { // it is nested more deeply than encoding/json reads
			r := request{id: rawjson.Get(text, "id")}
			if r.id == nil || !isScalar(r.id) {
				r.id = null
			}
			return r, &rpcError{codeInvalid, "the request nests more than 10,000 levels deep"}
		}
		if errors.As(err, &syntax) {
			return request{id: null}, &rpcError{codeParse, "not JSON: " + err.Error()}
		}
		return request{id: null}, &rpcError{codeInvalid, "a request must be a JSON object"}
	}
	r := request{id: raw.ID, params: raw.Params}
	// An answer with the id null tells the client about its mistake. Without an answer, it would wait forever.
	invalid := func(message string) (request, error) {
		if r.id == nil {
			r.id = null
		}
		return r, &rpcError{codeInvalid, message}
	}
	if r.id != nil && !isScalar(r.id) {
		r.id = null
		return invalid("the id must be a string, a number or null")
	}
	if !utf8.Valid(text) { // encoding/json accepts it, and an append would write it to the log unchanged
		return invalid("the request is not UTF-8")
	}
	if string(raw.JSONRPC) != `"2.0"` {
		return invalid(`"jsonrpc" must be "2.0"`)
	}
	if len(raw.Method) == 0 || raw.Method[0] != '"' || json.Unmarshal(raw.Method, &r.method) != nil {
		return invalid(`"method" must be a string`)
	}
	return r, nil
}

// isScalar reports whether a value can be an id. The value is valid JSON, so its first byte tells its type.
func isScalar(value json.RawMessage) bool {
	c := value[0]
	return c == '"' || c == '-' || c >= '0' && c <= '9' || c == 'n'
}

// answer returns the line of an answer with a result or an error. The result is already JSON and is copied byte for byte.
func answer(id json.RawMessage, result []byte, err error) []byte {
	line := make([]byte, 0, len(result)+len(id)+64)
	line = append(append(line, `{"jsonrpc":"2.0","id":`...), id...)
	if err == nil {
		line = append(append(line, `,"result":`...), result...)
		return append(line, '}')
	}
	e := coded(err)
	line = fmt.Appendf(line, `,"error":{"code":%d,"message":`, e.code)
	line = append(line, quote(e.message)...)
	if word := wire.ErrorKind(err); word != "" {
		line = fmt.Appendf(line, `,"data":{"kind":%q}`, word)
	}
	return append(line, `}}`...)
}

// coded gives an error its code.
func coded(err error) *rpcError {
	var e *rpcError
	var id *store.IDError
	switch {
	case errors.As(err, &e):
		return e
	// The library refused a parameter.
	case errors.As(err, &id), errors.Is(err, place.ErrUnknownDialect), errors.Is(err, store.ErrProfile):
		return &rpcError{codeParams, err.Error()}
	case errors.Is(err, context.Canceled):
		return &rpcError{codeCancelled, strings.Replace(err.Error(), context.Canceled.Error(), "the request was cancelled", 1)}
	}
	return &rpcError{codeFailed, err.Error()}
}

// quote encodes a string as JSON.
func quote(s string) []byte {
	text, err := encode(s)
	if err != nil {
		return []byte(`""`) // a string always encodes
	}
	return text
}

// quoteOrNull encodes a string as JSON, and "" as null.
func quoteOrNull(s string) []byte {
	if s == "" {
		return null
	}
	return quote(s)
}

// optional returns nil, which is null in JSON, for "".
func optional[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

// arrayOf is array for the results of a store's method.
func arrayOf[T any](values [][]byte, err error) (raw[[]T], error) {
	if err != nil {
		return nil, err
	}
	return array(values), nil
}

// array makes a JSON array of values that are already JSON.
func array(values [][]byte) []byte {
	size := 2
	for _, v := range values {
		size += len(v) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// utf8Line replaces bytes that are not UTF-8, which a log may have and JSON may not. Nearly all lines are valid, and the check costs less
// than a copy.
func utf8Line(line []byte) []byte {
	if utf8.Valid(line) {
		return line
	}
	return bytes.ToValidUTF8(line, []byte("\uFFFD"))
}
