// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

const (
	// mostLacks and longestNames are what the status takes.
	mostLacks    = 512
	longestNames = 1024
)

// observeLacks reads what the tables of the new publisher have beside rows, and those of a former one that lives.
func observeLacks(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	rules := func(server v1alpha1.ServerName, database string) reconcile.Reading[[]mssql.TableRule] {
		var all []mssql.TableRule
		err := engines.Read(ctx, server, database, func(ctx context.Context, db *mssql.DB) (err error) {
			all, err = mssql.ReadTableRules(ctx, db)
			return err
		})
		return reconcile.Asked(all, err)
	}
	if o.ReadOnly == "" {
		o.CopyRules = map[string]reconcile.Reading[[]mssql.TableRule]{}
		for _, s := range d.Subscriptions {
			if c, known := o.Copies[s.Name]; known && c.Err == nil {
				o.CopyRules[s.Name] = rules(s.Spec.Subscriber.Server, string(s.Spec.Database))
			}
		}
		return
	}
	if o.FormerRules = rules(o.ReadOnly, d.FromDatabase); o.FormerRules.Err() == nil {
		o.NewRules = rules(d.Move.Spec.To, d.targetDatabase())
	}
}

// rulesUnread is why it is not known what the copy lacks although its source could say it, nil when it is known.
func (o Observed) rulesUnread() error {
	if o.ReadOnly == "" {
		return nil
	}
	return cmp.Or(o.FormerRules.Err(), o.NewRules.Err())
}

// lacks is what the new publisher's tables lack of the former one's: what is not published of a table is known by the
// declaration, the rest by the catalogues of both. Sorted.
func lacks(d Desired, o Observed) []v1alpha1.MoveLack {
	found := map[v1alpha1.MoveLack][]string{}
	note := func(table string, kind v1alpha1.MoveLackKind, name string, at v1alpha1.ServerName) {
		key := v1alpha1.MoveLack{Table: table, Kind: kind, SeenAt: at}
		found[key] = append(found[key], name)
	}
	for _, a := range d.Publication.Spec.Articles {
		if a.Filter != "" {
			note(a.Table, v1alpha1.LackRows, a.Filter, "")
		}
		for _, c := range a.Columns {
			note(a.Table, v1alpha1.LackColumns, c, "")
		}
		for _, w := range witnesses(d, o) {
			for _, rule := range w.rules {
				if !strings.EqualFold(rule.Table, a.Table) {
					continue
				}
				kind := missing(rule, w.have)
				if kind == v1alpha1.LackIdentityValue && w.at != "" {
					continue // what a subscriber's own inserts have come to says nothing of the publisher's
				}
				if kind != "" {
					note(a.Table, kind, rule.Name, w.at)
				}
			}
		}
	}
	var all []v1alpha1.MoveLack
	for key, names := range found {
		slices.Sort(names)
		key.Names = conditions.Shorten(strings.Join(slices.Compact(names), ", "), longestNames)
		all = append(all, key)
	}
	slices.SortFunc(all, func(a, b v1alpha1.MoveLack) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(string(a.Kind), string(b.Kind)),
			strings.Compare(string(a.SeenAt), string(b.SeenAt)))
	})
	return all[:min(len(all), mostLacks)]
}

// witness has rules, of which those are lacking that the new publisher does not have.
type witness struct {
	// at is a subscriber's server, empty for the former publisher.
	at          v1alpha1.ServerName
	rules, have []mssql.TableRule
}

// witnesses of what the new publisher's tables ought to have: a former publisher that lives, else the other copies.
func witnesses(d Desired, o Observed) []witness {
	if o.ReadOnly != "" {
		former, err := o.FormerRules.Get()
		have, errHave := o.NewRules.Get()
		if err != nil || errHave != nil {
			return nil
		}
		return []witness{{rules: former, have: have}}
	}
	have, err := o.CopyRules[d.targetSubscription()].Get()
	if err != nil {
		return nil
	}
	var all []witness
	for _, s := range d.others() {
		if rules, err := o.CopyRules[s.Name].Get(); err == nil {
			all = append(all, witness{at: s.Spec.Subscriber.Server, rules: rules, have: have})
		}
	}
	return all
}

// ownRules says in words how many rules of each kind the published tables of the copy that is to publish have, by its
// own catalogue; false when that is not known. The distributor knows of no article what copies get beside rows: its
// schema options are in the published database alone
// (docs/relational-databases/system-tables/msarticles-transact-sql.md, sysarticles-transact-sql.md).
func ownRules(d Desired, o Observed) (string, bool) {
	have, err := o.CopyRules[d.targetSubscription()].Get()
	if err != nil {
		return "", false
	}
	counts := map[string]int{}
	for _, r := range have {
		if slices.ContainsFunc(d.Publication.Spec.Articles,
			func(a v1alpha1.Article) bool { return strings.EqualFold(a.Table, r.Table) }) {
			counts[r.Kind]++
		}
	}
	var parts []string
	for _, kind := range []v1alpha1.MoveLackKind{v1alpha1.LackIdentity, v1alpha1.LackDefault, v1alpha1.LackCheck,
		v1alpha1.LackForeignKey, v1alpha1.LackTrigger, v1alpha1.LackRowVersion} {
		parts = append(parts, fmt.Sprintf("%s %d", kind, counts[string(kind)]))
	}
	return strings.Join(parts, ", "), true
}

