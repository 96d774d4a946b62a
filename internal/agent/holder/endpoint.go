// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/endpoint"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

const (
	// endpointTimeout bounds one statement about the endpoint, whoever asked for it has gone.
	endpointTimeout = 15 * time.Second
	// endpointPace is how soon one restart of the instance's endpoint may follow another, of whatever group.
	endpointPace = time.Minute
	// startFor is for how long an endpoint whose restart has failed is started again and again, with pauses from
	// startPause on that double up to endpointPace.
	startFor, startPause = 10 * time.Minute, time.Second
	// lookAgain is the longest pause after which one that could not be started, or seen, is looked at again.
	lookAgain = time.Hour
)

// endpointState is what is known of the endpoint's restarts, which all groups of the instance share.
type endpointState struct {
	// under says that one is under way, began when the last one began, started that it was answered.
	under, started bool
	began          time.Time
	// looked says that the endpoint was seen since nobody knew whether it was left stopped: an agent that has just begun
	// does not, nor one whose last restart has failed.
	looked bool
	// failed is how often in a row it could not be seen or started, again when it is tried next.
	failed int
	again  time.Time
}

// note takes down how a start, or a look that found nothing to start, has ended.
func (s *endpointState) note(err error, now time.Time) {
	s.under, s.looked = false, err == nil
	if err == nil {
		s.failed = 0
		return
	}
	s.again = now.Add(min(endpointPace<<min(s.failed, maxFailed), lookAgain))
	s.failed++
}

// maxFailed keeps the pauses from running over.
const maxFailed = 10

// RestartEndpoint implements keeper.Engine. Neither the caller's end nor its deadline cuts it short between STOPPED and
// STARTED.
func (e *sqlEngine) RestartEndpoint(ctx context.Context, group string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if done, err := e.beginRestart(group, time.Now()); done || err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		detached := context.WithoutCancel(ctx)
		name, err := e.endpointName(detached)
		if err == nil {
			err = e.bounded(detached, tsql.RestartEndpoint(name))
		}
		ended <- err
		if err != nil && name != "" {
			err = e.startEndpoint(detached, name)
		}
		e.endRestart(err)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the endpoint is being restarted still: %w", ctx.Err())
	}
}

// beginRestart says whether the endpoint was restarted a moment ago, for whatever group, and refuses what may not be.
func (e *sqlEngine) beginRestart(group string, now time.Time) (done bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	facts := endpoint.Facts{Server: credentials.HostName(e.target.Server), Group: group}
	for other, primary := range e.primary {
		if primary && !strings.EqualFold(other, group) {
			facts.Carries = append(facts.Carries, other)
		}
	}
	if may, err := facts.May(); !may {
		return false, err
	}
	recent := !e.endpoint.began.IsZero() && now.Sub(e.endpoint.began) < endpointPace
	switch {
	case e.endpoint.under:
		return false, errors.New("the endpoint is being restarted already")
	case recent && e.endpoint.started:
		return true, nil
	}
	e.endpoint = endpointState{under: true, began: now, failed: e.endpoint.failed}
	return false, nil
}

// endRestart notes that a restart has ended, with the endpoint started unless there is an error.
func (e *sqlEngine) endRestart(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endpoint.started = err == nil
	e.endpoint.note(err, time.Now())
}

// startLeft starts an endpoint that was left stopped by an agent or manager that has ended between STOPPED and STARTED.
// It looks until it has seen it started, with growing pauses, beside the steps: the group's log is on its way again
// then.
func (e *sqlEngine) startLeft(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.endpoint.looked || e.endpoint.under || time.Now().Before(e.endpoint.again) {
		return
	}
	e.endpoint.under = true
	go func() {
		detached := context.WithoutCancel(ctx)
		name, state, err := e.endpointSeen(detached)
		stopped := err == nil && name != "" && state != "STARTED"
		if stopped {
			err = e.startEndpoint(detached, name)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.endpoint.note(err, time.Now())
	}()
}

// endpointSeen reads name and state of the endpoint for log between replicas, both empty where there is none.
func (e *sqlEngine) endpointSeen(ctx context.Context) (name, state string, err error) {
	ctx, cancel := context.WithTimeout(ctx, endpointTimeout)
	defer cancel()
	seen, err := learn(ctx, e, func(ctx context.Context, db *mssql.DB) (seen [2]string, err error) {
		return seen, db.Query(ctx, tsql.EndpointState(), func(r mssql.Row) error {
			var role string
			var port int
			var certificate sql.NullString
			return r.Scan(&seen[0], &seen[1], &role, &port, &certificate)
		})
	})
	return seen[0], seen[1], err
}

// endpointName is the name of the endpoint.
func (e *sqlEngine) endpointName(ctx context.Context) (string, error) {
	name, _, err := e.endpointSeen(ctx)
	if err == nil && name == "" {
		err = errors.New("there is no endpoint for log between replicas")
	}
	return name, err
}

func (e *sqlEngine) bounded(ctx context.Context, s tsql.Statement) error {
	ctx, cancel := context.WithTimeout(ctx, endpointTimeout)
	defer cancel()
	return e.ask(ctx, func(ctx context.Context, db *mssql.DB) error { return db.Exec(ctx, s) })
}

// startEndpoint starts the endpoint until the engine has said so, or startFor is over.
func (e *sqlEngine) startEndpoint(ctx context.Context, name string) error {
	pause := startPause
	for until := time.Now().Add(startFor); ; pause = min(2*pause, endpointPace) {
		if err := e.bounded(ctx, tsql.StartEndpoint(name)); err == nil || time.Now().Add(pause).After(until) {
			return err
		}
		time.Sleep(pause)
	}
}

// feedsOthers says whether a primary has a synchronized secondary beside the one that asks: a restart of the endpoint
// would break that one's connection, and with it the commits that wait for it.
func feedsOthers(seen ballot.Inspection, asks string) bool {
	for _, d := range seen.Databases {
		if !d.Local && d.State == "SYNCHRONIZED" && !d.Suspended && !strings.EqualFold(d.Server, asks) {
			return true
		}
	}
	return false
}
