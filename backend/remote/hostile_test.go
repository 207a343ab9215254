package remote_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/server"
)

// odd starts a server that answers everything with this function, and opens it. It may be silent for some time.
func odd(t *testing.T, silence time.Duration, answer http.HandlerFunc) backend.Backend {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	opt := remote.Options{
		Roots: roots, Token: func(string) (string, error) { return secret, nil }, Patience: 50 * time.Millisecond, Silence: silence,
	}
	b, err := driver(opt).Open(s.URL, backend.OpenOptions{Below: "laptop/omp"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// all calls every method once, and returns the errors.
func all(ctx context.Context, b backend.Backend) map[string]error {
	at := backend.Log{Name: "a.jsonl", Generation: "1", Size: 4}
	out := map[string]error{}
	_, out["Stat"] = b.Stat(ctx, at.Name)
	_, out["Create"] = b.Create(ctx, at.Name, []byte("{}"))
	_, out["Append"] = b.Append(ctx, at, []byte("{}"))
	_, out["Replace"] = b.Replace(ctx, at, []byte("{}"))
	out["Remove"] = b.Remove(ctx, at)
	for _, err := range b.Read(ctx, at, 0) {
		out["Read"] = errors.Join(out["Read"], err)
	}
	for _, err := range b.List(ctx, "") {
		out["List"] = errors.Join(out["List"], err)
	}
	_, out["ReadAll"] = backend.ReadAll(ctx, b, at)
	_, _, out["OpenNow"] = backend.OpenNow(ctx, b, at.Name)
	_, _, out["Ends"] = backend.Ends(ctx, b, at, make([]byte, 2), make([]byte, 2))
	_, out["Folders"] = backend.Folders(ctx, b, "")
	_, out["Identity"] = b.(backend.Identified).Identity(ctx)
	_, out["Extend"] = b.(backend.Mirror).Extend(ctx, at, "m", strings.NewReader("x"))
	_, out["Overwrite"] = b.(backend.Mirror).Overwrite(ctx, at, "m", strings.NewReader("x"))
	for _, err := range b.(backend.Mirror).Marks(ctx, "") {
		out["Marks"] = errors.Join(out["Marks"], err)
	}
	blobs := b.(blob.Keeper).Blobs(at.Name)
	_, out["Get"] = blob.Get(ctx, blobs, blob.Sum([]byte("x")))
	_, out["Put"] = blobs.Put(ctx, []byte("x"))
	_, out["Has"] = blobs.Has(ctx, blob.Sum([]byte("x")))
	return out
}

// ours marks an answer as that of a treeline server.
func ours(w http.ResponseWriter) { w.Header().Set(protocol.Version, protocol.Current) }

// Every method notices, and soon, when something other than a treeline server answers.
func TestStrangers(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	t.Cleanup(other.Close)
	refuse := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   error
		text   string
	}{
		"page":    {refuse(200, "<html>hello</html>"), remote.ErrNotServer, "text/html"},
		"nothing": {refuse(404, "404 page not found"), remote.ErrNotServer, "404"},
		"older":   {refuse(404, `{"error":{"message":"there is nothing at this path","code":2}}`), remote.ErrNotServer, "older version"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/x", http.StatusTemporaryRedirect)
		}, remote.ErrNotServer, other.URL},
		"token":   {refuse(401, `{"error":{"message":"no","code":2}}`), remote.ErrToken, "wrong, expired or revoked"},
		"project": {refuse(403, `{"error":{"message":"the token \"t\" is limited to projects","code":2}}`), remote.ErrForbidden, "limited to projects"},
		"escapes": {refuse(403, `{"error":{"message":"\u001b[2Jred\u202e\n`+strings.Repeat("long", 10_000)+`"}}`), remote.ErrForbidden, "[2Jred"},
		"gateway": {refuse(502, "bad gateway"), nil, "502"},
		"broken":  {refuse(500, `{"error":{"message":"disk full","code":1}}`), nil, "disk full"},
		"cut":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, "cannot be reached"},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) {
			ours(w)
			io.WriteString(w, "[1,")
		}, nil, ""},
		"another log": {func(w http.ResponseWriter, _ *http.Request) {
			ours(w)
			protocol.Describe(w.Header(), backend.Log{Generation: "2", Size: 1 << 50})
			io.WriteString(w, `{"name":"../../etc/passwd","generation":"1","size":3}`+"\n")
		}, nil, "any object"},
		"silence": {func(w http.ResponseWriter, r *http.Request) {
			ours(w)
			protocol.Describe(w.Header(), backend.Log{Generation: "1", Size: 4})
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			silence := time.Minute
			if name == "silence" {
				silence = 20 * time.Millisecond
			}
			b := odd(t, silence, tc.answer)
			began := time.Now()
			for method, err := range all(t.Context(), b) {
				switch {
				case err == nil && (tc.text != "any object" || method != "Identity" && method != "Put"):
					t.Errorf("%s: no error", method)
				case err == nil || tc.text == "any object":
				case tc.want != nil && !errors.Is(err, tc.want), !strings.Contains(err.Error(), tc.text):
					t.Errorf("%s: %v, want %v (%s)", method, err, tc.want, tc.text)
				case strings.ContainsAny(err.Error(), "\x1b\u202e") || len(err.Error()) > 3000 || strings.Contains(err.Error(), secret):
					t.Errorf("%s: %.300q must not be shown", method, err)
				}
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Cleanup(func() {
		if stolen.Load() > 0 {
			t.Error("a redirect was followed")
		}
	})
}

// A server cannot make a client hold or believe what the client did not ask for.
func TestWrongSizes(t *testing.T) {
	t.Parallel()
	endless := func(w http.ResponseWriter, piece string) {
		for {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}
	at := backend.Log{Name: "a.jsonl", Generation: "1", Size: 4}
	for name, answer := range map[string]http.HandlerFunc{
		"longer":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}\n\n\n") },
		"shorter": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}\n") },
		"endless": func(w http.ResponseWriter, _ *http.Request) { endless(w, "{}\n") },
		"bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", protocol.Zstd)
			w.Write(protocol.Pack(nil, make([]byte, 200<<10)))
		},
		"encoding": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "{}\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := odd(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
				ours(w)
				protocol.Describe(w.Header(), backend.Log{Generation: "1", Size: 4})
				answer(w, r)
			})
			if got, err := backend.ReadAll(t.Context(), b, at); err == nil {
				t.Errorf("ReadAll gave %q", got)
			}
			var last error
			for _, err := range b.Read(t.Context(), at, 0) {
				last = err
			}
			if last == nil {
				t.Error("Read has no error")
			}
			if name == "endless" {
				return // blobs may be large
			}
			if _, err := blob.Get(t.Context(), b.(blob.Keeper).Blobs("a.jsonl"), blob.Sum([]byte("{}"))); err == nil {
				t.Error("a blob with other bytes was accepted")
			}
		})
	}
	for name, lines := range map[string]string{
		"order":   `{"name":"laptop/omp/b","generation":"1","size":0}` + "\n" + `{"name":"laptop/omp/a","generation":"1","size":0}` + "\n",
		"twice":   strings.Repeat(`{"name":"laptop/omp/b","generation":"1","size":0}`+"\n", 2),
		"climbs":  `{"name":"laptop/omp/../../x","generation":"1","size":0}` + "\n",
		"outside": `{"name":"desk/omp/x","generation":"1","size":0}` + "\n",
		"size":    `{"name":"laptop/omp/x","generation":"1","size":-1}` + "\n",
		"line":    strings.Repeat("x", 1<<20),
		"no end":  `{"name":"laptop/omp/x","generation":"1","size":0}` + "\n",
	} {
		t.Run("list "+name, func(t *testing.T) {
			t.Parallel()
			b := odd(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
				ours(w)
				io.WriteString(w, lines)
			})
			var last error
			for _, err := range b.List(t.Context(), "") {
				last = err
			}
			if last == nil {
				t.Error("the list has no error")
			}
		})
	}
}

