package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// fetchCmd asks the server that background started, whose first line is its URL, and prints the status and the answer:
//
//	fetch GET /api/v1/version 'Header: value'
//	fetch POST /api/v1/sessions/ID/label '{"entry":"a"}'
//
// Without another argument than a path it is a GET. The first argument may be -k, for a certificate of certificateCmd.
func fetchCmd(ts *testscript.TestScript, neg bool, args []string) {
	b := ts.Value(backgroundKey{}).(map[string]*background)[""]
	b.mu.Lock()
	url, _, _ := strings.Cut(string(b.text), "\n")
	b.mu.Unlock()
	ts.Setenv("SERVER", strings.TrimSuffix(url, "/"))
	client := &http.Client{Timeout: time.Minute}
	if args[0] == "-k" {
		client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		args = args[1:]
	}
	method := http.MethodGet
	if !strings.HasPrefix(args[0], "/") {
		method, args = args[0], args[1:]
	}
	var body io.Reader
	var headers []string
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "{") {
			body, headers = strings.NewReader(arg), append(headers, "Content-Type: application/json")
		} else {
			headers = append(headers, arg)
		}
	}
	r, err := http.NewRequest(method, strings.TrimSuffix(url, "/")+args[0], body)
	ts.Check(err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	res, err := client.Do(r)
	ts.Check(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d\n%s\n", res.StatusCode, text)
	if neg == (res.StatusCode < 400) {
		ts.Fatalf("%s %s: %d %s; want neg != %v", method, args[0], res.StatusCode, text, (res.StatusCode < 400))
	}
}

// certificateCmd writes a certificate for this machine and its key: certificate CERT KEY
func certificateCmd(ts *testscript.TestScript, _ bool, args []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	ts.Check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	for i, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: der}, {Type: "PRIVATE KEY", Bytes: secret}} {
		ts.Check(os.WriteFile(ts.MkAbs(args[i]), pem.EncodeToMemory(block), 0o600))
	}
}

// occupyCmd listens on a port until the script ends, and sets a variable to the address: occupy VARIABLE
func occupyCmd(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}
