package pi

import (
	"bytes"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

var _ dialect.Overflower = (*Dialect)(nil)

// Whole restores what Persist cut off. A string that no longer has the same beginning was changed since and stays.
func (d *Dialect) Whole(record []byte, get func(ref string) ([]byte, error)) []byte {
	if !bytes.Contains(record, []byte(`"`+overflowMember+`"`)) {
		return record
	}
	out := record
	for pointer, value := range rawjson.Fields(rawjson.Get(record, overflowMember)) {
		ref, ok := rawjson.Unquote(value)
		if !ok {
			continue
		}
		kept, isString := rawjson.Unquote(rawjson.At(out, pointer))
		beginning, isCut := strings.CutSuffix(kept, notice)
		if !isString || !isCut {
			continue
		}
		if whole, err := get(ref); err == nil && bytes.HasPrefix(whole, []byte(beginning)) {
			out = rawjson.SetAt(out, pointer, rawjson.Quote(string(whole)))
		}
	}
	return out
}
