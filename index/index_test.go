package index_test

import (
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(*testing.T) (func() *index.Index, bool) {
		return func() *index.Index { return index.Open(index.Options{}) }, false
	})
}

func TestDisk(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(t *testing.T) (func() *index.Index, bool) {
		dir := t.TempDir()
		return func() *index.Index {
			return index.Open(index.Options{Dir: dir, Notice: func(text string) { t.Error(text) }})
		}, true
	})
}
