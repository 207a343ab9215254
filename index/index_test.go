package index_test

import (
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(*testing.T) (func() indextest.Index, indextest.Kept) {
		return func() indextest.Index { return index.Open(index.Options{}) }, indextest.Nothing
	})
}

func TestDisk(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(t *testing.T) (func() indextest.Index, indextest.Kept) {
		dir := t.TempDir()
		return func() indextest.Index {
			return index.Open(index.Options{Dir: dir, Notice: func(text string) { t.Error(text) }})
		}, indextest.Committed
	})
}
