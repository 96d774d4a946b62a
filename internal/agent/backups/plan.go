// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// A backup may be late, by so much, before the primary takes what the secondary that is preferred has not. The primary
// sees it in a store alone, so that the time of the taking and the sending is part of it. A secondary that is down is
// waited for by neither: the group prefers the primary then.
const (
	// logPatience: log backups are small, and a store is listed twice within it.
	logPatience = time.Minute
	// dataPatience: half a terabyte is taken and sent at 25 MiB a second within it. What takes longer is taken twice.
	dataPatience = 6 * time.Hour
)

// Take is a backup to be taken now.
type Take struct {
	Database string
	Family   string
	Kind     backup.Kind
	CopyOnly bool
	// Request that it answers; empty when it is by the policy.
	Request string
	// Reason for people.
	Reason string
}

// planner makes plans for a policy.
type planner struct {
	order     orders.Backup
	schedules backup.Schedules
}

// planData are the full and differential backups that this server is to take now, people's requests first.
func (p planner) planData(o *Observed) []Take {
	var all []Take
	for _, s := range p.sources(o) {
		known := o.known(backup.IdentityOf(s.Family, s.Database))
		if r := p.request(o, s); r != nil && p.here(s, *r, 0) {
			all = append(all, *r)
			continue
		}
		if t := p.beginLog(s, known, o.Now); t != nil {
			all = append(all, *t)
			continue
		}
		// A full backup of a database of which the stores may have one is not taken because nobody can look.
		if !o.told() {
			continue
		}
		due := p.schedules.Data(known, o.Now)
		if due == nil {
			continue
		}
		take := Take{Database: s.Database, Family: s.Family, Kind: due.Kind,
			CopyOnly: due.Kind == backup.Full && p.schedules.CopyOnly && !s.Primary && s.Group != "", Reason: due.Reason}
		if p.here(s, take, o.late(due)) {
			all = append(all, take)
		}
	}
	return all
}

// planLogs are the backups of logs that this server is to take now. They are taken while a store cannot be reached,
// too: they keep the log from filling, and are uploaded later.
func (p planner) planLogs(o *Observed) []Take {
	var all []Take
	for _, s := range p.sources(o) {
		known := o.known(backup.IdentityOf(s.Family, s.Database))
		due := p.schedules.LogBackup(known, o.Now)
		if !o.listed() {
			due = p.schedules.LogUnseen(known, o.Now)
		}
		if due == nil || s.Recovery == "SIMPLE" || unlogged(s) {
			continue
		}
		take := Take{Database: s.Database, Family: s.Family, Kind: backup.Log, Reason: due.Reason}
		if p.here(s, take, o.late(due)) {
			all = append(all, take)
		}
	}
	return all
}

// unlogged says that the engine refuses backups of the log (4214) until a full one that is no copy was taken. A
// secondary is not asked: what it shows of that is not documented.
func unlogged(s mssql.BackupSource) bool { return !s.Logged && (s.Primary || s.Group == "") }

// beginLog is the full backup without which the log cannot be backed up: after the database was in SIMPLE, say. What
// stores have makes no difference. One that was just taken may not be seen yet in what was read of the engine.
func (p planner) beginLog(s mssql.BackupSource, known []backup.Set, now time.Time) *Take {
	just := func(x backup.Set) bool {
		return x.Kind == backup.Full && !x.CopyOnly && !x.Damaged && now.Sub(x.Finished).Abs() < beginPause
	}
	if p.schedules.Log == nil || p.schedules.Full == nil || s.Recovery == "SIMPLE" || !unlogged(s) ||
		slices.ContainsFunc(known, just) {
		return nil
	}
	return &Take{Database: s.Database, Family: s.Family, Kind: backup.Full,
		Reason: "the log cannot be backed up without it"}
}

// beginPause is the time between two full backups that are to begin the log's, should the first not have done.
const beginPause = 10 * time.Minute

// late is by how much a backup is overdue; one that has no time has been due since somebody looked.
func (o *Observed) late(due *backup.Due) time.Duration {
	if due.Since.IsZero() {
		return o.Now.Sub(o.Begun)
	}
	return o.Now.Sub(due.Since)
}

// sources are the policy's databases on this server.
func (p planner) sources(o *Observed) []mssql.BackupSource {
	var all []mssql.BackupSource
	for _, s := range o.Sources {
		if s.State == "ONLINE" && s.Family != "" && strings.EqualFold(s.Group, p.order.Group) && p.covers(s.Database) {
			all = append(all, s)
		}
	}
	return all
}

func (p planner) covers(database string) bool {
	return len(p.order.Databases) == 0 ||
		slices.ContainsFunc(p.order.Databases, func(d string) bool { return strings.EqualFold(d, database) })
}

// here says whether a backup is this server's to take. A secondary takes copies and logs alone, and only while it
// follows; the primary takes what is overdue, whatever the group prefers.
func (p planner) here(s mssql.BackupSource, t Take, late time.Duration) bool {
	patience := dataPatience
	if t.Kind == backup.Log {
		patience = logPatience
	}
	switch {
	case s.Group == "" || s.Primary && p.order.AtPrimary:
		return true
	case p.order.AtPrimary:
		return false
	case s.Primary:
		return s.Preferred || t.Kind == backup.Differential || t.Kind == backup.Full && !t.CopyOnly && t.Request != "" ||
			late > patience
	}
	return s.Preferred && (t.Kind == backup.Log || t.Kind == backup.Full && t.CopyOnly) &&
		(s.Synchronization == "SYNCHRONIZED" || s.Synchronization == "SYNCHRONIZING")
}

// request is the oldest of a database that no set answers.
func (p planner) request(o *Observed, s mssql.BackupSource) *Take {
	for _, r := range p.order.Requests {
		if !strings.EqualFold(r.Database, s.Database) || o.answered(r.ID) {
			continue
		}
		return &Take{Database: s.Database, Family: s.Family, Kind: backup.Kind(r.Kind), CopyOnly: r.CopyOnly, Request: r.ID,
			Reason: "by request"}
	}
	return nil
}

func (o *Observed) answered(request string) bool {
	for _, own := range o.Own {
		if own.Request == request {
			return true
		}
	}
	for _, s := range o.Stores {
		for _, kept := range s.Sets {
			if kept.Request == request {
				return true
			}
		}
	}
	return false
}
