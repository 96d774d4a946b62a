// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"regexp"
	"slices"
	"strings"

	"geosql.dev/operator/internal/tsql"
)

// Sent is a constructor whose statements somebody is about to send, and the doubts about it that stand.
type Sent struct {
	Name   string
	Doubts []string
}

// InDoubt are the constructors of the statements about which a doubt stands, by name. It only tells people: nothing
// decides by it. What reads alone is left out.
func (l *Ledger) InDoubt(statements []tsql.Statement) (all []Sent) {
	for _, s := range l.Statements {
		sent := Sent{Name: s.Name}
		for _, d := range l.About(s.Name) {
			if d.Stands() {
				sent.Doubts = append(sent.Doubts, d.ID)
			}
		}
		if len(sent.Doubts) > 0 && slices.ContainsFunc(statements, s.Is) {
			all = append(all, sent)
		}
	}
	return all
}

// Is tells whether the statement is one of this constructor's, as far as Match and Runs tell it from others.
func (s Statement) Is(x tsql.Statement) bool {
	if s.Match == "" {
		_, called, _ := strings.Cut(x.Procedure, ".")
		return x.Procedure != "" && strings.EqualFold(called[strings.LastIndex(called, ".")+1:], s.Runs[0])
	}
	return regexp.MustCompile(s.Match).MatchString(x.Redacted())
}

// Changes tells whether the constructor makes statements that do more than read views and tables.
func (s Statement) Changes() bool {
	first := s.Runs[0]
	return strings.HasPrefix(first, "sp_") || first == strings.ToUpper(first) && strings.Contains(first, " ")
}
