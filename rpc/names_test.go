package rpc

import (
	"reflect"
	"testing"

	"github.com/treeline-dev/treeline/wire"
)

// Two types of the same name would share one schema, and clients would get the wrong members.
func TestSchemaNames(t *testing.T) {
	t.Parallel()
	type part struct{}
	b := schemas{}
	b.of(reflect.TypeFor[wire.Part]())
	b.of(reflect.TypeFor[wire.Part]())
	defer func() {
		if recover() == nil {
			t.Error("the second Part was taken for the first")
		}
	}()
	b.of(reflect.TypeFor[part]())
}
