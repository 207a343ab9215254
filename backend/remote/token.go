package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// Tokens returns a function that finds the token for a server: in the variable TREELINE_TOKEN, which then is for every host, or in a file
// with lines like
//
//	"host.example:8443" = "the token"
//
// A file that other users can read is refused. A file that does not exist has no tokens.
func Tokens(getenv func(string) string, file string) func(host string) (string, error) {
	return func(host string) (string, error) {
		if token := getenv("TREELINE_TOKEN"); token != "" || file == "" {
			return token, nil
		}
		tokens, err := readTokens(file)
		return tokens[host], err
	}
}

// Hosts lists the hosts in a file of tokens, in order.
func Hosts(file string) ([]string, error) {
	tokens, err := readTokens(file)
	return slices.Sorted(maps.Keys(tokens)), err
}

// readTokens reads a file of tokens, by their hosts.
func readTokens(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: others can read it, and it has tokens: its mode is %o, and must be 600", file, info.Mode().Perm())
	}
	var tokens map[string]string
	if err := toml.Unmarshal(text, &tokens); err != nil {
		var where *toml.DecodeError
		if errors.As(err, &where) {
			line, _ := where.Position()
			return nil, fmt.Errorf("%s:%d: a line must be like \"host\" = \"token\"", file, line) // the text may be a token
		}
		return nil, fmt.Errorf("%s: lines must be like \"host\" = \"token\"", file)
	}
	return tokens, nil
}
