// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
)

// moment is a time as sysjobschedules has it: 0 and 0 is none.
type moment struct{ date, time int64 }

func momentOf(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	return moment{dateNumber(t), timeNumber(t)}
}

// nextRuns is when each job is due next, by all its schedules; jobs that are not due are not in it.
func nextRuns(plan map[[2]string]*due) map[uuid.UUID]time.Time {
	out := map[uuid.UUID]time.Time{}
	for _, d := range plan {
		if at, ok := out[d.job]; !d.next.IsZero() && (!ok || d.next.Before(at)) {
			out[d.job] = d.next
		}
	}
	return out
}

// planned makes known what is due next: what a job that begins now notes with its activity. It comes before the job
// begins.
func (e *Extension) planned(plan map[[2]string]*due) {
	next := nextRuns(plan)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next = next
}

// nextRun is when a job is due next, nil when it is not.
func (e *Extension) nextRun(job uuid.UUID) any {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at, ok := e.next[job]; ok {
		return at
	}
	return nil
}

// noteNext writes into msdb when the attachments are due next, where that changed
// (docs/relational-databases/system-tables: dbo-sysjobschedules-transact-sql.md, dbo-sysjobactivity-transact-sql.md,
// next_scheduled_run_date).
func (e *Extension) noteNext(ctx context.Context, plan map[[2]string]*due) error {
	changed := map[uuid.UUID]bool{}
	var late []*due
	for _, d := range plan {
		if momentOf(d.next) != d.noted {
			late = append(late, d)
			changed[d.job] = true
		}
	}
	if len(late) == 0 {
		return nil
	}
	s, err := e.system(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, d := range late {
		at := momentOf(d.next)
		if err := s.Exec(ctx,
			"UPDATE msdb.dbo.sysjobschedules SET next_run_date = @p3, next_run_time = @p4 WHERE schedule_id = @p1 AND "+
				"job_id = @p2", d.schedule, d.job, at.date, at.time); err != nil {
			return err
		}
		d.noted = at
	}
	for job := range changed {
		if err := s.Exec(ctx, `UPDATE msdb.dbo.sysjobactivity SET next_scheduled_run_date = @p3 WHERE session_id = @p1 AND job_id = @p2;
			INSERT INTO msdb.dbo.sysjobactivity (session_id, job_id, next_scheduled_run_date) SELECT @p1, j.job_id, @p3 FROM msdb.dbo.sysjobs AS j
			WHERE j.job_id = @p2 AND NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobactivity AS a WHERE a.session_id = @p1 AND a.job_id = j.job_id)`,
			e.session, job, e.nextRun(job)); err != nil {
			return err
		}
	}
	return nil
}

// clearNext takes back what was noted for attachments that start nothing any more.
func clearNext(ctx context.Context, s *engine.Session) error {
	return s.Exec(
		ctx,
		`IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobschedules AS a WHERE a.next_run_date <> 0 AND `+startsNothing+`)
		BEGIN
			UPDATE v SET next_scheduled_run_date = NULL FROM msdb.dbo.sysjobactivity AS v JOIN msdb.dbo.sysjobschedules AS a ON a.job_id = v.job_id WHERE a.next_run_date <> 0 AND `+startsNothing+`;
			UPDATE a SET next_run_date = 0, next_run_time = 0 FROM msdb.dbo.sysjobschedules AS a WHERE a.next_run_date <> 0 AND `+startsNothing+`
		END`,
	)
}

// startsNothing is true of an attachment (a) whose job or schedule is disabled, or whose job has no server.
const startsNothing = `NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs AS j JOIN msdb.dbo.sysjobservers AS w ON w.job_id = j.job_id
	JOIN msdb.dbo.sysschedules AS c ON c.schedule_id = a.schedule_id WHERE j.job_id = a.job_id AND j.enabled = 1 AND c.enabled = 1)`
