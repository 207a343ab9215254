package pi

import (
	"math"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// outputNotice is what omp adds to an output of a command that was cut: how much is shown, and how to see the rest. As in
// the program, missing members read "undefined".
func outputNotice(meta []byte) string {
	var parts []string
	if t := rawjson.Get(meta, "truncation"); rawjson.Truthy(t) {
		parts = append(parts, truncationNotice(t))
	}
	limits := rawjson.Get(meta, "limits")
	for _, l := range []struct{ member, what string }{
		{"matchLimit", "matches"}, {"resultLimit", "results"}, {"headLimit", "results"},
	} {
		if limit := rawjson.Get(limits, l.member); rawjson.Truthy(limit) {
			parts = append(parts, jsString(rawjson.Get(limit, "reached"))+" "+l.what+" limit reached. Use limit="+
				jsString(rawjson.Get(limit, "suggestion"))+" for more")
		}
	}
	if c := rawjson.Get(limits, "columnTruncated"); rawjson.Truthy(c) {
		parts = append(parts, "Some lines truncated to "+jsString(rawjson.Get(c, "maxColumn"))+" chars")
	}
	if len(parts) == 0 {
		return ""
	}
	return "\n\n[" + strings.Join(parts, ". ") + "]"
}

// truncationNotice describes a cut. The program counted the lines when it cut them.
func truncationNotice(t []byte) string {
	member := func(key string) string { return jsString(rawjson.Get(t, key)) }
	shown := rawjson.Get(t, "shownRange")
	start, haveStart := number(rawjson.Get(shown, "start"))
	end, haveEnd := number(rawjson.Get(shown, "end"))
	notice := "Showing " + member("outputLines") + " of " + member("totalLines") + " lines"
	if haveStart && haveEnd && end >= start {
		notice = "Showing lines " + jsNumber(start) + "-" + jsNumber(end) + " of " + member("totalLines")
	}
	if rawjson.Str(t, "truncatedBy") == "bytes" {
		limit := rawjson.Get(t, "maxBytes")
		if rawjson.IsNull(limit) {
			limit = rawjson.Get(t, "outputBytes")
		}
		n, _ := number(limit)
		notice += " (" + byteSize(n) + " limit)"
	}
	if !rawjson.IsNull(rawjson.Get(t, "nextOffset")) {
		notice += ". Use offset=" + member("nextOffset") + " to continue"
	}
	if !rawjson.IsNull(rawjson.Get(t, "artifactId")) {
		notice += ". Read artifact://" + member("artifactId") + " for full output"
	}
	return notice
}

// byteSize spells a number of bytes; halves are rounded up, like in JavaScript's toFixed.
func byteSize(n float64) string {
	if n < 1024 {
		return jsNumber(n) + "B"
	}
	unit := "KB"
	n /= 1024
	for _, larger := range []string{"MB", "GB"} {
		if n < 1024 {
			break
		}
		n /= 1024
		unit = larger
	}
	return strconv.FormatFloat(math.Floor(n*10+0.5)/10, 'f', 1, 64) + unit
}
