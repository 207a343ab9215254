package wire

import (
	"encoding/csv"
	"io"
	"strconv"
)

// CSV writes a report that has all lists as CSV: one line for each day, model, project and agent.
func (s *Stats) CSV(out io.Writer) error {
	w := csv.NewWriter(out)
	_ = w.Write([]string{"by", "name", "sessions", "messages", "input", "output", "cacheRead", "cacheWrite", "total", "cost"})
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	add := func(by, name string, a Amount) {
		cost := "" // not recorded
		if a.Cost != 0 {
			cost = strconv.FormatFloat(a.Cost, 'f', -1, 64)
		}
		_ = w.Write([]string{
			by, cell(name), strconv.Itoa(a.Sessions), strconv.Itoa(a.Messages), number(a.Tokens.Input), number(a.Tokens.Output),
			number(a.Tokens.CacheRead), number(a.Tokens.CacheWrite), number(a.Tokens.Total), cost,
		})
	}
	add("all", "", s.Amount)
	for _, list := range []struct {
		by     string
		groups *[]Group
	}{{"day", s.Days}, {"model", s.Models}, {"project", s.Projects}, {"agent", s.Agents}} {
		for _, g := range *list.groups {
			add(list.by, g.Name, g.Amount)
		}
	}
	w.Flush()
	return w.Error()
}

// cell prevents a spreadsheet from taking a name for a formula.
func cell(text string) string {
	if text != "" && (text[0] == '=' || text[0] == '+' || text[0] == '-' || text[0] == '@' || text[0] == '\t' || text[0] == '\r') {
		return "'" + text
	}
	return text
}
