package jsonschema

import (
	"encoding/json"
	"reflect"
	"testing"
)

type leafType struct {
	N    int64           `json:"n"`
	Text *string         `json:"text"`
	More []leafType      `json:"more,omitempty"`
	Any  json.RawMessage `json:"any,omitempty"`
}

type base struct {
	F float64 `json:"f"`
}

type whole struct {
	leafType
	*base
	OK bool `json:"ok"`
}

// TestCheck: what encoding/json writes of a type is accepted, and everything else is not.
func TestCheck(t *testing.T) {
	t.Parallel()
	var d Document
	d.Add(reflect.TypeFor[whole]())
	for value, ok := range map[string]bool{
		`{"n":1,"text":null,"ok":true}`:                             true,
		`{"n":1,"text":"x","ok":true,"f":1.5}`:                      true,
		`{"n":1,"text":"x","ok":true,"any":{"a":[1]},"more":[]}`:    true,
		`{"n":1,"text":"x","ok":true,"more":[{"n":2,"text":null}]}`: true,
		`{"n":1,"ok":true}`:                                         false,
		`{"n":1.5,"text":null,"ok":true}`:                           false,
		`{"n":null,"text":null,"ok":true}`:                          false,
		`{"n":1,"text":2,"ok":true}`:                                false,
		`{"n":1,"text":null,"ok":"yes"}`:                            false,
		`{"n":1,"text":null,"ok":true,"more":null}`:                 false,
		`{"n":1,"text":null,"ok":true,"more":[{"n":2}]}`:            false,
		`{"n":1,"text":null,"ok":true,"unknown":1}`:                 false,
		`[]`:   false,
		`null`: false,
	} {
		if err := d.Check("whole", []byte(value)); (err == nil) != ok {
			t.Errorf("%s: %v", value, err)
		}
	}
	for _, v := range []whole{{}, {base: &base{1}, OK: true}} {
		text, err := json.Marshal(v)
		if err == nil {
			err = d.Check("whole", text)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
