package run

import (
	"errors"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// ErrNotHeader is returned for a record that is not the header of a run.
var ErrNotHeader = errors.New("not the header of a run")

// WorkDir is the working directory of the run, or else the root of its workspace; "" where the header names neither.
func (h *Header) WorkDir() string {
	if h.Runtime != nil && h.Runtime.CWD != "" {
		return h.Runtime.CWD
	}
	return rawjson.Str(rawjson.At(h.Meta, "/runtime_environment/workspace"), "root")
}

// DecodeHeader reads a header. The values point into the record. Only the run_id is required, because the header of a newer
// version must be readable, too.
func DecodeHeader(record []byte) (h Header, err error) {
	if !rawjson.Valid(record) || rawjson.Str(record, "type") != string(TypeHeader) || !rawjson.IsString(rawjson.Get(record, "run_id")) {
		return h, ErrNotHeader
	}
	// A member of the wrong type stays in Other, from where it is written back.
	h.Other = fields(record, func(key string, v []byte) bool {
		switch key {
		case "type":
			return true
		case "schema_version":
			return integer(&h.SchemaVersion, v)
		case "run_id":
			return str(&h.RunID, v)
		case "session_id":
			return str(&h.SessionID, v)
		case "started_at":
			return str(&h.StartedAt, v)
		case "client":
			return object(&h.Client, v, program)
		case "server":
			return object(&h.Server, v, program)
		case "model":
			return object(&h.Model, v, model)
		case "prompts":
			return object(&h.Prompts, v, func(v []byte) (p Prompts) {
				p.Other = fields(v, func(key string, v []byte) bool { return key == "system" && str(&p.System, v) })
				return p
			})
		case "tools":
			return object(&h.Tools, v, tools)
		case "runtime":
			return object(&h.Runtime, v, runtime)
		case "meta":
			return raw(&h.Meta, v)
		}
		return false
	})
	return h, nil
}

func program(object []byte) (p Program) {
	p.Other = fields(object, func(key string, v []byte) bool {
		return key == "name" && str(&p.Name, v) || key == "version" && str(&p.Version, v)
	})
	return p
}

func model(object []byte) (m Model) {
	m.Other = fields(object, func(key string, v []byte) bool {
		switch key {
		case "provider":
			return str(&m.Provider, v)
		case "name":
			return str(&m.Name, v)
		case "reasoning":
			return str(&m.Reasoning, v)
		case "source":
			return str(&m.Source, v)
		case "fast":
			return boolean(&m.Fast, v)
		}
		return false
	})
	return m
}

func tools(object []byte) (t Tools) {
	t.Other = fields(object, func(key string, v []byte) bool {
		return key == "definitions" && raw(&t.Definitions, v) || key == "source" && str(&t.Source, v)
	})
	return t
}

func runtime(object []byte) (r Runtime) {
	r.Other = fields(object, func(key string, v []byte) bool {
		switch key {
		case "cwd":
			return str(&r.CWD, v)
		case "os":
			return str(&r.OS, v)
		case "arch":
			return str(&r.Arch, v)
		case "version":
			return str(&r.Version, v)
		}
		return false
	})
	return r
}
