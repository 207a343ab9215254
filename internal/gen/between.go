package gen

// between writes the entries that are no messages, now and then, before a prompt.
// Which kinds there are, and how often, follows what pi and omp write: each has some that the other has not.
func (s *session) between() {
	// Sessions begin with these two, as the agents' do.
	if s.entries == 0 {
		s.modelChange()
		s.thinkingLevel()
		return
	}
	if s.chance(120) {
		s.thinkingLevel()
	}
	if s.chance(40) {
		s.model = s.pick(len(models))
		s.modelChange()
	}
	if s.chance(60) {
		s.label()
	}
	if s.chance(60) {
		s.custom()
	}
	if s.chance(40) {
		s.customMessage()
	}
	if s.chance(30) {
		s.bash()
	}
	if s.o.Pi && s.chance(20) {
		s.begin("session_info", 3000)
		s.add(`,"name":"`)
		s.words(4)
		s.add(`"`)
		s.end()
	}
	if !s.o.Pi && s.chance(20) {
		s.begin("mode_change", 3000)
		s.add(`,"mode":"plan","data":{"planFile":"`)
		s.add(s.file())
		s.add(`"}`)
		s.end()
	}
	if !s.o.Pi && s.chance(20) {
		s.begin("ttsr_injection", 3000)
		s.add(`,"injectedRules":["`)
		s.add(s.name())
		s.add(`"]`)
		s.end()
	}
}

// modelChange names the model in two members as pi does, or in one as omp does.
func (s *session) modelChange() {
	m := models[s.model]
	s.begin("model_change", 3000)
	if s.o.Pi {
		s.add(`,"provider":"`)
		s.add(m[0])
		s.add(`","modelId":"`)
	} else {
		s.add(`,"model":"`)
		s.add(m[0])
		s.add("/")
	}
	s.add(m[1])
	s.add(`"`)
	s.end()
}

func (s *session) thinkingLevel() {
	levels := [...]string{"off", "minimal", "low", "medium", "high"}
	s.begin("thinking_level_change", 3000)
	s.add(`,"thinkingLevel":"`)
	s.add(levels[s.pick(len(levels))])
	s.add(`"`)
	s.end()
}

// label names an earlier prompt.
// The target is on the path, so it exists on every branch that goes on from here.
func (s *session) label() {
	if len(s.turns) == 0 {
		return
	}
	s.begin("label", 3000)
	s.add(`,"targetId":"`)
	s.id(s.turns[s.pick(len(s.turns))].prompt)
	s.add(`","label":"`)
	s.words(2)
	s.add(`"`)
	s.end()
}

// custom is what an extension keeps for itself: it never reaches a model.
func (s *session) custom() {
	s.begin("custom", 3000)
	s.add(`,"customType":"`)
	s.add(s.word())
	s.add(`-state","data":{"count":`)
	s.digits(1000)
	s.add(`,"files":["`)
	s.add(s.file())
	s.add(`","`)
	s.add(s.file())
	s.add(`"],"done":false}`)
	s.end()
}

// customMessage is hidden from people every other time.
func (s *session) customMessage() {
	s.begin("custom_message", 3000)
	s.add(`,"customType":"reminder","content":"`)
	s.prose(s.limit(s.size(200, 130, 4000)))
	s.add(`","display":`)
	if s.bits(1) == 0 {
		s.add("true")
	} else {
		s.add("false")
	}
	s.end()
}

// bash is a command that the user ran.
func (s *session) bash() {
	s.message("bashExecution", 20_000)
	s.add(`,"command":"git diff `)
	s.add(s.file())
	s.add(`","output":"`)
	s.diff(s.limit(s.size(600, 224, 50_000)))
	s.add(`","exitCode":0,"cancelled":false,"truncated":false`)
	s.endMessage()
}

// compaction replaces what was said, up to one of the last prompts, by a summary.
// Only turns since the last compaction can be kept, and at least one of them is: so the kept part is never empty
// and never reaches behind an older summary.
func (s *session) compaction() {
	since := s.turns[s.kept:]
	back := 1 + s.pick(min(3, len(since)))
	first := since[len(since)-back].prompt
	s.kept, s.fresh = len(s.turns)-back, s.entries
	s.begin("compaction", 40_000)
	s.add(`,"summary":"## Goal\n\n`)
	s.prose(300)
	s.add(`\n\n## Progress\n\n- `)
	s.prose(s.limit(s.size(3000, 100, 9000)))
	if !s.o.Pi {
		s.add(`","shortSummary":"`)
		s.words(8)
	}
	s.add(`","firstKeptEntryId":"`)
	s.id(first)
	s.add(`","tokensBefore":`)
	s.number(s.tokens)
	s.files()
	s.end()
	// what the summary and the kept part take in the model's context
	s.tokens = 12_000
}

// From is the place where the branch begins in omp, and the leaf that was left in pi; the caller knows.
func (s *session) branchSummary(from int) {
	s.begin("branch_summary", 20_000)
	s.add(`,"fromId":"`)
	s.id(from)
	s.add(`","summary":"`)
	s.prose(s.limit(s.size(600, 130, 4000)))
	s.add(`"`)
	s.files()
	s.end()
}

// files lists what was read and changed.
func (s *session) files() {
	s.add(`,"details":{"readFiles":["`)
	s.add(s.file())
	s.add(`","`)
	s.add(s.file())
	s.add(`"],"modifiedFiles":["`)
	s.add(s.file())
	s.add(`"]}`)
}
