// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"slices"
	"strings"

	"geosql.dev/operator/internal/election/votes"
)

// apartOf is what a quarantined replica says of itself.
func apartOf(v rejoinView) votes.Apart {
	a := votes.Apart{Server: v.self, Term: v.fork.Term}
	for _, d := range v.local {
		at, forked := v.fork.Databases[d.Name]
		if forked && (d.HardenedLSN == "" || votes.CompareLSN(d.HardenedLSN, at) > 0) {
			a.Databases = append(
				a.Databases,
				votes.ApartDatabase{Name: d.Name, FromLSN: at, ToLSN: d.HardenedLSN, LastCommit: votes.OptionalTime(d.LastCommit)},
			)
		}
	}
	return a
}

// tellApart has the voters know that this replica is quarantined, or no longer. It is told once; a majority is enough.
func (k *Keeper) tellApart(ctx context.Context, v rejoinView, quarantined bool) {
	told := k.told().apart
	i := slices.IndexFunc(told, func(a votes.Apart) bool { return strings.EqualFold(a.Server, v.self) })
	var next votes.Apart
	switch {
	case quarantined:
		next = apartOf(v)
	case i < 0 || told[i].Over || v.remembered.Cleared < told[i].Term:
		return
	default:
		next = told[i]
		next.Over = true
	}
	text := votes.EncodeNote(next)
	if text == k.rejoin.toldApart {
		return
	}
	all := votes.EncodeNote(
		votes.MergeApart(
			[]votes.Apart{next},
			slices.DeleteFunc(slices.Clone(told), func(a votes.Apart) bool { return strings.EqualFold(a.Server, v.self) }),
		),
	)
	if k.ballot.Note(ctx, votes.Notes{Apart: all}).Carried {
		k.rejoin.toldApart = text
	}
}
