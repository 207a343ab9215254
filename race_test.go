package treeline_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// sessionWrites and storeWrites name the methods that write, close or prepare to write. All others only read, and TestRace
// calls them: a new method is called automatically unless it is named here.
const (
	sessionWrites = `Append AppendCustom AppendCustomMessage AppendMessage AppendModeChange AppendModelChange AppendRecord
		AppendSessionInfo AppendSessionInit AppendTTSRInjection AppendText AppendThinkingLevelChange AppendUser AppendAssistant AppendToolResult Branch BranchWithSummary
		BranchedSession Close Compact Delete Flush Fork Label Move NewSession Rename ResetLeaf RewriteEntries
		RewriteToolCallArguments`
	storeWrites = `BlobsAs BlobsInWriting BranchFrom ChangeFolders Close ContinueRecent ContinueRun Create CreateFrom DropFolder
		EmptyTrash ForkFrom InMemory LocateWriting NewDraft NoteFolder NoteNew OpenWrite OpenWriting Repair Restore Save
		OpenAs LocateAs OpenArchive Pull Push PushWatching StartRun Trash TrashAs TrashHeld`
)

// Every method that reads a session or the store may be called while another goroutine appends.
func TestRace(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s, err := treeline.New(treeline.Options{
		Backends: all.Drivers(), Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoConfig: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	sess, err := s.Create(ctx, treeline.CreateOptions{CWD: home})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	r := &racer{T: t, s: s, sess: sess}
	for _, role := range []session.Role{session.RoleUser, session.RoleAssistant} {
		r.say(role)
	}
	calls := append(r.methods(reflect.ValueOf(sess), sessionWrites), r.methods(reflect.ValueOf(s), storeWrites)...)
	done := make(chan struct{})
	var readers, appender sync.WaitGroup
	appender.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond):
				r.say([]session.Role{session.RoleUser, session.RoleAssistant}[i%2])
			}
		}
	})
	const goroutines, rounds = 4, 2
	for i := range goroutines {
		readers.Go(func() {
			for j := range rounds * len(calls) {
				calls[(i*len(calls)/goroutines+j)%len(calls)](ctx)
			}
		})
	}
	readers.Wait()
	close(done)
	appender.Wait()
}

// racer calls methods with arguments that suit their types.
type racer struct {
	*testing.T
	s    *treeline.Store
	sess *treeline.Session
}

func (r *racer) say(role session.Role) {
	if _, err := r.sess.AppendText(r.Context(), role, "some words"); err != nil {
		r.Error(err)
	}
}

// methods returns calls of all methods except the named ones.
func (r *racer) methods(v reflect.Value, except string) (calls []func(context.Context)) {
	writes := strings.Fields(except)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if at := slices.Index(writes, name); at >= 0 {
			writes = slices.Delete(writes, at, at+1)
			continue
		}
		calls = append(calls, func(ctx context.Context) { r.call(ctx, name, v.Method(i)) })
	}
	if len(writes) > 0 {
		r.Errorf("%s has no %s", v.Type(), writes)
	}
	return calls
}

// call calls a method and uses what it returns.
func (r *racer) call(ctx context.Context, name string, method reflect.Value) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	// An entry is read while no append changes the tree; see Session.EntryJSON.
	if name == "EntryJSON" {
		r.check(name, r.sess.View(func(t *session.Tree) error {
			_, err := r.sess.EntryJSON(ctx, t.At(t.Len()-1))
			return err
		}))
		return
	}
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		args = append(args, r.argument(ctx, name, method.Type().In(i)))
	}
	do := method.Call
	if method.Type().IsVariadic() {
		do = method.CallSlice
	}
	for _, result := range do(args) {
		switch v := result.Interface().(type) {
		case error:
			r.check(name, v)
		case *treeline.Session:
			if v != nil {
				r.check(name, v.Close())
			}
		case *logtree.Log:
			if v != nil {
				r.check(name, v.Close())
			}
		case *session.Context:
			if v == nil {
				continue // the error says why
			}
			for _, err := range v.Messages() {
				r.check(name, err)
			}
		case iter.Seq2[store.Prompt, error]:
			for _, err := range v {
				r.check(name, err)
			}
		case iter.Seq2[treeline.Change, error]:
			told := 0
			for _, err := range v {
				r.check(name, err)
				if told++; told == 3 {
					break
				}
			}
		}
	}
}

