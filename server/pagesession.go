package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// Bounds of a page: the whole of it is at most 300 KB, however large the session is.
const (
	blocksMost = 40
	textMost   = 4 << 10
	railMost   = 160
	// hereMost is the number of entries on a path up to which the size of its context is estimated.
	hereMost = 1000
)

func sessionPage(r *request) error  { return r.showSession((*page.Site).Session) }
func fragmentPage(r *request) error { return r.showSession((*page.Site).Fragment) }

// showSession makes the page of a session, or the part of it that changes.
func (r *request) showSession(write func(*page.Site, *bytes.Buffer, page.SessionPage) error) error {
	return nil
}
