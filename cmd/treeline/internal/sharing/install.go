package sharing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// service is a program that the operating system runs for the user.
type service struct {
	name    string // name of the unit
	path    string // path of the unit's file
	content string
	start   string // the command that starts it now and after each login
	remove  string // the command that removes it
}

// installPush writes a service that pushes whatever is written, and says how to start it and how to remove it.
func installPush(a *cli.App, f *pushFlags, address string) error {
	if hasPassword(address) {
		return cli.Misused("the address has a password, which the service would show: put it into ~/.pgpass and leave it out")
	}
	if archived, err := place.CheckRoots(a.Drivers(), []string{address}); err != nil {
		return cli.Misused("%w", err)
	} else if !archived {
		return cli.Misused("a service pushes to the URL of an archive, such as https://host")
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	line := []string{program, "push", "--watch"}
	for _, s := range f.sources {
		line = append(line, "--source", s)
	}
	for _, p := range f.projects {
		glob, err := projectGlob(a, p)
		if err != nil {
			return err
		}
		line = append(line, "--project", glob)
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"--deletions", f.deletions}, {"--redact", f.redact}, {"--no-redact", f.noRedact}} {
		if flag.set {
			line = append(line, flag.name)
		}
	}
	line = append(line, address)
	if a.KnownHome() == "" {
		return treeline.ErrNoHome
	}
	s, err := serviceFor(runtime.GOOS, a.Home(), a.Getenv, place.Shown(a.Drivers(), address), line)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return err
	}
	if old, err := os.ReadFile(s.path); err == nil && string(old) != s.content {
		a.Notice(fmt.Sprintf("%s is replaced", s.path))
	}
	if err := os.WriteFile(s.path, []byte(s.content), 0o600); err != nil {
		return err
	}
	if err := a.Say(struct {
		Path   string   `json:"path"`
		Run    []string `json:"run"`
		Start  string   `json:"start"`
		Remove string   `json:"remove"`
	}{s.path, line, s.start, s.remove}, fmt.Sprintf("wrote %s\nstart it:  %s\nremove it: %s", s.path, s.start, s.remove)); err != nil {
		return err
	}
	if host, ok := strings.CutPrefix(place.Shown(a.Drivers(), address), "https://"); ok {
		host, _, _ = strings.Cut(host, "/")
		if hosts, err := a.Hosts(); err != nil {
			return err
		} else if !slices.Contains(hosts, host) {
			a.Notice(fmt.Sprintf("the service has no token yet, since it does not see %s: add a line %q = \"TOKEN\" to %s", cli.TokenVariable, host, a.TokensFile()))
		}
	}
	return nil
}

// serviceFor returns the service for an operating system. archive is the address as it is shown.
func serviceFor(system, home string, getenv func(string) string, archive string, line []string) (service, error) {
	sum := sha256.Sum256([]byte(archive))
	id := hex.EncodeToString(sum[:4])
	switch system {
	case "linux", "freebsd":
		config := getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(config) {
			config = filepath.Join(home, ".config")
		}
		s := service{name: "treeline-push-" + id + ".service"}
		s.path = filepath.Join(config, "systemd", "user", s.name)
		var words []string
		for _, w := range line {
			words = append(words, systemdWord(w))
		}
		s.content = "# Written by treeline push --install.\n[Unit]\nDescription=treeline: push sessions to " + systemdText(archive) + "\n\n" +
			"[Service]\nExecStart=" + strings.Join(words, " ") + "\nRestart=on-failure\nRestartSec=30\nNice=10\n\n[Install]\nWantedBy=default.target\n"
		s.start = "systemctl --user daemon-reload && systemctl --user enable --now " + s.name
		s.remove = "systemctl --user disable --now " + s.name + " && " + wire.ShellLine("", nil, []string{"rm", s.path})
		return s, nil
	case "darwin":
		s := service{name: "dev.treeline.push-" + id}
		s.path = filepath.Join(home, "Library", "LaunchAgents", s.name+".plist")
		var b strings.Builder
		b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\">\n<dict>\n\t<key>Label</key>\n\t<string>" + s.name + "</string>\n\t<key>ProgramArguments</key>\n\t<array>\n")
		for _, w := range line {
			b.WriteString("\t\t<string>")
			if err := xml.EscapeText(&b, []byte(w)); err != nil {
				return s, err
			}
			b.WriteString("</string>\n")
		}
		b.WriteString("\t</array>\n\t<key>RunAtLoad</key>\n\t<true/>\n\t<key>KeepAlive</key>\n\t<true/>\n\t<key>ProcessType</key>\n\t<string>Background</string>\n</dict>\n</plist>\n")
		s.content = b.String()
		s.start = wire.ShellLine("", nil, []string{"launchctl", "load", "-w", s.path})
		s.remove = wire.ShellLine("", nil, []string{"launchctl", "unload", "-w", s.path}) + " && " + wire.ShellLine("", nil, []string{"rm", s.path})
		return s, nil
	}
	return service{}, fmt.Errorf("treeline cannot write a service for %s; run 'treeline push --watch' at login", system)
}

// systemdText escapes a text for a unit, where % begins a specifier.
func systemdText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(text, "%", "%%"))
}

// systemdWord quotes a word of a command line in a unit.
func systemdWord(word string) string {
	return `"` + systemdText(strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", "$$").Replace(word)) + `"`
}
