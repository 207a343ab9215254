package request

import "slices"

// Build returns the messages that the program sends when a user continues from the end of a path, without the new prompt, and
// the blocks that it drops. turns are those of the entries after the last compaction. model is that of the last answer before
// them, "" if there is no such answer. Each rule is a separate function.
func Build(turns []*Turn, model string) ([]*Turn, []Drop) {
	var d drops
	turns = dropBlank(turns)
	turns = d.dropThoughts(d.dropOpen(turns))
	model = goesOn(turns, model)
	chooseRoles(turns, model)
	markThinking(turns, model)
	turns = finish(moveEarly(turns))
	turns = append(turns, next(true), next(false))
	turns = joinAnswers(dropErrors(raise(turns)))
	turns = dropEmpty(turns)
	trimAnswers(turns)
	d.dropSecondCalls(turns)
	turns = d.pair(joinUsers(spread(turns)))
	fill(turns)
	return withoutNext(turns), d.list
}

// next stands for the next prompt, or for what the program tells the model with it. Both are joined to what they follow.
func next(note bool) *Turn {
	b := textBlock("next")
	b.next = true
	if note {
		return &Turn{user: true, note: true, notes: [][]block{{b}}}
	}
	return &Turn{user: true, blocks: []block{b}}
}

// withoutNext removes the stand-ins of the next prompt.
func withoutNext(turns []*Turn) []*Turn {
	isNext := func(b block) bool { return b.next }
	return slices.DeleteFunc(turns, func(t *Turn) bool {
		if !slices.ContainsFunc(t.blocks, isNext) {
			return false
		}
		t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), isNext)
		return len(t.blocks) == 0
	})
}

// chooseRoles turns attachments that were sent as system messages into texts of the user if the model takes no system messages.
func chooseRoles(turns []*Turn, model string) {
	for _, t := range turns {
		if t.note && t.system && !takesSystem(model) {
			t.user, t.system = true, false
		}
	}
}

// finish ends a conversation that waits for an answer. The program adds results for the calls of the last answer that
// have none, and an answer. The output of commands after the last message then follows that answer.
func finish(turns []*Turn) []*Turn {
	n := len(turns)
	for n > 0 && turns[n-1].command {
		n--
	}
	said := lastSaid(turns)
	switch {
	case n == 0 || said < 0:
		return turns
	case turns[n-1].failed:
		return turns
	}
	if t := turns[said]; t.assistant() || t.has(blockResult) {
		if made := openCalls(turns, said); made != nil {
			return append(turns, made, sentinel())
		}
		if t.assistant() {
			return turns
		}
	}
	if endsWithCommand(turns) || turns[n-1].note && turns[said].settled {
		return turns
	}
	return slices.Insert(slices.Clip(turns), n, sentinel())
}

// sentinel is the answer that the program adds after a message without one.
func sentinel() *Turn { return &Turn{blocks: []block{textBlock(noResponse)}} }

// lastSaid returns the place of the last message that is no output of a command, no attachment and no error of the provider
// before an attachment; -1 if no message is left.
func lastSaid(turns []*Turn) int {
	for k, t := range slices.Backward(turns) {
		if !t.command && !t.note && !t.failed {
			return k
		}
	}
	return -1
}

// openCalls returns results for those calls of the last answer up to a place that have none, or nil if all have one.
func openCalls(turns []*Turn, said int) *Turn {
	k := said
	for k >= 0 && !turns[k].assistant() {
		k--
	}
	if k < 0 {
		return nil
	}
	answered := results(turns)
	last := turns[k]
	made := &Turn{user: true, Entry: last.Entry}
	for _, t := range turns[:k+1] {
		if t != last && (!t.assistant() || t.answer == "" || t.answer != last.answer) {
			continue
		}
		for _, b := range t.blocks {
			if b.kind == blockCall && !answered[b.id] {
				made.blocks = append(made.blocks, resultBlock(b.id, interrupted))
			}
		}
	}
	if made.blocks == nil {
		return nil
	}
	return made
}

// results returns the ids of the calls that have a result.
func results(turns []*Turn) map[string]bool {
	ids := map[string]bool{}
	for _, t := range turns {
		for _, b := range t.blocks {
			if t.user && b.kind == blockResult {
				ids[b.id] = true
			}
		}
	}
	return ids
}

// endsWithCommand reports whether the conversation ends with a command that the user ran: its caveat, its name and its
// output. The program does not wait for an answer to it.
func endsWithCommand(turns []*Turn) bool {
	for _, t := range slices.Backward(turns) {
		switch {
		case t.caveat:
			return true
		case !t.note && !t.begins("<command-name>") && !t.begins("<local-command-"):
			return false
		}
	}
	return false
}
