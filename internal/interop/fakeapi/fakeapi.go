// Package fakeapi is a stand-in for APIs of language models on the loopback interface: Anthropic's Messages, OpenAI's Responses and chats,
// and Google's contents. It keeps every request and answers each with a short text, "reply 1", "reply 2" and so on: the requests show what
// an agent sends when it resumes a session. It can call the agent's tools first. It checks no key and contacts no other host.
package fakeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// API is the interface of a request.
type API string

// The interfaces that are answered. Any other request gets "not found".
const (
	Messages  API = "messages"
	Tokens    API = "count_tokens"
	Responses API = "responses"
	Chat      API = "completions"
	Contents  API = "streamGenerateContent"
	Content   API = "generateContent" // without a stream
)

// Request is a request of an agent to one of the interfaces.
type Request struct {
	API  API
	Body []byte
}

// Call is a tool call with which the stand-in answers.
type Call struct {
	// Namespace is the namespace of the tool, only in the Responses API; "" for none.
	Namespace, Name string
	Arguments       json.RawMessage
}

// Server is a running stand-in.
type Server struct {
	http *http.Server
	url  string

	mu       sync.Mutex
	calls    []Call
	requests []Request
	replies  int
}

// Start listens on a free port of the loopback interface.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{url: "http://" + l.Addr().String()}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(l) }() // Serve ends with Close
	return s, nil
}

// URL returns the base of the URLs, without a slash at its end.
func (s *Server) URL() string { return s.url }

// Close ends the server. It waits for requests that are being answered.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// Use makes the stand-in answer with these calls, one after the other, each to a request that offers the tool and has the results of the
// calls before. After that it answers with texts again.
func (s *Server) Use(calls ...Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = calls
}

// CallID returns the id of the nth call of Use, from 0.
func CallID(n int) string { return fmt.Sprintf("toolu_fake%06d", n) }

// next returns the call with which a request is answered, or nil.
func (s *Server) next(body []byte) (id string, c *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.calls {
		c := &s.calls[n]
		switch {
		case bytes.Contains(body, []byte(CallID(n))):
		case bytes.Contains(body, []byte(`"name":"`+c.Name+`"`)):
			return CallID(n), c
		default:
			return "", nil
		}
	}
	return "", nil
}

// Take returns the requests since the last Take, in the order of their arrival.
func (s *Server) Take() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.requests
	s.requests = nil
	return taken
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	api := API(r.URL.Path[strings.LastIndexAny(r.URL.Path, "/:")+1:])
	if r.Method != http.MethodPost {
		api = ""
	}
	switch api {
	case Messages:
		id, call := s.next(body)
		answerMessages(w, body, s.reply(api, body), id, call)
	case Responses:
		id, call := s.next(body)
		answerResponses(w, s.reply(api, body), id, call)
	case Chat:
		id, call := s.next(body)
		answerChat(w, body, s.reply(api, body), id, call)
	case Contents, Content:
		answerContents(w, s.reply(api, body), api == Contents)
	case Tokens:
		s.keep(api, body)
		send(w, http.StatusOK, []byte(`{"input_tokens":10}`))
	default:
		send(w, http.StatusNotFound, []byte(`{"type":"error","error":{"type":"not_found_error","message":"not part of the stand-in"}}`))
	}
}

func (s *Server) keep(api API, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{api, body})
}

// reply keeps a request and returns the number of its answer.
func (s *Server) reply(api API, body []byte) int {
	s.keep(api, body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies++
	return s.replies
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the agent may have gone
}

// stream writes server-sent events.
type stream struct {
	w http.ResponseWriter
}

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w}
}

// event sends an event of the type that its data names.
func (s stream) event(kind string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // the data is ours
	}
	_, _ = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, text) // the agent may have gone
}