// check reports errors, except those of methods that look up a run, a blob, a source or an archive: the test has none of these.
func (r *racer) check(name string, err error) {
	if err != nil && !errors.Is(err, place.ErrNoSession) && !slices.Contains([]string{"Blob", "CheckSource", "FindAmong", "FindIn", "FindRun", "OpenArchive", "OpenRun", "Pull", "Push", "PushWatching", "RunPage", "RunsProjectHere"}, name) {
		r.Errorf(`%s: %v; want not (err != nil && !errors.Is(err, place.ErrNoSession) && !slices.Contains([]string{"Blob", "CheckSource", "FindAmong", "FindIn", "FindRun", "OpenArchive", "OpenRun", "Pull", "Push", "PushWatching", "RunPage", "RunsProjectHere"}, name))`, name, err)
	}
}

// argument makes an argument: one that suits the session that is appended to, or the zero value.
func (r *racer) argument(ctx context.Context, name string, t reflect.Type) reflect.Value {
	path := r.sess.Path()
	switch t {
	case reflect.TypeFor[context.Context]():
		return reflect.ValueOf(ctx)
	case reflect.TypeFor[iter.Seq[string]]():
		return reflect.ValueOf(iter.Seq[string](slices.Values([]string{r.sess.CWD()})))
	case reflect.TypeFor[string]():
		text, ok := map[string]string{"Dialect": "omp", "Search": "words", "Find": "@last", "FindRun": "@last", "OpenSaved": "", "ProfileDir": "", "ProjectHere": ""}[name]
		if !ok {
			text = path
		}
		return reflect.ValueOf(text)
	case reflect.TypeFor[session.EntryID]():
		return reflect.ValueOf(r.sess.Leaf())
	case reflect.TypeFor[session.ID]():
		return reflect.ValueOf(r.sess.ID())
	case reflect.TypeFor[session.Entry]():
		var e session.Entry
		_ = r.sess.View(func(t *session.Tree) error { e, _ = t.Leaf(); return nil })
		return reflect.ValueOf(e)
	case reflect.TypeFor[*treeline.Session]():
		return reflect.ValueOf(r.sess)
	case reflect.TypeFor[dialect.Dialect]():
		return reflect.ValueOf(r.sess.Dialect())
	case reflect.TypeFor[treeline.ConvertOptions]():
		d, err := r.s.Dialect("pi")
		r.check(name, err)
		return reflect.ValueOf(treeline.ConvertOptions{To: d, Dir: r.TempDir()})
	case reflect.TypeFor[treeline.WatchOptions]():
		return reflect.ValueOf(treeline.WatchOptions{Last: 1, Interval: time.Millisecond})
	case reflect.TypeFor[func(dirs iter.Seq[string], rows []treeline.Row) func(cwd string) bool]():
		return reflect.ValueOf(func(iter.Seq[string], []treeline.Row) func(string) bool { return func(string) bool { return true } })
	case reflect.TypeFor[func(rows, all []treeline.Row) error]():
		return reflect.ValueOf(func(rows, all []treeline.Row) error { return nil })
	case reflect.TypeFor[[]treeline.Row]():
		rows, err := r.s.List(ctx, treeline.ListOptions{})
		r.check(name, err)
		return reflect.ValueOf(rows)
	case reflect.TypeFor[[][]byte]():
		list, err := r.s.LoadEntries(ctx, path, treeline.OpenOptions{})
		r.check(name, err)
		return reflect.ValueOf(list)
	case reflect.TypeFor[place.Location]():
		l, err := r.s.Locate(path)
		r.check(name, err)
		return reflect.ValueOf(l)
	case reflect.TypeFor[backend.Backend]():
		b, err := r.s.Machine.Open(place.Dir(path))
		r.check(name, err)
		return reflect.ValueOf(b)
	case reflect.TypeFor[*session.Builder]():
		return reflect.ValueOf(session.NewBuilder(path, nil))
	case reflect.TypeFor[func(*session.Tree) error]():
		return reflect.ValueOf(readTree)
	case reflect.TypeFor[func(*logtree.Log, logtree.Blobs) error]():
		return reflect.ValueOf(func(l *logtree.Log, _ logtree.Blobs) error { return readTree(l.Tree) })
	}
	return reflect.Zero(t)
}

// readTree reads every entry.
func readTree(t *session.Tree) error {
	for e := range t.Entries() {
		_, err := e.Body()
		_, err2 := e.Parts()
		_, err3 := e.Time()
		if err := errors.Join(err, err2, err3); err != nil {
			return err
		}
	}
	return nil
}
