package rawjson

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

func BenchmarkSkipCorpus(b *testing.B) {
	data, err := os.ReadFile(os.Getenv("F"))
	if err != nil { b.Skip() }
	lines := bytes.Split(data, []byte("\n"))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for _, l := range lines {
			if len(l) > 0 && skip(l, 0) < 0 { b.Fatal("bad") }
		}
	}
}

func BenchmarkStdEnvelope(b *testing.B) {
	data, err := os.ReadFile(os.Getenv("F"))
	if err != nil { b.Skip() }
	lines := bytes.Split(data, []byte("\n"))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for _, l := range lines {
			var e struct { Type, ID string; ParentID *string `json:"parentId"`; Timestamp string; Message json.RawMessage }
			if len(l) > 0 { json.Unmarshal(l, &e) }
		}
	}
}
