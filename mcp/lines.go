package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines passes on the lines of an input that are messages. The SDK closes the connection after any other line; here such a line is answered
// with an error, and the next line is read.
type lines struct {
	in      *bufio.Reader
	out     io.Writer
	pending []byte // rest of the line that is being passed on
}

// longest is the largest length of a line. It leaves the SDK space for what it reads ahead.
const longest = sdk.DefaultMaxLineLength / 2

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.pending) == 0 {
		line, err := l.next()
		if err != nil {
			return 0, err
		}
		if len(line) == 0 {
			continue
		}
		if code, err := checked(line); err != nil {
			if err := l.refuse(idOf(line), code, err); err != nil {
				return 0, err
			}
			continue
		}
		l.pending = append(line, '\n')
	}
	n := copy(p, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}

// next returns the next line without surrounding white space. Of a line that is too long, it returns only the beginning, one byte more than
// the limit.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part[:min(len(part), longest+1-len(line))]...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return bytes.TrimSpace(line), nil
		default:
			return nil, err
		}
	}
}

// checked returns why a line is not a message.
func checked(line []byte) (code int, err error) {
	switch {
	case len(line) > longest:
		return jsonrpc.CodeInvalidRequest, fmt.Errorf("the line has more than %d bytes", longest)
	case !json.Valid(line):
		return jsonrpc.CodeParseError, errors.New("the line is not JSON")
	case line[0] == '[':
		return jsonrpc.CodeInvalidRequest, errors.New("batches are not supported: send one message per line")
	}
	m, err := jsonrpc.DecodeMessage(line)
	r, answer := m.(*jsonrpc.Response)
	id := memberOf(line, "id")
	switch {
	case err != nil, answer && r.Result == nil && r.Error == nil:
		err = errors.New("the line is not a message of JSON-RPC 2.0")
	case id != nil && !exact(id):
		err = errors.New("the id must be a string, or a whole number of at most 2^53")
	}
	return jsonrpc.CodeInvalidRequest, err
}

// exact reports whether the SDK, which converts numbers to floats, returns an id unchanged.
func exact(id json.RawMessage) bool {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return id[0] == '"' || err == nil && n >= -1<<53 && n <= 1<<53
}

// memberOf returns the value of a member of an object, or nil if it has no such member.
func memberOf(object []byte, name string) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(object, &members) // anything but an object has no members
	return members[name]
}

// idOf returns the id of a line that is not a message, for the answer: null if it has none.
func idOf(line []byte) string {
	if id := memberOf(line, "id"); id != nil && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9') {
		return string(id)
	}
	return "null"
}

// refuse answers a line that is not passed on.
func (l *lines) refuse(id string, code int, why error) error {
	text, err := json.Marshal(why.Error())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, text)
	return err
}

// locked is a writer for concurrent use. It stays open when the connection is closed.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Close implements io.Closer.
func (l *locked) Close() error { return nil }
