// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"geosql.dev/standin/engine"
)

// A definition can be made only where what it names is there. The snapshot has its articles in such an order, and
// agents keep to it.

// inNeed puts articles into an order in which each comes after those whose objects its script names. Where names go in
// a circle, tables come first, then what was added first.
func inNeed(list []*article, scripts map[int64]tableScripts) []*article {
	rest := append([]*article(nil), list...)
	slices.SortStableFunc(rest, func(a, b *article) int {
		switch {
		case a.isModule() == b.isModule():
			return int(a.id - b.id)
		case b.isModule():
			return -1
		}
		return 1
	})
	var out []*article
	for len(rest) > 0 {
		next := slices.IndexFunc(rest, func(a *article) bool {
			return !slices.ContainsFunc(rest, func(b *article) bool { return a.needs(b, scripts[a.id].table) })
		})
		next = max(next, 0)
		out = append(out, rest[next])
		rest = slices.Delete(rest, next, next+1)
	}
	return out
}

// needs tells whether an article's script names another one's object. A table needs functions only.
func (a *article) needs(b *article, script string) bool {
	if a == b || !a.isModule() && b.kind != functionArticle {
		return false
	}
	return namesWord(script, b.table.Name)
}

// namesWord tells whether a text has a name that is not a part of a longer one.
func namesWord(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	inName := func(r rune) bool {
		return r == '_' || r == '@' || r == '#' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if !inName(before) && !inName(after) {
			return true
		}
		from = at + len(name)
	}
}

// snapshotOrder gives a distribution agent the articles of its snapshots in the order in which they are made.
func (e *Extension) snapshotOrder(ctx context.Context, call *engine.ProcCall) error {
	return call.Exec(
		ctx,
		`SELECT m.article_id, m.subscription_seqno, (SELECT MIN(c.command_id) FROM dbo.MSrepl_commands AS c WHERE c.publisher_database_id = m.publisher_database_id
		AND c.xact_seqno = m.subscription_seqno AND c.article_id = m.article_id) AS place FROM dbo.MSsubscriptions AS m WHERE m.agent_id = @p1 AND m.snapshot_seqno_flag = 1
		ORDER BY m.subscription_seqno, place, m.article_id`,
		call.Int("@agent_id"),
	)
}
