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
	OK    bool              `json:"ok"`
	Pair  [2]int            `json:"pair,omitzero"`
	Names map[string]string `json:"names,omitempty"`
	Open  *open             `json:"open,omitempty"`
}

// open is a struct whose JSON may have other members.
type open struct {
	ID string `json:"id"`
	_  More
}

// TestCheck: a schema accepts what encoding/json writes of its type, and nothing else.
func TestCheck(t *testing.T) {
	t.Parallel()
	var set Set
	s := set.Add(reflect.TypeFor[whole]())
	for value, ok := range map[string]bool{
		`{"n":1,"text":null,"ok":true}`:                             true,
		`{"n":1,"text":"x","ok":true,"f":1.5}`:                      true,
		`{"n":1,"text":"x","ok":true,"any":{"a":[1]},"more":[]}`:    true,
		`{"n":1,"text":"x","ok":true,"more":[{"n":2,"text":null}]}`: true,
		`{"n":1,"text":null,"ok":true,"pair":[1,2]}`:                true,
		`{"n":1,"text":null,"ok":true,"names":{"a":"b"}}`:           true,
		`{"n":1,"text":null,"ok":true,"open":{"id":"x","more":1}}`:  true,
		`{"n":1,"text":null,"ok":true,"pair":[1]}`:                  false,
		`{"n":1,"text":null,"ok":true,"names":{"a":1}}`:             false,
		`{"n":1,"text":null,"ok":true,"open":{"more":1}}`:           false,
		`{"n":1,"text":null,"ok":true,"open":null}`:                 false,
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
		if err := set.Defs.Check(s, []byte(value)); (err == nil) != ok {
			t.Errorf("%s: %v; want (err == nil) == %v", value, err, ok)
		}
	}
	for _, v := range []whole{{}, {base: &base{1}, OK: true}} {
		text, err := json.Marshal(v)
		if err == nil {
			err = set.Defs.Check(s, text)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestNames: two types with one name are an error instead of one definition.
func TestNames(t *testing.T) {
	t.Parallel()
	set := Set{Name: func(reflect.Type) string { return "Same" }}
	set.Add(reflect.TypeFor[base]())
	set.Add(reflect.TypeFor[base]())
	defer func() {
		if recover() == nil {
			t.Error("two types have one name")
		}
	}()
	set.Add(reflect.TypeFor[open]())
}
