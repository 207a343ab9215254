package page

import (
	"embed"
	"html/template"
	"sync"
)

//go:embed templates
var templateFiles embed.FS

// templates are parsed on first use: a program that shows no page does not pay for them.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(funcs).ParseFS(templateFiles, "templates/*.html"))
})
