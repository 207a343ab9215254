package main

import (
	"slices"
	"testing"
)

// TestRecall: a kept request is compared again without the agent, and an empty file is a refusal.
func TestRecall(t *testing.T) {
	d := &desk{agent: agents[0]}
	for _, test := range []struct {
		body string
		want []string
	}{{`{"messages":[{"role":"user","content":"one"}]}`, []string{"user\n\ttext \"one\""}}, {"", nil}} {
		o := outcome{scene: scene{name: "a"}, log: []byte("{}\n"), got: sent{body: []byte(test.body)}}
		dir := t.TempDir()
		if err := o.keep(dir, "agent"); err != nil {
			t.Fatal(err)
		}
		got, err := d.recall(dir + "/agent-a.sent.json")
		if err != nil || !slices.Equal(got.messages, test.want) || (got.body == nil) != (test.body == "") {
			t.Errorf("%q: %q, %v; want %q, a body: %v", test.body, got.messages, err, test.want, test.body != "")
		}
	}
}
