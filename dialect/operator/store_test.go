package operator_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// home is a store with its own home folder.
func home(t *testing.T) (*treeline.Store, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := treeline.New(treeline.Options{Home: dir, WorkDir: "/home/ada/pond", Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func said(role, text string) []byte {
	return []byte(`{"contents":[{"type":"text","content":` + strconv.Quote(text) + `}],"id":"m","timestamp":1755000000.5,"role":"` + role + `"}`)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// talk begins a session with a question and an answer.
func talk(t *testing.T, s *treeline.Store, opt treeline.CreateOptions) (sess *treeline.Session, question, answer session.EntryID) {
	t.Helper()
	ctx := t.Context()
	if opt.Dialect == nil {
		opt.Dialect = operator.Operator
	}
	sess = must[*treeline.Session](t)(s.Create(ctx, opt))
	t.Cleanup(func() { sess.Close() })
	q := must[treeline.Appended](t)(sess.AppendMessage(ctx, said("user", "How deep?")))
	// With the document's value, the log is created with the answer.
	if _, err := os.Stat(sess.Path()); q.Durable == (opt.Dialect == operator.OperatorDoc) || q.Durable != (err == nil) {
		t.Errorf("after the question: durable %v, %v", q.Durable, err)
	}
	a := must[treeline.Appended](t)(sess.AppendMessage(ctx, said("assistant", "Two metres.")))
	return sess, q.ID, a.ID
}

// shape is the ids, parents and types of a log's records, with ids as numbers of lines.
func shape(t *testing.T, path string) string {
	t.Helper()
	tree := decode(t, operator.Operator, readFile(t, path))
	if p := tree.Problems(); len(p) > 0 {
		t.Errorf("%s: %v; want len(p) <= 0", path, p)
	}
	at := map[session.EntryID]string{"": "-"}
	for e := range tree.Entries() {
		at[e.ID] = strconv.Itoa(e.Index + 1)
	}
	var out []string
	for e := range tree.Entries() {
		s := at[e.ID] + "<" + at[e.Parent] + " " + e.Type
		switch body := must[session.Body](t)(e.Body()).(type) {
		case session.Leaf:
			s += "=" + at[body.Target]
		case session.Label:
			s += " " + body.Label + "=" + at[body.Target]
		case session.BranchSummary:
			s += " from " + string(body.From)
			if n, ok := at[body.From]; ok {
				s = strings.TrimSuffix(s, string(body.From)) + n
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ") + ", leaf " + at[tree.LeafID()]
}

func TestBranch(t *testing.T) {
	ctx := t.Context()
	s, dir := home(t)
	sess, q, a := talk(t, s, treeline.CreateOptions{})
	name := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{6}_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.jsonl$`)
	if got := filepath.Dir(sess.Path()); got != filepath.Join(dir, ".operator", "sessions") || !name.MatchString(filepath.Base(sess.Path())) {
		t.Error(sess.Path())
	}
	must[treeline.Appended](t)(sess.Branch(ctx, q, treeline.BranchOptions{Durable: true}))
	if sess.Leaf() != q {
		t.Errorf("the leaf is %s, not %s", sess.Leaf(), q)
	}
	must[treeline.Appended](t)(sess.AppendMessage(ctx, said("assistant", "Three.")))
	must[treeline.Appended](t)(sess.BranchWithSummary(ctx, a, session.BranchSummary{Summary: "Three, they said."}))
	must[treeline.Appended](t)(sess.BranchWithSummary(ctx, "", session.BranchSummary{Summary: "All anew."}))
	must[treeline.Appended](t)(sess.Label(ctx, q, "depth"))
	must[treeline.Appended](t)(sess.Branch(ctx, "", treeline.BranchOptions{Durable: true}))
	const want = "1<- message, 2<1 message, 3<2 leaf=1, 4<1 message, 5<2 branch_summary from 2, 6<- branch_summary from root, " +
		"7<6 label depth=1, 8<7 leaf=-"
	if got := shape(t, sess.Path()); got != want+", leaf -" {
		t.Errorf("%s, not %s", got, want)
	}
	if _, err := sess.Branch(ctx, "nobody", treeline.BranchOptions{Durable: true}); !errors.Is(err, session.ErrUnknownEntry) {
		t.Errorf("a branch at an entry that is not there: %v", err)
	}
	path := sess.Path()
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	again := must[*treeline.Session](t)(s.OpenWrite(ctx, path, treeline.CreateOptions{}))
	defer again.Close()
	if again.Dialect() != operator.Operator || again.Leaf() != "" || again.Tree().Label(q) != "depth" {
		t.Errorf("read back: %s, leaf %q, label %q", again.Dialect().Name(), again.Leaf(), again.Tree().Label(q))
	}
	must[treeline.Appended](t)(again.AppendMessage(ctx, said("user", "A new root.")))
	if got := shape(t, path); got != want+", 9<- message, leaf 9" {
		t.Error(got)
	}
	if raw := readFile(t, path); bytes.Contains(raw, []byte("null")) {
		t.Errorf("a null in %s", raw)
	}
}

// TestBranchBeforeTheLog: a branch made before the log exists moves the leaf nevertheless.
func TestBranchBeforeTheLog(t *testing.T) {
	ctx := t.Context()
	s, _ := home(t)
	sess := must[*treeline.Session](t)(s.Create(ctx, treeline.CreateOptions{Dialect: operator.Operator}))
	defer sess.Close()
	q := must[treeline.Appended](t)(sess.AppendMessage(ctx, said("user", "One?")))
	must[treeline.Appended](t)(sess.AppendMessage(ctx, said("user", "Two?")))
	must[treeline.Appended](t)(sess.Branch(ctx, q.ID, treeline.BranchOptions{Durable: true}))
	must[treeline.Appended](t)(sess.AppendMessage(ctx, said("assistant", "One.")))
	if got := shape(t, sess.Path()); got != "1<- message, 2<1 message, 3<2 leaf=1, 4<1 message, leaf 4" {
		t.Error(got)
	}
}

func TestCopies(t *testing.T) {
	ctx := t.Context()
	s, dir := home(t)
	sess, q, a := talk(t, s, treeline.CreateOptions{})
	must[treeline.Appended](t)(sess.Label(ctx, a, "depth"))
	must[treeline.Appended](t)(sess.AppendMessage(ctx, said("user", "Wide?")))
	must[treeline.Appended](t)(sess.Branch(ctx, q, treeline.BranchOptions{Durable: true}))
	source := sess.Path()
	before := readFile(t, source)
	labelled := sess.Tree().At(2)

	fork := must[*treeline.Session](t)(s.ForkFrom(ctx, source, treeline.CreateOptions{CWD: "/home/ada/well", Write: treeline.WriteOptions{Force: true}}))
	defer fork.Close()
	if h := fork.Header(); h.Parent != source || h.CWD != "/home/ada/well" || h.ID == sess.ID() || fork.Leaf() != q {
		t.Errorf("the fork is %s, leaf %s", h.Raw, fork.Leaf())
	}
	_, want, _ := bytes.Cut(before, []byte("\n"))
	if _, got, _ := bytes.Cut(readFile(t, fork.Path()), []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("the fork has %s, not %s", got, want)
	}

	branched := must[*treeline.Session](t)(s.OpenWrite(ctx, source, treeline.CreateOptions{}))
	defer branched.Close()
	if err := branched.BranchedSession(ctx, sess.Tree().At(3).ID); err != nil {
		t.Fatal(err)
	}
	if got := shape(t, branched.Path()); got != "1<- message, 2<1 message, 3<2 message, 4<3 label depth=2, leaf 4" {
		t.Error(got)
	}
	if branched.Header().Parent != source {
		t.Errorf("%s; want branched.Header().Parent == %v", branched.Header().Raw, source)
	}
	was, now := must[session.Time](t)(labelled.Time()), must[session.Time](t)(branched.Tree().At(3).Time())
	if was != now {
		t.Errorf("the label is of %s, not %s", now.Text, was.Text)
	}
	if filepath.Dir(branched.Path()) != filepath.Join(dir, ".operator", "sessions") {
		t.Error(branched.Path())
	}
	if !bytes.Equal(readFile(t, source), before) {
		t.Error("the source changed")
	}
}

func TestRenameAndMove(t *testing.T) {
	ctx := t.Context()
	s, _ := home(t)
	sess, _, _ := talk(t, s, treeline.CreateOptions{Write: treeline.WriteOptions{Force: true}})
	if err := sess.Rename(ctx, "the\u2028pond"); err != nil {
		t.Fatal(err)
	}
	path := sess.Path()
	if err := sess.Move(ctx, "/home/ada/well"); err != nil {
		t.Fatal(err)
	}
	if sess.Path() != path || sess.Header().CWD != "/home/ada/well" {
		t.Errorf(`%s, %s; want sess.Path() == %v, sess.Header().CWD == "/home/ada/well"`, sess.Path(), sess.Header().Raw, path)
	}
	raw := readFile(t, path)
	if bytes.ContainsAny(raw, "\u0085\u2028\u2029") || !bytes.Contains(raw, []byte(`"type":"session_info","name":"the\u2028pond"}`)) {
		t.Errorf("%s; want not bytes.ContainsAny(raw, \"\\u0085\\u2028\\u2029\"), bytes.Contains(raw, []byte(`\"type\":\"session_info\",\"name\":\"the\\u2028pond\"}`))", raw)
	}
	rows := must[[]treeline.Row](t)(s.List(ctx, treeline.ListOptions{CWD: "/home/ada/well"}))
	if len(rows) != 1 || rows[0].Title != "the\u2028pond" || rows[0].Prompt != "How deep?" || rows[0].Messages != 2 {
		t.Errorf("%+v; want len(rows) == 1, rows[0].Title == \"the\\u2028pond\", rows[0].Prompt == \"How deep?\", rows[0].Messages == 2", rows)
	}
	if rows = must[[]treeline.Row](t)(s.List(ctx, treeline.ListOptions{CWD: "/home/ada/pond"})); len(rows) != 0 {
		t.Errorf("%+v; want len(rows) == 0", rows)
	}
}

// TestLists: all profiles are found; the program's sessions are ordered by their last message, the document's by their
// last change.
func TestLists(t *testing.T) {
	s, dir := home(t)
	long := `{"id":"tttt0001","timestamp":1755000900.5,"type":"message","message":{"contents":[{"type":"tool_result","id":"c","content":"` +
		strings.Repeat("x", 100_000) + `"}],"timestamp":1755000900.5,"role":"tool"}}` + "\n"
	write := func(folder, id, typ, said, more string, changed int) {
		log := `{"type":"` + typ + `","id":"` + id + `","timestamp":1755000000.5,"cwd":"/home/ada/pond"}` + "\n" +
			`{"id":"aaaa0001","timestamp":1755000000.5,"type":"message","message":{"contents":[{"type":"text","content":"hi"}],"timestamp":` + said + `,"role":"user"}}` + "\n"
		path := filepath.Join(dir, ".operator", folder, id+".jsonl")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(log+more), 0o600),
			os.Chtimes(path, time.Time{}, time.Unix(1755000000+int64(changed), 0))); err != nil {
			t.Fatal(err)
		}
	}
	write("sessions", "a", "session", "1755000100.5", "", 900)
	write("sessions", "nested/b", "session", "1755000100.5", "", 900) // the folder is flat
	write("profiles/work/sessions", "c", "session", "1755000300.25", long, 10)
	write("profiles/home/sessions", "d", "session_header", "1755000999.5", "", 200)
	write("profiles/home/sessions", "e", "session_header", "1755000001.5", "", 400)
	var got []string
	for _, r := range must[[]treeline.Row](t)(s.List(t.Context(), treeline.ListOptions{CWD: "/home/ada/pond"})) {
		got = append(got, string(r.ID)+" "+r.Dialect.Name())
	}
	want := "e operator-doc, c operator, d operator-doc, a operator"
	if list := strings.Join(got, ", "); list != want {
		t.Errorf("%s, not %s", list, want)
	}
	rows := must[[][]byte](t)(s.Listings(t.Context(), place.ListingOptions{Dialect: operator.Operator}))
	if list := string(bytes.Join(rows, []byte("\n"))); len(rows) != 4 || !strings.HasPrefix(list, `{"path":"`+filepath.Join(dir, ".operator/profiles/home/sessions/d.jsonl")+
		`","id":"d","cwd":"/home/ada/pond","created":1755000000.5,"modified":1755000999.5,"message_count":1}`) {
		t.Errorf("%s; want len(rows) == 4, strings.HasPrefix(list, `{\"path\":\"`+filepath.Join(dir, \".operator/profiles/home/sessions/d.jsonl\")+ `\",\"id\":\"d\",\"cwd\":\"/home/ada/pond\",\"created\":1755000000.5,\"modified\":1755000999.5,\"message_count\":1}`)", list)
	}
	for cwd, n := range map[string]int{"/home/ada/pond": 1, "/home/ada/well": 0} {
		if rows = must[[][]byte](t)(s.Listings(t.Context(), place.ListingOptions{Dialect: operator.Operator, CWD: cwd})); len(rows) != n {
			t.Errorf("%s: %s; want len(rows) == %v", cwd, rows, n)
		}
	}
	recent := must[[]place.RecentSession](t)(s.Recent(t.Context(), operator.Operator, filepath.Join(dir, ".operator", "sessions"), 3))
	if len(recent) != 1 || recent[0].FullName != "hi" {
		t.Errorf(`%+v; want len(recent) == 1, recent[0].FullName == "hi"`, recent)
	}
}

// TestDocument: the document's sessions are written in the document's form, and in the program's form if the caller asks for that.
func TestDocument(t *testing.T) {
	ctx := t.Context()
	s, dir := home(t)
	sess, q, _ := talk(t, s, treeline.CreateOptions{Dialect: operator.OperatorDoc})
	if filepath.Dir(sess.Path()) != filepath.Join(dir, ".operator", "profiles", "default", "sessions") {
		t.Error(sess.Path())
	}
	must[treeline.Appended](t)(sess.BranchWithSummary(ctx, q, session.BranchSummary{Summary: "s"}))
	must[treeline.Appended](t)(sess.AppendCustom(ctx, "goal", []byte(`{"n":1}`)))
	path := sess.Path()
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	log := readFile(t, path)
	for _, there := range []string{`{"type":"session_header","id":`, `"type":"branch",`, `"type":"custom_info",`} {
		if !bytes.Contains(log, []byte(there)) {
			t.Errorf("no %s in %s", there, log)
		}
	}
	again := must[*treeline.Session](t)(s.OpenWrite(ctx, path, treeline.CreateOptions{}))
	if again.Dialect() != operator.OperatorDoc {
		t.Errorf("it is read as %s", again.Dialect().Name())
	}
	if err := again.Close(); err != nil || !bytes.Equal(readFile(t, path), log) {
		t.Errorf("to open it changed it (%v)", err)
	}
	fork := must[*treeline.Session](t)(s.ForkFrom(ctx, path, treeline.CreateOptions{Dialect: operator.Operator}))
	defer fork.Close()
	log = readFile(t, fork.Path())
	for _, there := range []string{`{"type":"session","id":`, `"version":3`, `"type":"branch_summary",`, `"type":"custom",`} {
		if !bytes.Contains(log, []byte(there)) {
			t.Errorf("no %s in %s", there, log)
		}
	}
	if filepath.Dir(fork.Path()) != filepath.Join(dir, ".operator", "sessions") {
		t.Error(fork.Path())
	}
}

// TestBranchAmidAppends: an append while the leaf moves continues from an entry, never from the move.
func TestBranchAmidAppends(t *testing.T) {
	ctx := t.Context()
	s, _ := home(t)
	sess, q, _ := talk(t, s, treeline.CreateOptions{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if _, err := sess.AppendMessage(ctx, said("user", "And?")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		if _, err := sess.Branch(ctx, q, treeline.BranchOptions{Durable: true}); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	tree := decode(t, operator.Operator, readFile(t, sess.Path()))
	if p := tree.Problems(); len(p) > 0 || tree.Len() != 2+80+20 {
		t.Errorf("%d entries, %v", tree.Len(), p)
	}
	for e := range tree.Entries() {
		if parent, _ := tree.Lookup(e.Parent); parent.Kind == session.KindLeaf {
			t.Errorf("entry %s hangs on the move %s", e.ID, e.Parent)
		}
	}
}

// TestProfiles: new sessions go to the requested profile, or to the one that the environment names; continuing stays in it, and
// so do copies.
func TestProfiles(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	in := func(name string) string {
		if name == "" {
			return filepath.Join(dir, ".operator", "sessions")
		}
		return filepath.Join(dir, ".operator", "profiles", name, "sessions")
	}
	variable := ""
	open := func() *treeline.Store {
		s := must[*treeline.Store](t)(treeline.New(treeline.Options{Home: dir, WorkDir: dir, Getenv: func(name string) string {
			if name == "OPERATOR_PROFILE" {
				return variable
			}
			return ""
		}}))
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := open()
	begin := func(opt treeline.CreateOptions) *treeline.Session {
		t.Helper()
		opt.Dialect = operator.Operator
		sess, _, _ := talk(t, s, opt)
		if err := sess.Close(); err != nil {
			t.Fatal(err)
		}
		return sess
	}
	plain := begin(treeline.CreateOptions{})
	must[[]treeline.Row](t)(s.List(ctx, treeline.ListOptions{})) // before there are profiles
	work := begin(treeline.CreateOptions{Profile: "work"})
	if rows := must[[]treeline.Row](t)(s.List(ctx, treeline.ListOptions{})); len(rows) != 2 {
		t.Errorf("%d sessions are listed", len(rows))
	}
	if rows := must[[][]byte](t)(s.Listings(ctx, place.ListingOptions{Dialect: operator.Operator})); len(rows) != 2 {
		t.Errorf("the agent lists %s", rows)
	}
	if filepath.Dir(plain.Path()) != in("") || filepath.Dir(work.Path()) != in("work") {
		t.Fatal(plain.Path(), work.Path())
	}
	recent := func(opt treeline.CreateOptions) *treeline.Session {
		t.Helper()
		opt.Dialect = operator.Operator
		sess := must[*treeline.Session](t)(s.ContinueRecent(ctx, opt))
		defer sess.Close()
		return sess
	}
	// The session of the other profile is newer.
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(work.Path(), later, later); err != nil {
		t.Fatal(err)
	}
	if got := recent(treeline.CreateOptions{}).Path(); got != plain.Path() {
		t.Errorf("continued %s", got)
	}
	if got := recent(treeline.CreateOptions{Profile: "work"}).Path(); got != work.Path() {
		t.Errorf("continued %s", got)
	}
	if got := recent(treeline.CreateOptions{Profile: "empty"}).Path(); filepath.Dir(got) != in("empty") {
		t.Errorf("began %s", got)
	}
	fork := must[*treeline.Session](t)(s.ForkFrom(ctx, work.Path(), treeline.CreateOptions{}))
	defer fork.Close()
	if filepath.Dir(fork.Path()) != in("work") {
		t.Errorf("the copy is %s", fork.Path())
	}
	variable = "work"
	s = open()
	if got := recent(treeline.CreateOptions{}); got.Path() != work.Path() {
		t.Errorf("by the variable: %s", got.Path())
	}
	if got := begin(treeline.CreateOptions{}).Path(); filepath.Dir(got) != in("work") {
		t.Errorf("by the variable: %s", got)
	}
	if got := begin(treeline.CreateOptions{Dir: in("")}).Path(); filepath.Dir(got) != in("") {
		t.Errorf("in a folder: %s", got)
	}
	for _, opt := range []treeline.CreateOptions{
		{Profile: "../x"}, {Profile: "work", Dir: in("")}, {Profile: "work", Dialect: s.Dialects()[0]},
	} {
		if opt.Dialect == nil {
			opt.Dialect = operator.Operator
		}
		if sess, err := s.Create(ctx, opt); err == nil {
			t.Errorf("%+v: %s; want an error", opt, sess.Path())
		}
		if sess, err := s.ContinueRecent(ctx, opt); err == nil {
			t.Errorf("%+v continues %s", opt, sess.Path())
		}
	}
}
