package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/pelletier/go-toml/v2"
)

// Tokens looks for tokens of servers: in the variable TREELINE_TOKEN, which is then for every host, and in a file with lines like
//
//	"host.example:8443" = "the token"
//
// A file that others can read is refused. One that does not exist has no tokens.
func Tokens(getenv func(string) string, file string) func(host string) (string, error) {
	return func(host string) (string, error) {
		if token := getenv("TREELINE_TOKEN"); token != "" || file == "" {
			return token, nil
		}
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return "", fmt.Errorf("%s: others can read it, and it has tokens: its mode is %o, and must be 600", file, info.Mode().Perm())
		}
		var tokens map[string]string
		if err := toml.Unmarshal(text, &tokens); err != nil {
			var where *toml.DecodeError
			if errors.As(err, &where) {
				line, _ := where.Position()
				return "", fmt.Errorf("%s:%d: a line must be like \"host\" = \"token\"", file, line) // the text may be a token
			}
			return "", fmt.Errorf("%s: lines must be like \"host\" = \"token\"", file)
		}
		return tokens[host], nil
	}
}
