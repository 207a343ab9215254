package wire

import "testing"

// A command can be pasted into a shell, whatever its words are.
func TestShellLine(t *testing.T) {
	t.Parallel()
	args := []string{"pi", "--session", "it's $HOME.jsonl", ""}
	if got, want := posix.line("/a b", []string{"X=1 2", "Y=3"}, args), `cd '/a b' && X='1 2' Y=3 pi --session 'it'\''s $HOME.jsonl' ''`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if got, want := posix.line("", nil, []string{"codex", "resume", "0198-a"}), `codex resume 0198-a`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	// What would be escaped on a terminal is escaped in the way of the shell, so that the command still names the file.
	if got, want := posix.line("", nil, []string{"pi", "a\x1b[31m\nit's\\ \u202eé"}), `pi $'a\033[31m\nit\'s\\ \342\200\256\303\251'`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if got, want := cmdExe.line(`C:\a b`, []string{"X=1"}, []string{"pi", `C:\s.jsonl`}), `cd /d "C:\a b" && set X=1&& pi C:\s.jsonl`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
