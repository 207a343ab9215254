package gen

// Told is the totals of one or more logs: the exact numbers that statistics must show.
type Told struct {
	// Sessions counts logs. Messages counts an answer once, however many lines it has.
	Sessions, Messages                          int
	Input, Output, CacheRead, CacheWrite, Total int64
	// Cost is what the agent recorded, in dollars.
	Cost float64
}

// Add adds the totals of another log.
func (t *Told) Add(u Told) {
	t.Sessions, t.Messages, t.Cost = t.Sessions+u.Sessions, t.Messages+u.Messages, t.Cost+u.Cost
	t.Input, t.Output, t.Total = t.Input+u.Input, t.Output+u.Output, t.Total+u.Total
	t.CacheRead, t.CacheWrite = t.CacheRead+u.CacheRead, t.CacheWrite+u.CacheWrite
}

// use adds the tokens of an answer.
func (t *Told) use(u *used) {
	t.Input, t.Output, t.Total = t.Input+int64(u.Input), t.Output+int64(u.Output), t.Total+int64(u.TotalTokens)
	t.CacheRead, t.CacheWrite = t.CacheRead+int64(u.CacheRead), t.CacheWrite+int64(u.CacheWrite)
}

// Tell returns the totals of a session that Session made.
func Tell(log []byte) Told {
	t := Told{Sessions: 1}
	for _, e := range entries(log) {
		if e.Type != "message" {
			continue
		}
		t.Messages++
		if u := e.Message.Usage; u != nil {
			t.use(u)
			t.Cost += u.Cost.Total
		}
	}
	return t
}
