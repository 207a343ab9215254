package run

import (
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// fields iterates over the members of an object and gives those that take does not accept, because they are unknown or of an
// unexpected type, in their order. Encode writes them back, so nothing is lost.
func fields(object []byte, take func(key string, value []byte) bool) (other []Member) {
	for key, value := range rawjson.Fields(object) {
		if !take(key, value) {
			other = append(other, Member{key, Raw(value)})
		}
	}
	return other
}

// The setters report whether the value is of their type; null is of none.

func str(to *string, value []byte) bool {
	s, ok := rawjson.Unquote(value)
	if ok {
		*to = s
	}
	return ok
}

// integer also accepts 3.0 and 3e2, which JavaScript may write, but nothing that would lose digits.
func integer(to *int64, value []byte) bool {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(value), 64)
		if n = int64(f); ferr != nil || float64(n) != f {
			return false
		}
	}
	*to = n
	return true
}

// integerOrNone and boolean fill pointers, because 0 and absent differ in these formats.
func integerOrNone(to **int64, value []byte) bool {
	n := new(int64)
	if !integer(n, value) {
		return false
	}
	*to = n
	return true
}

func boolean(to **bool, value []byte) bool {
	b := string(value) == "true"
	if !b && string(value) != "false" {
		return false
	}
	*to = &b
	return true
}

// object reads a member that is an object; anything else goes to Other.
func object[T any](to **T, value []byte, read func([]byte) T) bool {
	if !rawjson.IsObject(value) {
		return false
	}
	v := read(value)
	*to = &v
	return true
}

// raw accepts any JSON.
func raw(to *Raw, value []byte) bool {
	*to = Raw(value)
	return true
}

// Decode reads a record. A record of an unknown type is Opaque; unexpected members go to Other. The values point into the
// record. It fails for anything but a JSON object.
func Decode(record []byte) (Body, error) {
	// The whole record is validated once; what follows relies on it.
	if !rawjson.IsObject(record) || !rawjson.Valid(record) {
		return nil, fmt.Errorf("a record must be a JSON object")
	}
	name := Type(rawjson.Str(record, "type"))
	b, take := reader(name)
	// The envelope is the same in all types; take gets the rest.
	e := b.envelope()
	e.Other = fields(record, func(key string, v []byte) bool {
		switch key {
		case "type":
			return rawjson.IsString(v)
		case "run_id":
			return str(&e.RunID, v)
		case "ts":
			return str(&e.Time, v)
		case "meta":
			return raw(&e.Meta, v)
		}
		return take(key, v)
	})
	// The record of an extension passes through as it is.
	if o, ok := b.(*Opaque); ok {
		o.JSON = Raw(record)
	}
	return b, nil
}

// reader gives an empty body and the function that reads its own members.
func reader(name Type) (Body, func(key string, v []byte) bool) {
	switch name {
	case TypeRunStart:
		b := new(RunStart)
		return b, b.take
	case TypeRunContext:
		b := new(RunContext)
		return b, func(key string, v []byte) bool {
			f, err := strconv.ParseFloat(string(v), 64)
			if key != "context_left_percent" || err != nil {
				return false
			}
			b.ContextLeftPercent = f
			return true
		}
	case TypeAgentEvent:
		b := new(AgentEvent)
		return b, func(key string, v []byte) bool {
			return key == "seq" && integer(&b.Seq, v) || key == "event" && raw(&b.Event, v)
		}
	case TypeToolOutput:
		b := new(ToolOutput)
		return b, b.take
	case TypeLLMRequest:
		b := new(LLMRequest)
		return b, b.take
	case TypeLLMResponse:
		b := new(LLMResponse)
		return b, b.take
	case TypeRunStatus:
		b := new(RunStatus)
		return b, func(key string, v []byte) bool {
			return key == "status" && str(&b.Status, v) || key == "message" && str(&b.Message, v)
		}
	case TypeRunError:
		b := new(RunError)
		return b, b.take
	case TypeRunEnd:
		b := new(RunEnd)
		return b, func(key string, v []byte) bool {
			return key == "outcome" && str(&b.Outcome, v) || key == "final" && str(&b.Final, v)
		}
	}
	return &Opaque{Name: name}, func(string, []byte) bool { return false }
}

