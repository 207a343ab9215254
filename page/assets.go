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
	// Name has a hash of the content: a name stands for the same bytes forever.
	Name string
	// Type is the media type.
	Type string
	Data []byte
}

// hash is the value of a Content-Security-Policy for an inline script or style.
func (a Asset) hash() string {
	sum := sha256.Sum256(a.Data)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// assets are the files by their names without a hash.
var assets = sync.OnceValue(func() map[string]Asset {
	list := map[string]Asset{}
	for _, name := range []string{"style.css", "app.js", "icon.svg"} {
		data, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // it is part of the program
		}
		data = dense(data)
		sum := sha256.Sum256(data)
		stem, ext, _ := strings.Cut(name, ".")
		list[name] = Asset{Name: stem + "-" + hex.EncodeToString(sum[:6]) + "." + ext, Type: assetTypes[path.Ext(name)], Data: data}
	}
	return list
})

// dense leaves out the indentation and the comments of the script, since every export has it. No string of it has a line break.
// A checkout on Windows has the same bytes.
func dense(data []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			b.Write(line)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// Assets lists what a server answers below /assets/.
func Assets() []Asset {
	list := make([]Asset, 0, len(assets()))
	for _, a := range assets() {
		list = append(list, a)
	}
	return list
}

// Asset gives the address of an asset.
func (s *Site) Asset(name string) string { return s.Link("assets", assets()[name].Name) }

// Policy is the Content-Security-Policy of an export: nothing is loaded, and only the one script and the one style sheet
// are used. The script may load the search index, where there is one. The server sends its own policy as a header.
func (v view) Policy() string {
	a := assets()
	script := a["app.js"].hash()
	if v.Index != "" {
		script += " 'strict-dynamic'"
	}
	return "default-src 'none'; script-src " + script + "; style-src " + a["style.css"].hash() + "; img-src data:; base-uri 'none'; form-action 'none'"
}

// Style is the style sheet of an export, Script its script.
func (s *Site) Style() template.CSS { return template.CSS(assets()["style.css"].Data) }

// Script is the script of an export.
func (s *Site) Script() template.JS { return template.JS(assets()["app.js"].Data) }
