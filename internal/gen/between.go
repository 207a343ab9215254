package gen

// between writes, now and then before a prompt, entries that are not messages. Kinds and frequencies follow pi and omp; each
// has kinds that the other lacks.
func (s *session) between() {
	// Sessions of both agents begin with these two.
	if s.entries == 0 {
		s.modelChange()
		s.thinkingLevel()
		return
	}
	for _, c := range [...]struct {
		chance int
		write  func(*session)
	}{
		{120, (*session).thinkingLevel}, {40, (*session).otherModel}, {60, (*session).label}, {60, (*session).custom},
		{40, (*session).customMessage}, {30, (*session).bash},
	} {
		if s.chance(c.chance) {
			c.write(s)
		}
	}
	if s.o.Pi && s.chance(20) {
		s.entry("session_info", `,"name":"%4w"`)
	}
	if !s.o.Pi && s.chance(20) {
		s.entry("mode_change", `,"mode":"plan","data":{"planFile":"%f"}`)
	}
	if !s.o.Pi && s.chance(20) {
		s.entry("ttsr_injection", `,"injectedRules":["%n"]`)
	}
}

// entry writes a short record from a template; see fill.
func (s *session) entry(kind, template string, args ...any) {
	s.begin(kind, 3000)
	s.fill(template, args...)
	s.end()
}

// modelChange names the model in two members as pi does, or in one as omp does.
func (s *session) modelChange() {
	template := `,"model":"%v/%v"`
	if s.o.Pi {
		template = `,"provider":"%v","modelId":"%v"`
	}
	s.entry("model_change", template, models[s.model][0], models[s.model][1])
}

func (s *session) otherModel() {
	s.model = s.pick(len(models))
	s.modelChange()
}

func (s *session) thinkingLevel() {
	levels := [...]string{"off", "minimal", "low", "medium", "high"}
	s.begin("thinking_level_change", 3000)
	s.fill(`,"thinkingLevel":"%v"`, levels[s.pick(len(levels))])
	s.end()
}

// label names an earlier prompt on the path, so that the target exists on every branch that continues here.
func (s *session) label() {
	if len(s.turns) == 0 {
		return
	}
	s.begin("label", 3000)
	s.fill(`,"targetId":"%v","label":"%2w"`, s.id(s.turns[s.pick(len(s.turns))].prompt))
	s.end()
}

// custom is the state of an extension, which never reaches a model.
func (s *session) custom() {
	s.entry("custom", `,"customType":"%w-state","data":{"count":%1000d,"files":["%f","%f"],"done":false}`)
}

// customMessage is hidden from users half of the time.
func (s *session) customMessage() {
	s.begin("custom_message", 3000)
	s.add(`,"customType":"reminder","content":"`)
	s.prose(s.length(200, 130, 4000))
	s.fill(`","display":%v`, s.bits(1) == 0)
	s.end()
}

// bash writes a command that the user ran.
func (s *session) bash() {
	s.message("bashExecution", 20_000)
	s.fill(`,"command":"git diff %f","output":"`)
	s.diff(s.length(600, 224, 50_000))
	s.add(`","exitCode":0,"cancelled":false,"truncated":false`)
	s.endMessage()
}

// compaction replaces the conversation up to one of the last prompts by a summary. It keeps at least one turn, and only turns
// since the last compaction.
func (s *session) compaction() {
	since := s.turns[s.kept:]
	back := 1 + s.pick(min(3, len(since)))
	first := since[len(since)-back].prompt
	s.kept, s.fresh = len(s.turns)-back, s.entries
	s.begin("compaction", 40_000)
	s.add(`,"summary":"## Goal\n\n`)
	s.prose(300)
	s.add(`\n\n## Progress\n\n- `)
	s.prose(s.length(3000, 100, 9000))
	if !s.o.Pi {
		s.fill(`","shortSummary":"%8w`)
	}
	s.fill(`","firstKeptEntryId":"%v","tokensBefore":%v`+details, s.id(first), s.tokens)
	s.end()
	s.tokens = 12_000 // tokens of the summary and the kept turns
}

// details lists the files that were read and changed.
const details = `,"details":{"readFiles":["%f","%f"],"modifiedFiles":["%f"]}`

// branchSummary names the entry at which the branch begins (omp), or the abandoned leaf (pi).
func (s *session) branchSummary(from int) {
	s.begin("branch_summary", 20_000)
	s.fill(`,"fromId":"%v","summary":"`, s.id(from))
	s.prose(s.length(600, 130, 4000))
	s.fill(`"` + details)
	s.end()
}
