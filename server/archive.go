package server

import (
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
			return row.Answer(r.s.logs, &logs.Call{W: r.w, R: r.Request}, p.Interface())
		}
		list = append(list, o)
	}
	return list
}
