package pi

import (
	"math"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// jsMillis reads a timestamp like JavaScript's Date, in milliseconds since 1970; ok is false for an invalid date. The programs
// use it for the times of summaries. A time without a zone is taken as UTC, because the file does not say in which zone it was written.
func jsMillis(value []byte) (ms int64, ok bool) {
	switch {
	case value == nil:
		return 0, false
	case string(value) == "null", string(value) == "false":
		return 0, true
	case string(value) == "true":
		return 1, true
	}
	if rawjson.IsArray(value) {
		return jsDate(jsString(value)) // only an array of one string can be a date
	}
	s, isString := rawjson.Unquote(value)
	if !isString {
		f, err := strconv.ParseFloat(string(value), 64)
		// the range of a Date
		if err != nil || math.Abs(f) > 8.64e15 {
			return 0, false
		}
		return int64(f), true
	}
	return jsDate(s)
}

// jsDate reads the ISO forms: a date, or a date and a time, with or without fraction and offset. Days up to 31 are valid
// in every month and roll over. Other forms, which JavaScript engines read in different ways, are invalid.
func jsDate(s string) (int64, bool) {
	p := dateParser{s: s}
	year := p.year()
	month, day := 1, 1
	if p.byte('-') {
		month = p.digits(2)
		if p.byte('-') {
			day = p.digits(2)
		}
	}
	var hour, minute, second, milli, offset int
	if p.byte('T') || p.byte('t') || p.byte(' ') {
		hour = p.digits(2)
		p.must(p.byte(':'))
		minute = p.digits(2)
		if p.byte(':') {
			second = p.digits(2)
			if p.byte('.') {
				milli = p.fraction()
			}
		}
		offset = p.offset()
	}
	if p.bad || p.s != "" || month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 59 ||
		hour == 24 && (minute|second|milli) != 0 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, milli*1e6, time.UTC)
	ms := t.UnixMilli() - int64(offset)*60_000
	return ms, ms >= -8.64e15 && ms <= 8.64e15
}

// dateParser cuts pieces off the front of a date. bad is checked once at the end.
type dateParser struct {
	s   string
	bad bool
}

func (p *dateParser) must(ok bool) { p.bad = p.bad || !ok }

func (p *dateParser) byte(c byte) bool {
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

// digits reads exactly n digits.
func (p *dateParser) digits(n int) int {
	v := 0
	for range n {
		if p.s == "" || p.s[0]-'0' > 9 {
			p.bad = true
			return 0
		}
		v = v*10 + int(p.s[0]-'0')
		p.s = p.s[1:]
	}
	return v
}

// year reads four digits, or six with a sign, which is an extension of ECMAScript; -000000 is not valid.
func (p *dateParser) year() int {
	switch {
	case p.byte('+'):
		return p.digits(6)
	case p.byte('-'):
		y := p.digits(6)
		p.must(y != 0)
		return -y
	}
	return p.digits(4)
}

// fraction reads the digits after the point and truncates them to milliseconds, like JavaScript.
func (p *dateParser) fraction() int {
	ms, n := 0, 0
	for ; p.s != "" && p.s[0]-'0' <= 9; n++ {
		if n < 3 {
			ms = ms*10 + int(p.s[0]-'0')
		}
		p.s = p.s[1:]
	}
	p.must(n > 0)
	for ; n < 3; n++ {
		ms *= 10
	}
	return ms
}

// offset reads the zone, in minutes east of UTC.
func (p *dateParser) offset() int {
	sign := 1
	switch {
	case p.byte('Z'), p.byte('z'), p.s == "":
		return 0
	case p.byte('+'):
	case p.byte('-'):
		sign = -1
	default:
		p.bad = true
		return 0
	}
	h := p.digits(2)
	p.byte(':')
	m := p.digits(2)
	p.must(h < 24 && m < 60)
	return sign * (h*60 + m)
}
