package server

import (
	"context"
	"mime"
	"net/http"
	"reflect"

	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/logs"
)

// archived gives the operations on logs and blobs, which package logs carries out.
func archived() (list []operation) {
	for _, row := range logs.Rows() {
		o := operation{
			method: row.Method, path: row.Path, name: row.Name, doc: row.Doc, media: row.Media, body: row.Body, writes: row.Writes,
			params: row.Params, result: row.Result, fields: fieldsOf(row.Params),
		}
		o.call = func(r *request) error {
			p := reflect.New(row.Params)
			if err := r.decodeQuery(p.Elem(), o.fields); err != nil {
				return err
			}
			// A form of another site cannot send this type.
			kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
			if o.body != "" && kind != protocol.Bytes {
				return guard.Refuse(http.StatusUnsupportedMediaType, "the body must be bytes, with the header Content-Type: %s", protocol.Bytes)
			}
			c := &logs.Call{W: r.w, R: r.Request}
			if r.grant != nil {
				c.Writer = r.grant.Writer()
			}
			if r.grant.Limited() {
				c.May = r.mayUse
			}
			return row.Answer(r.s.logs, c, p.Interface())
		}
		list = append(list, o)
	}
	return list
}

// mayUse decides whether a token that is limited to projects may use a log; see logs.Call.
func (r *request) mayUse(context.Context, string, bool, []byte) error { return r.mustSeeAll() }