// The take methods list the members of the format in the order of its document. They give false for an unknown member and
// for a value of another type: it is then kept in Other and does not become a zero.
func (b *RunStart) take(key string, v []byte) bool {
	switch key {
	case "session_id":
		return str(&b.SessionID, v)
	case "ui_context":
		return raw(&b.UIContext, v)
	case "input":
		if !rawjson.IsObject(v) {
			return false
		}
		b.Input.Other = fields(v, func(key string, v []byte) bool {
			switch key {
			case "type":
				return str(&b.Input.Type, v)
			case "text":
				return str(&b.Input.Text, v)
			case "parts":
				return rawjson.IsArray(v) && raw(&b.Input.Parts, v)
			}
			return false
		})
		return true
	}
	return false
}

func (b *ToolOutput) take(key string, v []byte) bool {
	switch key {
	case "tool":
		return str(&b.Tool, v)
	case "tool_call_id":
		return str(&b.ToolCallID, v)
	case "result_raw":
		return str(&b.Result, v)
	case "is_error":
		return boolean(&b.IsError, v)
	case "output_ref":
		return object(&b.OutputRef, v, func(v []byte) (r OutputRef) {
			r.Other = fields(v, func(key string, v []byte) bool {
				switch key {
				case "id":
					return str(&r.ID, v)
				case "byte_size":
					return integerOrNone(&r.ByteSize, v)
				case "line_count":
					return integerOrNone(&r.LineCount, v)
				}
				return false
			})
			return r
		})
	}
	return false
}

// An input that is not an object is kept in Other, and likewise the output of a response: replay cannot use the record,
// but it is not lost.
func (b *LLMRequest) take(key string, v []byte) bool {
	switch key {
	case "seq":
		return integer(&b.Seq, v)
	case "model":
		return object(&b.Model, v, model)
	case "input":
		if !rawjson.IsObject(v) {
			return false
		}
		in := &b.Input
		in.Other = fields(v, func(key string, v []byte) bool {
			switch key {
			case "messages":
				return raw(&in.Messages, v)
			case "tools":
				return raw(&in.Tools, v)
			case "tool_choice":
				return raw(&in.ToolChoice, v)
			case "model":
				return str(&in.Model, v)
			case "session_key":
				return str(&in.SessionKey, v)
			}
			return false
		})
		return true
	}
	return false
}

func (b *LLMResponse) take(key string, v []byte) bool {
	switch key {
	case "seq":
		return integer(&b.Seq, v)
	case "output":
		if !rawjson.IsObject(v) {
			return false
		}
		out := &b.Output
		out.Other = fields(v, func(key string, v []byte) bool {
			switch key {
			case "messages":
				return raw(&out.Messages, v)
			case "usage":
				return object(&out.Usage, v, usage)
			case "stop_reason":
				return str(&out.StopReason, v)
			case "provider_meta":
				return raw(&out.ProviderMeta, v)
			}
			return false
		})
		return true
	}
	return false
}

func usage(object []byte) (u Usage) {
	u.Other = fields(object, func(key string, v []byte) bool {
		switch key {
		case "model":
			return str(&u.Model, v)
		case "input_tokens":
			return integer(&u.Input, v)
		case "input_cached_tokens":
			return integerOrNone(&u.Cached, v)
		case "input_cache_creation_tokens":
			return integerOrNone(&u.CacheCreation, v)
		case "input_image_tokens":
			return integerOrNone(&u.Image, v)
		case "output_tokens":
			return integer(&u.Output, v)
		case "total_tokens":
			return integer(&u.Total, v)
		case "provider_model":
			return str(&u.ProviderModel, v)
		}
		return false
	})
	return u
}

func (b *RunError) take(key string, v []byte) bool {
	if key != "error" || !rawjson.IsObject(v) {
		return false
	}
	e := &b.Error
	e.Other = fields(v, func(key string, v []byte) bool {
		switch key {
		case "name":
			return str(&e.Name, v)
		case "message":
			return str(&e.Message, v)
		case "stack":
			return str(&e.Stack, v)
		case "provider":
			return str(&e.Provider, v)
		case "kind":
			return str(&e.Kind, v)
		case "status":
			return integerOrNone(&e.Status, v)
		case "attempts":
			return integerOrNone(&e.Attempts, v)
		case "max_attempts":
			return integerOrNone(&e.MaxAttempts, v)
		}
		return false
	})
	return true
}
