package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// stuckClient accepts nothing of an answer until it is freed.
type stuckClient struct {
	http.ResponseWriter
	waits chan<- bool
	freed <-chan struct{}
}

func (c stuckClient) Write(b []byte) (int, error) {
	c.waits <- true
	<-c.freed
	return len(b), nil
}

// Downloads that one caller does not read do not block those of another.
func TestSlowDownloads(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	const path = "/s/" + beds + "/export?format=txt"
	freed, ended := make(chan struct{}), make(chan bool)
	count := 0
	for ; count < 10; count++ {
		waits := make(chan bool, 100)
		w := httptest.NewRecorder()
		h := httptest.NewRequest("GET", path, nil)
		h.Host = "localhost"
		h.Header.Set("Authorization", "Bearer "+m.tokens["reader"])
		go func() {
			m.ServeHTTP(stuckClient{w, waits, freed}, h)
			ended <- true
		}()
		<-waits // the client has either the file or the reason why there is none
		if w.Code == http.StatusServiceUnavailable {
			count++
			break
		}
	}
	if count == 10 {
		t.Error("one caller may have any number of downloads")
	}
	if code, body := m.as("looker", "GET", path, ""); code != 200 {
		t.Errorf("another caller: %d %s", code, body)
	}
	close(freed)
	for range count {
		<-ended
	}
	if code, body := m.as("reader", "GET", path, ""); code != 200 {
		t.Errorf("afterwards: %d %s", code, body)
	}
}
