package logtree_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// toy is a format whose records are the names of logs and files that it needs: "log NAME", "beside NAME", "root NAME".
type toy struct{ dialect.Dialect }

func (toy) Layout() dialect.Layout { return nil }

func (toy) NewDecoder(b *session.Builder) dialect.Decoder { return &toyDecoder{b: b} }

type toyDecoder struct {
	b     *session.Builder
	needs []dialect.Need
}

func (d *toyDecoder) Decode(r dialect.Record) { d.read(string(r.Data)) }

func (d *toyDecoder) read(record string) {
	kind, name, _ := strings.Cut(record, " ")
	kinds := map[string]dialect.NeedKind{"log": dialect.NeedLog, "beside": dialect.NeedBeside, "root": dialect.NeedRoot}
	if k, ok := kinds[kind]; ok {
		d.needs = append(d.needs, dialect.Need{Kind: k, Name: name})
	}
}

func (d *toyDecoder) Needs() []dialect.Need {
	needs := d.needs
	d.needs = nil
	return needs
}

// Supply adds an entry whose type is the content, and reads the content for further needs.
func (d *toyDecoder) Supply(n dialect.Need, content []byte, err error) {
	if err != nil {
		d.b.Problem(session.Problem{Kind: session.ProblemUnreadable, Message: err.Error()})
		return
	}
	text := strings.TrimSpace(string(content))
	d.b.Add(&session.Envelope{Type: []byte(text), Record: []byte(text), Foreign: true})
	d.read(text)
}

func (d *toyDecoder) Finish() error { return nil }

func TestLoadSuppliesNeeds(t *testing.T) {
	ctx := t.Context()
	sessions, agent := memory.New(), memory.New()
	create := func(b backend.Backend, name string, records ...string) backend.Log {
		t.Helper()
		var list [][]byte
		for _, r := range records {
			list = append(list, []byte(r))
		}
		log, err := b.Create(ctx, name, list...)
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	create(sessions, "a/base.jsonl", "log b/*")
	create(sessions, "b/1.jsonl", "older")
	create(sessions, "b/2.jsonl", "newer")
	create(sessions, "a/note.json", "note")
	create(agent, "registry.json", "registry")
	at := create(sessions, "a/fork.jsonl", "log a/base.jsonl", "beside note.json", "root registry.json", "log c/*")

	around := func(_ dialect.Dialect, path string, kind dialect.NeedKind) ([]logtree.Folder, error) {
		if kind == dialect.NeedRoot && path == "known" {
			return []logtree.Folder{{Backend: agent, Path: "agent"}}, nil
		}
		return nil, nil
	}
	for path, want := range map[string][]string{
		"known":   {"log b/*", "newer", "note", "registry", "! log does not exist in known"},
		"unknown": {"log b/*", "newer", "note", "! registry.json: log does not exist", "! log does not exist in unknown"},
	} {
		l, err := logtree.Reader{Around: around}.Load(ctx, sessions, at, toy{}, path, nil, session.Header{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e := range l.Tree.Entries() {
			got = append(got, e.Type)
		}
		for _, p := range l.Tree.Problems() {
			got = append(got, "! "+p.Message)
		}
		if diff := difftest.Diff(want, got); diff != "" {
			t.Errorf("%s: supplied (-want +got):\n%s", path, diff)
		}
	}
}
