// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"geosql.dev/operator/internal/tsql/ledger"
)

// Every constructor of statements is in the ledger, and nothing else. Together sends what others make.
func TestEveryStatementIsInTheLedger(t *testing.T) {
	listed := map[string]bool{}
	for _, s := range ledger.All().Statements {
		listed[s.Name] = true
		if len(samples[s.Name]) == 0 {
			t.Errorf("the ledger has %s, which no function of internal/tsql makes any more", s.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		if !listed[name] && name != "Together" {
			t.Errorf("add %s to ledger/statements.yaml, and run make generate:\n%s", name, suggested(name))
		}
	}
}

// What a statement runs is in its text.
func TestTheLedgerSaysWhatStatementsRun(t *testing.T) {
	for _, s := range ledger.All().Statements {
		var texts strings.Builder
		for _, sample := range samples[s.Name] {
			texts.WriteString(sample.Redacted() + "\n")
		}
		for _, what := range s.Runs {
			if !strings.Contains(strings.ToLower(texts.String()), strings.ToLower(what)) {
				t.Errorf("%s does not run %s", s.Name, what)
			}
		}
		for _, m := range execution.FindAllStringSubmatch(texts.String(), -1) {
			same := func(r string) bool { return strings.EqualFold(r, m[1]) }
			if m[1] != "sp_executesql" && !slices.ContainsFunc(s.Runs, same) {
				t.Errorf("%s runs %s, and the ledger does not say so", s.Name, m[1])
			}
		}
	}
}

// What a plan would send is told apart by constructor, where a doubt is about it.
func TestStatementsInDoubtAreRecognised(t *testing.T) {
	for _, s := range ledger.All().Statements {
		if !s.Changes() || len(ledger.All().About(s.Name)) == 0 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(samples)) {
			for _, sample := range samples[name] {
				if is := s.Is(sample); is != (name == s.Name) {
					t.Errorf("match of %s in ledger/statements.yaml: one of %s is recognised: %t: %s", s.Name, name, is, sample)
				}
			}
		}
	}
}

// suggested is an entry for a statement, to be looked at.
func suggested(name string) string {
	text, runs, page := samples[name][0].Redacted(), "", "docs/..."
	if m := execution.FindStringSubmatch(text); m != nil {
		runs = m[1]
		page = "docs/relational-databases/system-stored-procedures/" +
			strings.ReplaceAll(strings.ToLower(runs), "_", "-") + "-transact-sql.md"
	} else if found := views.FindAllString(text, -1); len(found) > 0 {
		runs, page = strings.Join(slices.Compact(slices.Sorted(slices.Values(found))), ", "), uncataloguedViews[found[0]]
	} else {
		runs = strings.Join(strings.Fields(text)[:2], " ")
		for _, f := range forms {
			if f.pattern.MatchString(text) {
				page = f.doc
				break
			}
		}
	}
	return "- name: " + name + "\n  runs: [" + runs + "]\n  page: " + page + "\n  held: document"
}
