package cli

import (
	"crypto/rand"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
	books "github.com/treeline-dev/treeline/access/all"
	"github.com/treeline-dev/treeline/backend"
	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
)

// withStore are the commands that read or append, by their path below treeline. They work on an archive in the same way as on this machine.
var withStore = strings.Fields(`ls sources show tree context search stats watch pick check export new append branch label rename fork convert
	resume serve rpc mcp run/ls run/show run/audit run/diff`)

// Drivers returns the same drivers at each call, since what they open shares connections. The tokens of servers are in treeline's own
// folder.
func (a *App) Drivers() []backend.Driver {
	if a.known == nil {
		a.known = drivers.With(drivers.Options{Getenv: a.Getenv, Tokens: a.TokensFile()})
	}
	return a.known
}

// TokensFile returns the file with the tokens of servers.
func (a *App) TokensFile() string {
	return filepath.Join(treeline.DataDir(a.Home(), a.Getenv), "tokens.toml")
}

// Hosts returns the servers that this machine has a token for.
func (a *App) Hosts() ([]string, error) { return drivers.Hosts(a.TokensFile()) }

// AddStore adds --store to the commands that have it.
func (a *App) AddStore(root *cobra.Command) {
	for _, name := range append(withStore, "") { // "" is treeline itself
		cmd, _, err := root.Find(strings.Split(name, "/"))
		if err != nil || cmd.Flags().Lookup("store") != nil {
			continue
		}
		cmd.Flags().StringVar(&a.Archive, "store", "", "work on the archive at `URL`, such as postgres://host/db, instead of this machine")
		if name == "new" {
			continue // what a command writes stays on its machine
		}
		cmd.Flags().StringVar(&a.Origin, "origin", "", "with --store: only sessions of the machine `NAME`; the beginning of a name is enough")
	}
}

// useStore checks --store. For a session that is named by its URL, it uses the archive of that URL: nothing else makes a command contact a
// server.
func (a *App) useStore(cmd *cobra.Command, given []string) error {
	if strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) {
		return nil // these are the arguments of another command
	}
	flag := cmd.Flags().Lookup("store")
	if flag != nil && flag.Changed {
		if cmd.Flags().Changed("root") {
			return Misused("--store and --root cannot be combined")
		}
		return a.checkStore(flag.Value.String())
	}
	if root := cmd.Flags().Lookup("root"); root != nil && backend.Scheme(root.Value.String()) != "" {
		return Misused("--root looks in a folder; --store takes the URL of an archive") // without the value, which may contain a password
	}
	if a.Origin != "" {
		return Misused("--origin needs --store")
	}
	if strings.Contains(cmd.Use, "<url>") { // the archive is an argument of the command
		return a.checkArchive("<url>", strings.Join(given, ""))
	}
	for _, arg := range given {
		ref, _ := SplitEntry(arg)
		d, err := backend.FindDriver(a.Drivers(), ref)
		if backend.Scheme(ref) == "" || err != nil || !d.Archive {
			continue
		}
		if flag == nil {
			return Misused("'%s' does not work on archives", cmd.CommandPath())
		}
		if d.Split == nil {
			return Misused("%s: name the archive of the session with --store", place.Shown(a.Drivers(), ref))
		}
		archive, _, err := d.Split(ref)
		if err != nil {
			return Misused("%w", err)
		}
		if a.Archive != "" && a.Archive != archive {
			return Misused("the sessions are in different archives")
		}
		a.Archive = archive
	}
	return nil
}

// checkStore refuses a value of --store that is not the URL of an archive.
func (a *App) checkStore(url string) error { return a.checkArchive("--store", url) }

// checkArchive refuses anything but the URL of an archive. It does not repeat the text, which may contain a password.
func (a *App) checkArchive(what, url string) error {
	var kinds, names []string
	for _, d := range a.Drivers() {
		if d.Archive && !slices.Contains(names, d.Name) { // other schemes of the same driver are not mentioned
			kinds, names = append(kinds, d.Scheme+"://"), append(names, d.Name)
		}
	}
	use := strings.Join(kinds, " or ")
	scheme := backend.Scheme(url)
	if scheme == "" {
		return Misused("%s is the URL of an archive: it begins with %s", what, use)
	}
	if d, err := backend.FindDriver(a.Drivers(), url); err != nil || !d.Archive {
		return Misused("%s %s://%s: unknown kind of archive: use %s", what, scheme, screen.Ellipsis, use)
	}
	if _, err := place.CheckRoots(a.Drivers(), []string{url}); err != nil {
		return Misused("%s: %w", what, err)
	}
	return nil
}

// TokenVariable is where a token can be kept off the command line, which other users of the machine see.
const TokenVariable = "TREELINE_TOKEN"

// Book opens the tokens of the archive of --store. They are closed at the end of the command.
func (a *App) Book() (access.Book, error) {
	if a.Archive == "" {
		return nil, Misused("--store URL is missing: tokens are kept in the database of an archive")
	}
	given := a.Archive
	if d, err := backend.FindDriver(a.Drivers(), given); err == nil && d.Split != nil {
		if given, _, err = d.Split(given); err != nil {
			return nil, Misused("--store: %w", err)
		}
	}
	b, err := books.Open(backend.Scheme(given), given, rand.Reader)
	if err != nil {
		return nil, Misused("--store: %w", err)
	}
	a.AtEnd(b.Close)
	return b, nil
}
