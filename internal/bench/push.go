package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// archive is a database server, and a program with sessions that it pushes to the server.
type archive struct {
	b      *bench
	server *pgtest.Server
	admin  *pgx.Conn
	p      program
	env    []string // environment of the program, besides its home
	agent  string
	spent  time.Duration // CPU time of the servers that serve started, when they have ended
}

// benchToken is the token of these servers.
const benchToken = "a-token-for-this-measurement-only"

// withArchive starts a server that syncs to the disk and makes sessions. use is not called if PostgreSQL is not installed.
func (b *bench) withArchive(home string, sessions int, size int64, use func(*archive)) {
	s, err := pgtest.Launch(pgtest.Options{Durable: true})
	if errors.Is(err, pgtest.ErrAbsent) {
		b.leaveOut("postgres", err)
		return
	}
	check(err)
	defer s.Close()
	ctx := context.Background()
	a := &archive{b: b, server: s, admin: must(pgx.Connect(ctx, s.URL(""))), p: b.program(filepath.Join(b.dir, home))}
	defer a.admin.Close(ctx)
	a.agent = filepath.Join(a.p.home, ".omp", "agent")
	check(gen.Tree(a.agent, gen.TreeOptions{Seed: 1, Sessions: sessions, Bytes: size}))
	use(a)
	check(os.RemoveAll(a.p.home))
}

// database makes an empty database.
func (a *archive) database(name string) string {
	must(a.admin.Exec(context.Background(), "create database "+pgx.Identifier{name}.Sanitize()))
	return a.server.URL(name)
}

// command returns a command line of the program.
func (a *archive) command(args ...string) *exec.Cmd {
	cmd := exec.Command(a.p.path, args...)
	cmd.Env = append([]string{"HOME=" + a.p.home, "USERPROFILE=" + a.p.home}, a.env...)
	cmd.Dir = a.p.home
	return cmd
}

// elapsed runs the program and returns the elapsed time. A search that finds nothing is not an error.
func (a *archive) elapsed(args ...string) time.Duration {
	cmd := a.command(args...)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil && !bytes.Contains(problem.Bytes(), []byte("nothing found")) {
		check(fmt.Errorf("treeline %s: %w\n%s", strings.Join(args, " "), err, &problem))
	}
	return took
}

// pushing measures a push to an empty archive beside a COPY of the same lines into a bare table, by turns; and a second push when nothing
// changed.
func pushing(b *bench) {
	b.pushes("direct SQL", 0.5, func(a *archive, url string, use func(url string)) { use(url) })
}

// pushingSecurely is pushing over https, to a server that has the archive in a database.
func pushingSecurely(b *bench) { b.pushes("https", 0.3, (*archive).serve) }

func (b *bench) pushes(way string, target float64, through func(a *archive, database string, use func(url string))) {
	sessions := b.size(1000)
	b.withArchive("push", sessions, 0, func(a *archive) {
		var pushed, again, bare time.Duration
		keep := func(best *time.Duration, took time.Duration) {
			if *best == 0 || took < *best {
				*best = took
			}
		}
		for i := range min(b.rounds, 3) {
			through(a, a.database(fmt.Sprint("pushed", i)), func(url string) {
				keep(&pushed, a.elapsed("push", url))
				for range 3 {
					keep(&again, a.elapsed("push", url))
				}
			})
			keep(&bare, a.bareCopy(a.database(fmt.Sprint("bare", i))))
			for _, name := range []string{"pushed", "bare"} { // gigabytes otherwise
				must(a.admin.Exec(context.Background(), fmt.Sprintf("drop database %s%d with (force)", name, i)))
			}
		}
		what := fmt.Sprintf("postgres (elapsed): push of %d sessions, %s, %s", sessions, mb(must(diskSize(a.agent))), way)
		b.faster(what, pushed, "bare COPY", bare, target)
		b.slower(what+", nothing changed", again, "the first push", pushed, 0.02)
	})
}

// bareCopy copies the lines of all sessions into one table, with the key that records need.
func (a *archive) bareCopy(url string) time.Duration {
	ctx := context.Background()
	c := must(pgx.Connect(ctx, url))
	defer c.Close(ctx)
	must(c.Exec(ctx, `create table bare (log int, position bigint, data bytea not null, primary key (log, position))`))
	start := time.Now()
	var rows [][]any
	log := 0
	var lines func() ([]any, error)
	names := must(filepath.Glob(filepath.Join(a.agent, "sessions", "*", "*.jsonl")))
	lines = func() ([]any, error) {
		for len(rows) == 0 {
			if log == len(names) {
				return nil, nil
			}
			data, err := os.ReadFile(names[log])
			if err != nil {
				return nil, err
			}
			at := int64(0)
			for line := range bytes.Lines(data) {
				rows = append(rows, []any{log, at, line})
				at += int64(len(line))
			}
			log++
		}
		r := rows[0]
		rows = rows[1:]
		return r, nil
	}
	must(c.CopyFrom(ctx, pgx.Identifier{"bare"}, []string{"log", "position", "data"}, pgx.CopyFromFunc(lines)))
	return time.Since(start)
}

// serve starts a server of the archive with TLS and a token, for the time of use.
func (a *archive) serve(store string, use func(url string)) {
	cert, key := filepath.Join(a.b.dir, "cert.pem"), filepath.Join(a.b.dir, "key.pem")
	makeCertificate(cert, key)
	cmd := a.command("serve", "--store", store, "--addr", "127.0.0.1:0", "--write", "--json", "--token", benchToken, "--tls-cert", cert, "--tls-key", key)
	out := must(cmd.StdoutPipe())
	var problem bytes.Buffer
	cmd.Stderr = &problem
	check(cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself
		_ = cmd.Wait()
		a.spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}()
	line, _ := bufio.NewReader(out).ReadString('\n')
	found := regexp.MustCompile(`https://[^"/]*`).FindString(line)
	if found == "" {
		check(fmt.Errorf("treeline serve says %q\n%s", line, &problem))
	}
	before := a.env
	a.env = append(before[:len(before):len(before)], "TREELINE_TOKEN="+benchToken, "SSL_CERT_FILE="+cert)
	defer func() { a.env = before }()
	use(found)
}

// makeCertificate writes a certificate for this machine that signs itself, and its key.
func makeCertificate(certFile, keyFile string) {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der := must(x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key))
	write := func(path, kind string, data []byte) {
		check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
	}
	write(certFile, "CERTIFICATE", der)
	write(keyFile, "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
}
