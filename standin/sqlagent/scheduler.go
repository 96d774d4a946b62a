// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
)

// due is one attachment of a schedule to an enabled job.
type due struct {
	job      uuid.UUID
	name     string
	schedule int64
	timing   timing
	next     time.Time
	// noted is what sysjobschedules says.
	noted moment
}

// pollSchedules is how often schedules are read again when nothing said that they changed: msdb's tables can be written
// to directly.
const pollSchedules = 15 * time.Second

// schedule starts jobs when they are due, until ctx ends.
func (e *Extension) schedule(ctx context.Context) {
	e.awaitServer(ctx)
	plan := map[[2]string]*due{}
	read := time.Time{}
	first := true
	for ctx.Err() == nil {
		if e.now().Sub(read) >= pollSchedules {
			list, err := e.readSchedules(ctx)
			if err != nil && ctx.Err() == nil {
				e.inst.Log().Warn("SQLServerAgent: the schedules could not be read", "error", err.Error())
			}
			if err == nil {
				plan = merge(plan, list, e.now())
				read = e.now()
				e.planned(plan)
			}
			if first && err == nil {
				e.startAgentJobs(list)
				first = false
			}
		}
		now := e.now()
		wake := now.Add(time.Second)
		for _, d := range plan {
			if d.next.IsZero() {
				continue
			}
			if !d.next.After(now) {
				d.next = d.timing.next(now)
				e.planned(plan)
				e.begin(d.job, d.name, 0, "Schedule", 1)
			}
			if !d.next.IsZero() && d.next.Before(wake) {
				wake = d.next
			}
		}
		if err := e.noteNext(ctx, plan); err != nil && ctx.Err() == nil {
			e.inst.Log().Warn("SQLServerAgent: when jobs are due next could not be noted", "error", err.Error())
		}
		timer := time.NewTimer(max(wake.Sub(e.now()), 10*time.Millisecond))
		select {
		case <-ctx.Done():
		case <-e.changed:
			read = time.Time{}
		case <-timer.C:
		}
		timer.Stop()
	}
}

// startAgentJobs starts the jobs whose schedule says "when the agent starts".
func (e *Extension) startAgentJobs(list []*due) {
	for _, d := range list {
		if d.timing.kind == freqAgentStart {
			e.begin(d.job, d.name, 0, "Schedule", 3)
		}
	}
}

// merge keeps the next times of attachments that did not change.
func merge(old map[[2]string]*due, list []*due, now time.Time) map[[2]string]*due {
	plan := map[[2]string]*due{}
	for _, d := range list {
		key := [2]string{d.job.String(), time.Duration(d.schedule).String()}
		if before := old[key]; before != nil && before.timing == d.timing {
			d.next = before.next
		} else {
			d.next = d.timing.next(now)
		}
		plan[key] = d
	}
	return plan
}

func (e *Extension) readSchedules(ctx context.Context) ([]*due, error) {
	s, err := e.system(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := clearNext(ctx, s); err != nil {
		return nil, err
	}
	r, err := s.Query(
		ctx,
		`SELECT j.job_id, j.name, a.next_run_date, a.next_run_time, c.schedule_id, c.freq_type, c.freq_interval, c.freq_subday_type, c.freq_subday_interval,
		c.freq_relative_interval, c.freq_recurrence_factor, c.active_start_date, c.active_end_date, c.active_start_time, c.active_end_time
		FROM msdb.dbo.sysjobschedules AS a
		JOIN msdb.dbo.sysjobs AS j ON j.job_id = a.job_id
		JOIN msdb.dbo.sysschedules AS c ON c.schedule_id = a.schedule_id
		JOIN msdb.dbo.sysjobservers AS v ON v.job_id = j.job_id
		WHERE j.enabled = 1 AND c.enabled = 1`,
	)
	if err != nil {
		return nil, err
	}
	var out []*due
	for i := range r.Len() {
		out = append(
			out,
			&due{job: r.UUID(i, "job_id"), name: r.String(i, "name"), schedule: r.Int(i, "schedule_id"), timing: timingOf(r, i),
				noted: moment{r.Int(i, "next_run_date"), r.Int(i, "next_run_time")}},
		)
	}
	return out, nil
}

func timingOf(r *engine.Result, i int) timing {
	return timing{
		kind:       r.Int(i, "freq_type"),
		interval:   r.Int(i, "freq_interval"),
		subdayType: r.Int(i, "freq_subday_type"),
		subdayInterval: r.Int(
			i,
			"freq_subday_interval",
		),
		relative:   r.Int(i, "freq_relative_interval"),
		recurrence: r.Int(i, "freq_recurrence_factor"),
		startDate:  r.Int(i, "active_start_date"),
		endDate:    r.Int(i, "active_end_date"),
		startTime:  r.Int(i, "active_start_time"),
		endTime:    r.Int(i, "active_end_time"),
	}
}

// readyWithin bounds the wait for the instance's own port; after that jobs start all the same, and fail for themselves.
const readyWithin = 30 * time.Second

// awaitServer returns when the instance accepts connections.
func (e *Extension) awaitServer(ctx context.Context) {
	host := e.options.Host
	if host == "" {
		host = "127.0.0.1"
	}
	address := net.JoinHostPort(host, strconv.Itoa(e.inst.Config().Port))
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for ctx.Err() == nil {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
