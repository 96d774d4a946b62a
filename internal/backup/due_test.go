// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

const hour = 3600

// schedules are those of the tests: a full backup a day, a differential every six hours, the log every five minutes.
func schedules() backup.Schedules {
	return backup.Schedules{Full: backup.Every(24 * time.Hour), Differential: backup.Every(6 * time.Hour),
		Log: backup.Every(5 * time.Minute)}
}

func TestWhatIsDue(t *testing.T) {
	for _, row := range []struct {
		why       string
		schedules func(*backup.Schedules)
		history   func(*database)
		// now in seconds since the start.
		now       int
		data, log backup.Kind
		// since in seconds; 0 is at once.
		since int
	}{
		{why: "the first", history: func(*database) {}, now: 10, data: backup.Full},
		{why: "the log after it", history: func(d *database) { d.full(10, false) }, now: 20, log: backup.Log},
		{why: "a differential", history: func(d *database) { d.full(10, false); d.log(6 * hour) }, now: 6*hour + 60,
			data: backup.Differential, since: 9 + 6*hour},
		{why: "and not before the next", history: func(d *database) {
			d.full(10, false)
			d.differential(6 * hour)
			d.log(7 * hour)
		}, now: 7*hour + 60},
		{why: "the next full one", history: func(d *database) { d.full(10, false); d.log(24 * hour) }, now: 24*hour + 60,
			data: backup.Full, since: 9 + 24*hour},
		{why: "a differential of a base that is not there asks for one that is", history: func(d *database) {
			d.full(10, false)
			d.base = "somebody else's"
			d.differential(6 * hour)
			d.log(6*hour + 1)
		}, now: 6*hour + 2, data: backup.Full, since: 6 * hour},
		{why: "and asks no more once that is taken", history: func(d *database) {
			d.full(10, false)
			d.base = "somebody else's"
			d.differential(6 * hour)
			d.full(6*hour+10, false)
			d.log(6*hour + 11)
		}, now: 6*hour + 20},
		{why: "a base that is damaged is not there", history: func(d *database) {
			d.full(10, false)
			d.full(20, false)
			d.sets[1].Damaged = true
			d.differential(6 * hour)
			d.log(6*hour + 1)
		}, now: 6*hour + 2, data: backup.Full, since: 6 * hour},
		{why: "copies have no differentials", schedules: func(s *backup.Schedules) { s.CopyOnly = true },
			history: func(d *database) { d.full(10, true); d.log(7 * hour) }, now: 7*hour + 60},
		{why: "a hole in the log may be filled", history: func(d *database) {
			d.full(10, false)
			d.logged = 20
			d.log(30)
			d.log(600)
		}, now: 700},
		{why: "and is one when it was not for long", history: func(d *database) {
			d.full(10, false)
			d.logged = 20
			d.log(30)
			d.log(900)
			d.log(930)
		}, now: 931, data: backup.Full, since: 930},
		{why: "a full backup is behind it", history: func(d *database) {
			d.full(10, false)
			d.logged = 20
			d.log(30)
			d.full(900, false)
			d.log(930)
		}, now: 1100},
		{why: "one during which the log was backed up", history: func(d *database) {
			d.full(10, false)
			d.logged = 20
			d.log(30)
			d.log(950)
			s := d.full(1000, false)
			d.sets[len(d.sets)-1].Begun = at(40)
			d.base = s.ID
		}, now: 1001},
		{why: "a hole of before a full backup is none of now", history: func(d *database) {
			d.full(10, false)
			d.logged = 20
			d.log(30)
			d.full(2000, false)
			d.logged = 2010
			d.log(2020)
		}, now: 2100},
		{why: "the log of an idle database goes on from itself", history: func(d *database) {
			d.full(10, false)
			d.log(20)
			d.idle(hour)
			d.idle(2 * hour)
		}, now: 2*hour + 10},
		{why: "idle behind a hole", history: func(d *database) {
			d.full(10, false)
			d.logged = 20
			d.idle(30)
		}, now: hour, data: backup.Full, since: 930, log: backup.Log},
		{why: "a set of a year from now says nothing of today's", history: func(d *database) {
			d.full(10, false)
			d.log(20)
			d.log(365 * 24 * hour)
		}, now: 400, log: backup.Log},
		{why: "nor does a full one", history: func(d *database) {
			d.full(10, false)
			d.full(365*24*hour, false)
			d.log(24 * hour)
		}, now: 24*hour + 20, data: backup.Full, since: 24*hour + 9},
		{why: "nor is it one that a database has", history: func(d *database) { d.full(365*24*hour, false) }, now: 20,
			data: backup.Full},
		{why: "what is between others makes no hole", history: func(d *database) {
			d.full(10, false)
			d.log(20)
			d.log(30)
			d.sets[2].Begun, d.sets[2].Finished, d.sets[2].Until = at(9999*hour), at(9999*hour), at(9999*hour)
			d.log(40)
		}, now: 41 + 3600, log: backup.Log},
		{why: "a clock that is a little ahead counts", history: func(d *database) { d.full(10, false); d.log(60) }, now: 20},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			s, d := schedules(), newDatabase()
			if row.schedules != nil {
				row.schedules(&s)
			}
			row.history(d)
			kind := func(due *backup.Due) backup.Kind {
				if due == nil {
					return ""
				}
				g.Expect(due.Reason).NotTo(BeEmpty())
				return due.Kind
			}
			data := s.Data(d.sets, at(row.now))
			g.Expect(kind(data)).To(Equal(row.data))
			g.Expect(kind(s.LogBackup(d.sets, at(row.now)))).To(Equal(row.log))
			if data != nil && row.since == 0 {
				g.Expect(data.Since).To(BeZero())
			} else if data != nil {
				g.Expect(data.Since).To(Equal(at(row.since)))
			}
		})
	}
}