// missing is the kind of what a copy lacks of a rule, empty when it has it.
func missing(rule mssql.TableRule, have []mssql.TableRule) v1alpha1.MoveLackKind {
	for _, h := range have {
		if h.Kind != rule.Kind || !strings.EqualFold(h.Table, rule.Table) || !strings.EqualFold(h.Name, rule.Name) {
			continue
		}
		if h.Last == rule.Last {
			return ""
		}
		// Rows that an agent brings do not move an identity on.
		mine, ok := new(big.Int).SetString(h.Last, 10)
		theirs, known := new(big.Int).SetString(rule.Last, 10)
		if known && (!ok || mine.Cmp(theirs) < 0) {
			return v1alpha1.LackIdentityValue
		}
		return ""
	}
	return v1alpha1.MoveLackKind(rule.Kind)
}

// unaccepted are the kinds of the estimate that nobody has accepted, sorted.
func unaccepted(m *v1alpha1.PublisherMove) []string {
	var kinds []string
	if m.Status.Estimate == nil {
		return nil
	}
	for _, l := range m.Status.Estimate.Lacks {
		if l.SeenAt == "" && !slices.Contains(m.Spec.AcceptLacking, l.Kind) {
			kinds = append(kinds, string(l.Kind))
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// lacksMore says what is lacking now and was not before, item by item: an order, letters' case or spaces are no
// difference, and less of it is nothing worse. What only another subscriber's copy shows counts neither now nor before.
func lacksMore(before, now []v1alpha1.MoveLack) []string {
	var more []string
	for _, l := range now {
		if l.SeenAt != "" {
			continue
		}
		i := slices.IndexFunc(before, func(b v1alpha1.MoveLack) bool {
			return b.SeenAt == "" && b.Kind == l.Kind && strings.EqualFold(b.Table, l.Table)
		})
		if i < 0 {
			more = append(more, fmt.Sprintf("%s lacks %s (%s)", l.Table, l.Kind, l.Names))
			continue
		}
		had, has := before[i].Names, l.Names
		if l.Kind == v1alpha1.LackColumns {
			// These are the columns that there are.
			had, has = has, had
		}
		if gone := without(items(l.Kind, has), items(l.Kind, had)); len(gone) > 0 {
			more = append(more, fmt.Sprintf("%s lacks %s (%s)", l.Table, l.Kind, strings.Join(gone, ", ")))
		}
	}
	return more
}

// items are what the names of a lack list. A filter is one.
func items(kind v1alpha1.MoveLackKind, names string) []string {
	if kind == v1alpha1.LackRows {
		return []string{strings.Join(strings.Fields(names), " ")}
	}
	all := strings.Split(names, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// without are the items that others do not have, compared without case.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return replication.Contains(others, one) })
}

// lacking says in words what writers would miss, for the summary.
func lacking(d Desired, o Observed, all []v1alpha1.MoveLack) string {
	var parts []string
	counted := map[v1alpha1.MoveLackKind]int{}
	seen := ""
	for _, l := range all {
		if l.SeenAt != "" {
			seen = " Copies of other subscribers have rules that its tables lack; they are named with seenAt in estimate.lacks."
			continue
		}
		counted[l.Kind]++
	}
	for _, l := range all {
		if n := counted[l.Kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s (%d tables)", l.Kind, n))
			counted[l.Kind] = 0
		}
	}
	text := ""
	if len(parts) > 0 {
		text = fmt.Sprintf(
			" Its tables lack what %s has: %s; estimate.lacks names them.",
			d.From.Name,
			strings.Join(parts, ", "),
		)
	}
	if o.ReadOnly == "" {
		text += seen
		text += uncompared(d, o)
	}
	return text
}

// uncompared says what is known without a former publisher that could be asked.
func uncompared(d Desired, o Observed) string {
	to := credentials.HostName(d.Move.Spec.To)
	text := fmt.Sprintf(" What the tables of %s have beside rows is not known either.", to)
	if has, known := ownRules(d, o); known {
		text = fmt.Sprintf(" The published tables of %s have, by its own catalogue: %s.", to, has)
	}
	if d.Publication.Spec.SchemaOptions != v1alpha1.SchemaPublishable {
		text += " The publication's snapshots bring no identity columns, defaults or CHECK constraints (spec.schemaOptions)."
	}
	return text + fmt.Sprintf(" What %s had of them, and foreign keys and triggers, could not be compared: look there "+
		"before writers come.", d.From.Name)
}
