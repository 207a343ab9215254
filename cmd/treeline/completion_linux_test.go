package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCompletionInShells presses the tab key in each shell that is installed. bash has no package bash-completion here: it reads no start file.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	for _, sh := range []struct {
		name string
		args []string
		load string
	}{
		{"bash", []string{"--norc", "--noprofile", "-i"}, "source <(treeline completion bash); complete -p treeline"},
		{"zsh", []string{"-f", "-i"}, "autoload -U compinit && compinit -u -d zcomp; source <(treeline completion zsh); which _treeline | head -n 1"},
		{"fish", []string{"--no-config", "-i"}, "function fish_prompt; echo -n '@> '; end; treeline completion fish | source; complete -c treeline | head -n 1"},
	} {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(sh.name)
			if err != nil && sh.name != "bash" {
				return // the script is checked by TestCompletionScripts
			}
			if err != nil {
				t.Fatal(err)
			}
			cmd := historyProcess(t.TempDir())
			cmd.Path, cmd.Args = path, append([]string{sh.name}, sh.args...)
			cmd.Env = append(cmd.Env, "TERM=dumb", "PS1=@> ", "HISTFILE=", "INPUTRC=/dev/null")
			s := startShell(t, cmd)
			s.press(sh.load + "; echo ready\"\"2\r") // every shell joins them
			s.await("ready2")
			s.await("@> ")
			// A command, a flag, the value of a flag after a space and after =, and one with a colon.
			for _, c := range [][2]string{
				{"treeline sou\t", "treeline sources "},
				{"treeline show --dia\t", "treeline show --dialect"},
				{"treeline convert --to clau\t", "treeline convert --to claude "},
				{"treeline ls --sort=crea\t", "treeline ls --sort=created"},
				{"treeline ls --store postg\t", "treeline ls --store postgres://"},
			} {
				s.press(c[0])
				s.await(c[1])
				s.press("\x15") // an empty line again
			}
			s.press("exit\r")
		})
	}
}

// TestCompletionScripts: each shell gets a script that calls this program, and bash what it needs of the package.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, want := range map[string][]string{
		"bash":       {"complete -o default", "__treeline_init_completion()", "if ! declare -F _filedir"},
		"zsh":        {"#compdef treeline"},
		"fish":       {"complete -c treeline"},
		"powershell": {"Register-ArgumentCompleter -CommandName 'treeline'"},
	} {
		a, stdout, _ := testApp(t)
		if code := run(t.Context(), a, []string{"completion", shell}); code != exitFine {
			t.Errorf("%s: exit code %d, want 0", shell, code)
		}
		for _, text := range append(want, "__complete") {
			if !strings.Contains(stdout.String(), text) {
				t.Errorf("the script for %s has no %q", shell, text)
			}
		}
	}
}
