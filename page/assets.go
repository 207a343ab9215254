package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"path"
	"strings"
	"sync"
)

//go:embed assets
var assetFiles embed.FS

// Asset is a file that pages refer to.
type Asset struct {
	// Name contains a hash of the content: the same name always means the same bytes.
	Name string
	// Type is the media type.
	Type string
	Data []byte
}

// hash returns the value that allows an inline script or style in a Content-Security-Policy.
func (a Asset) hash() string {
	sum := sha256.Sum256(a.Data)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// assets maps names without a hash to files.
var assets = sync.OnceValue(func() map[string]Asset {
	list := map[string]Asset{}
	for _, name := range []string{"style.css", "app.js", "icon.svg"} {
		data, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // the file is part of the program
		}
		data = dense(data)
		sum := sha256.Sum256(data)
		stem, ext, _ := strings.Cut(name, ".")
		list[name] = Asset{Name: stem + "-" + hex.EncodeToString(sum[:6]) + "." + ext, Type: assetTypes[path.Ext(name)], Data: data}
	}
	return list
})

// spaced are operators that the script has between spaces. No string literal has one of them.
var spaced = strings.NewReplacer(" => ", "=>", " = ", "=", " === ", "===", " !== ", "!==", " ?? ", "??", " && ", "&&", " || ", "||")

// dense removes indentation, the comments that have their own lines, and the spaces around operators, since every export contains script
// and style sheet. No string literal has a line break. The result is the same for a checkout on Windows.
func dense(data []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) && !bytes.HasPrefix(line, []byte("/*")) {
			_, _ = spaced.WriteString(&b, string(line)) // a buffer returns no error
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// Assets returns the files that a server serves below /assets/.
func Assets() []Asset {
	list := make([]Asset, 0, len(assets()))
	for _, a := range assets() {
		list = append(list, a)
	}
	return list
}

// Asset returns the address of an asset.
func (s *Site) Asset(name string) string { return s.Link("assets", assets()[name].Name) }

// Policy returns the Content-Security-Policy of an export: only its script and its style sheet are used, and nothing is loaded but the
// search index, if there is one. The server sends a policy of its own as a header.
func (v view) Policy() string {
	a := assets()
	script := a["app.js"].hash()
	if v.Index != "" {
		script += " 'strict-dynamic'"
	}
	return "default-src 'none'; script-src " + script + "; style-src " + a["style.css"].hash() + "; img-src data:; base-uri 'none'; form-action 'none'"
}

// Style returns the style sheet of an export.
func (s *Site) Style() template.CSS { return template.CSS(assets()["style.css"].Data) }

// Script returns the script of an export.
func (s *Site) Script() template.JS { return template.JS(assets()["app.js"].Data) }