// certificate makes a certificate for a host with an end.
func certificate(t *testing.T, host string, until time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: until.Add(-time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// Every way in which a connection is unsafe has an error that names it, and no request is sent.
func TestTLS(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tc := range map[string]struct {
		host  string
		until time.Time
		known bool
		want  string
	}{
		"expired":   {"127.0.0.1", now.Add(-time.Hour), true, "its certificate is valid from"},
		"unknown":   {"127.0.0.1", now.Add(time.Hour), false, "does not know"},
		"otherHost": {"host.example", now.Add(time.Hour), true, "for another host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair, roots := certificate(t, tc.host, tc.until)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
			s.StartTLS()
			t.Cleanup(s.Close)
			opt := remote.Options{Roots: roots}
			if !tc.known {
				opt.Roots = x509.NewCertPool()
			}
			b, err := remote.Open(s.URL, opt, backend.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if _, err := b.Stat(t.Context(), "a/b/c.jsonl"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	gone := "https://" + plain.Listener.Addr().String()
	for root, want := range map[string]string{gone: "does not speak TLS", "https://127.0.0.1:1": "cannot be reached", "https://no.such.host.invalid": "cannot be reached"} {
		b, err := remote.Open(root, remote.Options{}, backend.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Stat(t.Context(), "a/b/c.jsonl")
		host := strings.TrimPrefix(root, "https://")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), host) != 1 {
			t.Errorf("%s: %v, want %q and the host once", root, err, want)
		}
		b.Close()
	}
}

// A token that is wrong, missing or read-only gets an error of its own, and so does a server without an archive.
func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	open := func(url, token string) backend.Backend {
		opt := b.opt
		opt.Token = func(string) (string, error) { return token, nil }
		d, err := driver(opt).Open(url, backend.OpenOptions{Below: "a/b"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	for token, want := range map[string]string{"": "none is set", "another token": "wrong, expired or revoked"} {
		if _, err := open(b.URL, token).Stat(t.Context(), "c.jsonl"); !errors.Is(err, remote.ErrToken) || !strings.Contains(err.Error(), want) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	for what, change := range map[string]func(*server.Options){
		"--write":    func(o *server.Options) { o.Write = false },
		"no archive": func(o *server.Options) { o.Archive = nil },
	} {
		other := newBox(t, change)
		b.opt = other.opt
		if _, err := open(other.URL, secret).Create(t.Context(), "c.jsonl", []byte("{}")); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v; want an error, strings.Contains(err.Error(), what)", what, err)
		}
	}
}

// A revoked token ends a call at its first answer: the server counts wrong tokens. A server that cuts off its answers, or gives none, is
// asked again after pauses, and what is still missing then is an error.
func TestServerFails(t *testing.T) {
	t.Parallel()
	const patience = 300 * time.Millisecond
	for what, most := range map[string]int64{"revoked": 1, "cut off": 20, "gone": 40} {
		var asked atomic.Int64
		b := odd(t, time.Second, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/stat") {
				ours(w)
				_, _ = io.WriteString(w, `{"name":"laptop/omp/a.jsonl","generation":"1","size":4}`)
				return
			}
			asked.Add(1)
			switch what {
			case "revoked":
				w.WriteHeader(http.StatusUnauthorized)
				return
			case "gone":
				panic(http.ErrAbortHandler)
			}
			ours(w)
			protocol.Describe(w.Header(), backend.Log{Generation: "1", Size: 4})
		})
		b.(*remote.Backend).SetPatience(patience)
		at, err := b.Stat(t.Context(), "a.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for _, err = range b.List(t.Context(), "") {
		}
		if n := asked.Swap(0); err == nil || n > most || (what == "revoked") != errors.Is(err, remote.ErrToken) {
			t.Errorf("%s: a list asked %d times: %v", what, n, err)
		}
		err = nil
		for _, err = range b.Read(t.Context(), at, 0) {
		}
		if n := asked.Load(); err == nil || errors.Is(err, io.EOF) || n > most || (what == "revoked") != errors.Is(err, remote.ErrToken) {
			t.Errorf("%s: a read asked %d times: %v", what, n, err)
		}
	}
}

// If a server repeats the token, as debugging proxies do, no error contains it.
func TestTokenRepeated(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 302, 400, 403, 404, 409, 502} {
		for _, ours := range []bool{true, false} {
			b := odd(t, time.Second, func(w http.ResponseWriter, r *http.Request) {
				said := r.Header.Get("Authorization")
				if ours {
					w.Header().Set(protocol.Version, protocol.Current)
				}
				w.Header().Set("Content-Type", said)
				w.Header().Set("Location", "https://elsewhere.example/"+said)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"name":"laptop/omp/x","problem":"`+said+`","error":{"message":"you sent `+said+`"}}`+"\n")
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			for method, err := range all(ctx, b) {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%d, ours %v: %s: %v", status, ours, method, err)
				}
			}
			cancel()
		}
	}
}

// A caller may begin to read an answer later than a server may be silent.
func TestSlowCaller(t *testing.T) {
	t.Parallel()
	const silence = 200 * time.Millisecond
	b := odd(t, silence, func(w http.ResponseWriter, _ *http.Request) {
		ours(w)
		_, _ = io.WriteString(w, "x")
	})
	r, err := b.(blob.Keeper).Blobs("a.jsonl").Open(t.Context(), blob.Sum([]byte("x")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	time.Sleep(2 * silence)
	if got, err := io.ReadAll(r); err != nil || string(got) != "x" {
		t.Errorf("read %q, %v; want x", got, err)
	}
}
