package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// withStore are the commands that read or append, by their path below treeline. They work on an archive as on this machine.
var withStore = strings.Fields(`ls sources show tree context search stats watch pick check export new append branch label rename fork convert
	resume serve rpc mcp run/ls run/show run/audit run/diff`)

// drivers gives the same ones at each call: what they open shares connections. The tokens of servers are in treeline's own
// folder.
func (a *app) drivers() []backend.Driver {
	if a.known == nil {
		a.known = drivers.With(drivers.Options{Getenv: a.getenv, Tokens: a.tokensFile()})
	}
	return a.known
}

// tokensFile is the file with the tokens of servers.
func (a *app) tokensFile() string {
	return filepath.Join(treeline.DataDir(a.home(), a.getenv), "tokens.toml")
}

// addStore adds --store to the commands that have it.
func (a *app) addStore(root *cobra.Command) {
	for _, name := range append(withStore, "") { // the last is treeline itself
		cmd, _, err := root.Find(strings.Split(name, "/"))
		if err != nil || cmd.Flags().Lookup("store") != nil {
			continue
		}
		cmd.Flags().StringVar(&a.archive, "store", "", "work on the archive at `URL`, such as postgres://host/db, instead of this machine")
		if name == "new" {
			continue // what a machine makes is its own
		}
		cmd.Flags().StringVar(&a.origin, "origin", "", "with --store: only sessions of the machine `NAME`; the beginning of a name is enough")
	}
}

// useStore checks --store. A session that is named by its URL is in the archive of that URL: nothing else makes a command
// ask a server.
func (a *app) useStore(cmd *cobra.Command, given []string) error {
	if strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) {
		return nil // its arguments are those of another command
	}
	flag := cmd.Flags().Lookup("store")
	if flag != nil && flag.Changed {
		if cmd.Flags().Changed("root") {
			return misused("--store and --root cannot be combined")
		}
		return a.checkStore(flag.Value.String())
	}
	if root := cmd.Flags().Lookup("root"); root != nil && backend.Scheme(root.Value.String()) != "" {
		return misused("--root looks in a folder; --store takes the URL of an archive") // which may hold a password
	}
	if a.origin != "" {
		return misused("--origin needs --store")
	}
	if strings.Contains(cmd.Use, "<url>") { // the archive is what the command is about
		return a.checkArchive("<url>", strings.Join(given, ""))
	}
	for _, arg := range given {
		ref, _ := splitEntry(arg)
		d, err := backend.FindDriver(a.drivers(), ref)
		if backend.Scheme(ref) == "" || err != nil || !d.Archive {
			continue
		}
		if flag == nil {
			return misused("'%s' does not work on archives", cmd.CommandPath())
		}
		if d.Split == nil {
			return misused("%s: name the archive of the session with --store", place.Shown(a.drivers(), ref))
		}
		archive, _, err := d.Split(ref)
		if err != nil {
			return usageError{err}
		}
		if a.archive != "" && a.archive != archive {
			return misused("the sessions are in different archives")
		}
		a.archive = archive
	}
	return nil
}

// checkStore refuses a value of --store that is not the URL of an archive.
func (a *app) checkStore(url string) error { return a.checkArchive("--store", url) }

// checkArchive refuses what is not the URL of an archive. It may hold a password, so it is not repeated.
func (a *app) checkArchive(what, url string) error {
	var kinds, names []string
	for _, d := range a.drivers() {
		if d.Archive && !slices.Contains(names, d.Name) { // another scheme of the same driver is not worth a word
			kinds, names = append(kinds, d.Scheme+"://"), append(names, d.Name)
		}
	}
	use := strings.Join(kinds, " or ")
	scheme := backend.Scheme(url)
	if scheme == "" {
		return misused("%s is the URL of an archive: it begins with %s", what, use)
	}
	if d, err := backend.FindDriver(a.drivers(), url); err != nil || !d.Archive {
		return misused("%s %s://%s: unknown kind of archive: use %s", what, scheme, screen.Ellipsis, use)
	}
	if _, err := place.CheckRoots(a.drivers(), []string{url}); err != nil {
		return usageError{fmt.Errorf("%s: %w", what, err)}
	}
	return nil
}

// fetch copies a session of the archive to this machine, into the place of its agent, and gives the path of the copy. From
// then on the command works on this machine. A working directory that is not here is replaced by the one of the command.
func (a *app) fetch(ctx context.Context, ref, dialectName string, w store.WriteOptions) (path string, err error) {
	far, err := a.writeStore()
	if err != nil {
		return "", err
	}
	src, err := a.openIn(ctx, far, ref, dialectName)
	if err != nil {
		return "", err
	}
	defer src.Close()
	a.archive = ""
	here, err := a.store()
	if err != nil {
		return "", err
	}
	opt := store.CreateOptions{CWD: src.CWD(), Dialect: src.Dialect(), Write: w}
	if isFolder(opt.CWD) != nil {
		if opt.CWD, err = a.listDir(""); err != nil {
			return "", err
		}
	}
	opt.Dir = here.Home(opt.Dialect, opt.CWD)
	sess, err := far.ForkFrom(ctx, src.Path(), opt)
	if err != nil {
		return "", err
	}
	a.notice("copied to this machine: " + sess.Path())
	return sess.Path(), sess.Close()
}
