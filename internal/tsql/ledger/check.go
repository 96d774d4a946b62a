// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var ids = regexp.MustCompile(`^[RS]-[WD][1-9][0-9]*$`)

// Check says what is wrong with the data themselves.
func (l *Ledger) Check() (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for i, s := range l.Statements {
		if i > 0 && l.Statements[i-1].Name == s.Name {
			say("%s is listed twice", s.Name)
		}
		if len(s.Runs) == 0 || !strings.HasPrefix(s.Page, "docs/") || !strings.HasSuffix(s.Page, ".md") ||
			!slices.Contains([]Held{HeldByDocument, HeldByField, HeldByStandIn, HeldByRun}, s.Held) {
			say("%s needs runs, page (docs/...md) and held (document, field, stand-in or run)", s.Name)
		}
	}
	for _, r := range l.Reads {
		for _, name := range r.Sends {
			if _, ok := l.Statement(name); !ok {
				say("%s sends %s, which is no statement", r.Name, name)
			}
		}
	}
	for i, d := range l.Doubts {
		if i > 0 && l.Doubts[i-1].ID == d.ID {
			say("%s is listed twice", d.ID)
		}
		for _, fault := range d.faults(l) {
			say("%s %s", d.ID, fault)
		}
	}
	return wrong
}

func (d Doubt) faults(l *Ledger) (wrong []string) {
	say := func(ok bool, what string) {
		if !ok {
			wrong = append(wrong, what)
		}
	}
	say(ids.MatchString(d.ID), "is no ID: R or S, W or D, a number")
	say(d.Verdict == Wrong || d.Verdict == Doubtful, "needs verdict wrong or doubtful")
	say(slices.Contains([]string{"document", "field", "both", "none"}, d.Evidence),
		"needs evidence document, field, both or none")
	say(slices.Contains([]Status{Mended, Both, Asked, Open, Settled}, d.Status),
		"needs status mended, both, asked, open or settled")
	held := d.Status == Mended || d.Status == Both || d.Status == Asked
	say(d.Test != "" || !held, "needs a test when it is mended, both or asked")
	say(d.Test == "" || held || d.Status == Settled, "has a test although it is open")
	say((d.Build != "") == (d.Status == Settled), "needs the build that settled it, and none else")
	say((d.Other != "") != (len(d.Statements) > 0), "is about statements or about other")
	say(d.Doubt != "" && d.Seen != "" && d.Settle.SQL != "" && d.Settle.Where != "",
		"needs doubt, seen, settle.sql and settle.where")
	for _, name := range d.Statements {
		_, ok := l.Statement(name)
		say(ok, "is about "+name+", which is no statement")
	}
	judged := d.Settle.Expect != "" || d.Settle.Never != "" || d.Settle.Columns > 0
	say(d.Settle.Harmless == judged, "says what answer holds exactly when its statement is harmless")
	for _, pattern := range []string{d.Settle.Expect, d.Settle.Never} {
		_, err := regexp.Compile(pattern)
		say(err == nil, "has a pattern that is none: "+pattern)
	}
	// An answer of NULL is written as NULL.
	all, err := regexp.Compile(d.Settle.Expect)
	say(d.Settle.Expect == "" || err != nil || !all.MatchString("NULL"), "expects what any answer is: "+d.Settle.Expect)
	return wrong
}
