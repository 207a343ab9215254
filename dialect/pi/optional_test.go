package pi

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// What Persist cut off is restored, unless its blob is gone or the text was changed since.
func TestWhole(t *testing.T) {
	long := strings.Repeat("é", maxUnits) + " the end"
	record := []byte(`{"type":"message","id":"a","message":{"role":"user","content":[{"type":"text","text":"short"},{"type":"text","text":` +
		string(rawjson.Quote(long)) + `}],"x/y":` + string(rawjson.Quote(long)) + `}}`)
	blobs := map[string]string{}
	kept, err := Omp.Persist(record, dialect.PersistOptions{KeepOverflow: true, Put: func(b []byte) (string, error) {
		blobs["ref"] = string(b)
		return "ref", nil
	}})
	if err != nil || len(kept) >= len(record) {
		t.Fatalf("%d bytes are kept: %v", len(kept), err)
	}
	get := func(ref string) ([]byte, error) {
		if b, ok := blobs[ref]; ok {
			return []byte(b), nil
		}
		return nil, errors.New("gone")
	}
	whole := Omp.Whole(kept, get)
	if got := rawjson.Delete(whole, overflowMember); string(got) != string(record) {
		t.Errorf("it comes back as %.200s…", got)
	}
	if got := Omp.Whole(record, get); string(got) != string(record) {
		t.Error("a record of which nothing was cut is changed")
	}
	changed := rawjson.SetAt(kept, "/message/content/1/text", []byte(`"rewritten"`))
	if got := rawjson.At(Omp.Whole(changed, get), "/message/content/1/text"); string(got) != `"rewritten"` {
		t.Errorf("what was rewritten comes back as %.80s", got)
	}
	clear(blobs)
	if got := Omp.Whole(kept, get); string(got) != string(kept) {
		t.Error("without its blob the record is changed")
	}
}

func TestPersistRefusesWhatOnlyLooksLikeAReference(t *testing.T) {
	for _, c := range []struct {
		data string
		ok   bool
	}{
		{"blob:sha256:" + strings.Repeat("0a", 32), true},
		{"blob:sha256:../../../../etc/passwd", false},
		{"blob:sha256:" + strings.Repeat("0A", 32), false},
		{"blob:sha256:", false},
		{"QUJD", true},
	} {
		for _, record := range []string{
			`{"message":{"content":[{"type":"image","data":"` + c.data + `","mimeType":"image/png"}]}}`,
			`{"message":{"content":[{"type":"input_image","image_url":"` + c.data + `"}]}}`,
		} {
			if got, err := Omp.Persist([]byte(record), dialect.PersistOptions{}); err == nil != c.ok || c.ok && string(got) != record {
				t.Errorf("%s: %s, %v; want err == nil == %v, not (c.ok && string(got) != record)", record, got, err, c.ok)
			}
		}
	}
	prose := `{"message":{"content":[{"type":"text","text":"blob:sha256:nothing, said somebody"}]}}`
	if _, err := Omp.Persist([]byte(prose), dialect.PersistOptions{}); err != nil {
		t.Errorf("prose: %v", err)
	}
}

// A message of plain text has all members that the programs expect, because they add up the usage of each answer without checking
// that it has one.
func TestComposeText(t *testing.T) {
	compose := func(d *Dialect, m dialect.NewMessage) []byte {
		m.Time = time.UnixMilli(1700000000123)
		list, err := d.Compose(m)
		if err != nil || len(list) != 1 {
			t.Fatalf("%d messages, %v", len(list), err)
		}
		return list[0]
	}
	m := compose(Omp, dialect.NewMessage{Role: session.RoleUser, Parts: []session.Part{session.Text{Text: "hi \"there\"\n"}}})
	if want := `{"role":"user","content":[{"type":"text","text":"hi \"there\"\n"}],"timestamp":1700000000123}`; string(m) != want {
		t.Errorf("%s; want string(m) == %v", m, want)
	}
	m = compose(Pi, dialect.NewMessage{Role: session.RoleAssistant, Parts: []session.Part{session.Text{Text: "hi"}}, Provider: "p", Model: "m/x"})
	if rawjson.Str(m, "provider") != "p" || rawjson.Str(m, "model") != "m/x" ||
		!rawjson.IsObject(rawjson.At(m, "/usage/cost")) || rawjson.Str(m, "stopReason") != "stop" || !rawjson.Valid(m) {
		t.Errorf(`%s; want rawjson.Str(m, "provider") == "p", rawjson.Str(m, "model") == "m/x", rawjson.IsObject(rawjson.At(m, "/usage/cost")), rawjson.Str(m, "stopReason") == "stop", rawjson.Valid(m)`, m)
	}
}

func TestSetID(t *testing.T) {
	got, err := Pi.SetID([]byte(`{"type":"x", "id" : "a","parentId":"b"}`), "c")
	if want := `{"type":"x", "id" : "c","parentId":"b"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want no error, string(got) == %v", got, err, want)
	}
}
