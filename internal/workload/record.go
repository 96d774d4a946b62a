// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tds "github.com/microsoft/go-mssqldb"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
)

const (
	// connectTimeout bounds one TCP connection: a listener whose server is gone must not hold a client for long. It is
	// less than the second after which TCP repeats a lost SYN.
	connectTimeout = 500 * time.Millisecond
	// stopFile in the folder of histories asks the clients to stop, endedFile says that they have.
	stopFile, endedFile = "stop", "ended"
	// lookForStop is how often the file is looked for.
	lookForStop = 200 * time.Millisecond
)

// RecordOptions say what clients do whose history is recorded.
type RecordOptions struct {
	Options
	// Client names the clients in the histories.
	Client string
	// Folder of the histories, one file for each worker and start.
	Folder string
	// Workers at the same time, 1 to 200, each with a connection and a history of its own.
	Workers int
	// Stages let the number of workers change; Workers is not looked at then.
	Stages Stages
	// Profile of what they do; Insert unless given.
	Profile Profile
	// ListsFrom is the number of the first list of the profile Append, above 0. All clients of a recording have the same,
	// and no other recording one within ListRange of it: what others appended is nobody's.
	ListsFrom int64
	// Payload of each row.
	Payload Payload
	// Rate is how many operations of a worker are due in a second, above 0 up to 1000: an open loop. One that takes longer
	// holds up the next ones, which are made up for as fast as they are answered, and count from when they were due. With
	// 0 nothing is ever due, and ThinkTime counts.
	Rate float64
	// Fits has a worker's operations due no more often than every third round trip to the server, as it measures them when
	// it comes: who can do one at a time keeps no schedule that is denser than that.
	Fits bool
	// ThinkTime is how long a worker waits after an operation's end, where Rate is 0: a closed loop. 0 for not at all.
	ThinkTime time.Duration
	// Registers that are written and read, 0 to 100; every fifth operation is one of theirs.
	Registers int
	// Timeout of one operation, after which its outcome is unknown; above 0.
	Timeout time.Duration
}

func (o RecordOptions) check() error {
	switch {
	case o.Client == "" || strings.ContainsAny(o.Client, "/\\"):
		return fmt.Errorf("client %q is no name of a file", o.Client)
	case len(o.Stages) == 0 && (o.Workers < 1 || o.Workers > maxWorkers):
		return fmt.Errorf("workers must be between 1 and %d, not %d", maxWorkers, o.Workers)
	case o.Profile != "" && !slices.Contains(Profiles(), o.Profile):
		return fmt.Errorf("profile %q is none of %v", o.Profile, Profiles())
	case o.Profile == Append && o.ListsFrom < 1:
		return fmt.Errorf("the profile append needs the number of its first list, above 0, which no other recording has")
	case o.Rate < 0 || o.Rate > 1000:
		return fmt.Errorf("rate must be at most 1000 operations per second and not below 0, not %g", o.Rate)
	case o.ThinkTime < 0:
		return fmt.Errorf("the think time must not be below 0, not %s", o.ThinkTime)
	case o.Registers < 0 || o.Registers > 100:
		return fmt.Errorf("registers must be between 0 and 100, not %d", o.Registers)
	case o.Timeout <= 0:
		return fmt.Errorf("the time-out must be above 0, not %s", o.Timeout)
	}
	return o.Payload.check()
}

// PrepareStatements are what makes the tables and the registers, and what a profile and a payload need, unless they
// exist.
func PrepareStatements(p Profile, payload tsql.PayloadTable, registers int) []tsql.Statement {
	list := append(tsql.PrepareRecording(registers), p.prepare()...)
	switch payload {
	case tsql.ArticlePayload:
		return append(list, tsql.CreateArticleTable())
	case tsql.AttachmentPayload:
		return append(list, tsql.CreateAttachmentTable())
	}
	return list
}

// PrepareRecording creates the tables, with what the profile and the payload need, and the registers unless they exist.
func PrepareRecording(ctx context.Context, o RecordOptions) error {
	connector := o.connector()
	defer connector.Close()
	db, err := o.open(ctx, connector)
	if err != nil {
		return err
	}
	for _, s := range PrepareStatements(o.Profile, o.Payload.Table, o.Registers) {
		if err := db.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Record lets clients work until ctx ends or Stop is asked for in the folder, and records what they did. An operation
// that is under way is waited for. It returns at once where they had ended before, or Stop was asked for: whoever was
// asked and was killed is followed by this process, which is all that is left to end.
func Record(ctx context.Context, o RecordOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	switch {
	case asked(o.Folder, endedFile):
		return nil
	case asked(o.Folder, stopFile):
		return sayEnded(o.Folder)
	}
	go func() {
		defer cancel()
		waitFor(ctx, o.Folder, stopFile)
	}()
	boot, err := history.BootID()
	if err != nil {
		return err
	}
	started, err := startedAt(o.Folder)
	if err != nil {
		return err
	}
	if len(o.Stages) == 0 {
		o.Stages = Stages{{Users: o.Workers}}
	}
	errs := make([]error, o.Stages.most())
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { errs[i] = o.work(ctx, boot, started, i) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return sayEnded(o.Folder)
}

// sayEnded tells whoever asks in the folder, now or later, that nobody writes there any more.
func sayEnded(folder string) error {
	if err := os.WriteFile(filepath.Join(folder, endedFile), nil, 0o640); err != nil {
		return fmt.Errorf("say that all have stopped: %w", err)
	}
	return nil
}

// Stop asks the clients that record in the folder to stop and waits until they have.
func Stop(ctx context.Context, folder string) error {
	if err := os.WriteFile(filepath.Join(folder, stopFile), nil, 0o640); err != nil {
		return fmt.Errorf("ask the clients to stop: %w", err)
	}
	waitFor(ctx, folder, endedFile)
	if !asked(folder, endedFile) {
		return fmt.Errorf("the clients have not stopped: %w", ctx.Err())
	}
	return nil
}

func asked(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

func waitFor(ctx context.Context, folder, name string) {
	tick := time.NewTicker(lookForStop)
	defer tick.Stop()
	for !asked(folder, name) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// client is one worker with its connection.
type client struct {
	db        *mssql.DB
	recorder  *history.Recorder
	run       int64
	profile   Profile
	payload   Payload
	registers int
	timeout   time.Duration
	lists     lists
}

// work is what one user does, while there are as many users.
func (o RecordOptions) work(ctx context.Context, boot string, started time.Time, user int) error {
	if !o.Stages.present(ctx, started, user) {
		return nil
	}
	connector := mssql.NewConnector(o.connectorOptions(mssql.Dial(connectTimeout)))
	defer connector.Close()
	db, err := o.open(ctx, connector)
	if err != nil {
		return err
	}
	// 40 random bits: unlike clocks and pods' names they do not come again, and a register's value has room for them.
	run := rand.Int64N(1<<40-1) + 1
	header := history.Header{Run: run, Client: o.Client, Boot: boot, Address: o.address(), Database: o.Database}
	pace := o.pace(&header, o.roundTrip(ctx, db))
	recorder, err := history.Create(o.Folder, header)
	if err != nil {
		return err
	}
	c := &client{
		db:        db,
		recorder:  recorder,
		run:       run,
		profile:   o.Profile,
		payload:   o.Payload,
		registers: o.Registers,
		timeout:   o.Timeout,
		lists:     lists{from: o.ListsFrom},
	}
	return c.follow(ctx, pace, func() bool { return o.Stages.away(started, user) },
		func() bool { return o.Stages.present(ctx, started, user) })
}

// follow lets a client do one operation after another while it is present, at the pace, and ends its history.
func (c *client) follow(ctx context.Context, pace pace, away, present func() bool) error {
	var asked atomic.Int64
	defer context.AfterFunc(ctx, func() { asked.Store(history.Now().Monotonic) })()
	for comes := true; ; {
		comes = comes || away()
		if !present() {
			if !comes { // nothing is due of a user who is away
				c.recorder.Asked(cmp.Or(asked.Load(), history.Now().Monotonic))
			}
			return c.recorder.End()
		}
		if comes {
			pace.begin(c.recorder)
			comes = false
		}
		if err := c.step(); err != nil {
			return err
		}
		pace.wait(ctx, c.recorder)
	}
}

// step does one operation and records it. An error is one of the recording.
func (c *client) step() error {
	a := c.choose()
	o, err := c.invoke(a)
	if err != nil {
		return err
	}
	// An operation outlives the request to stop: its outcome is worth more than the time.
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	answered := false
	err = c.db.Query(ctx, a.statement(o), func(row mssql.Row) error {
		answered = true
		switch {
		case o.Function == history.Query:
			return nil // the rows have crossed the network, and nobody looks at them
		case o.Function == history.Read:
			return row.Scan(&o.Value, &o.Server, &o.Configuration)
		case len(o.Steps) > 0:
			return scanLists(row, &o)
		}
		return row.Scan(&o.Server, &o.Configuration)
	})
	switch {
	case err != nil:
		o.Outcome, o.Reason = outcomeOf(err), err.Error()
		o.Server, o.Configuration = "", 0
		c.reconnect()
	case !answered && o.Function == history.Insert:
		o.Outcome, o.Reason = history.Unknown, "there was no answer after the commit"
	case !answered && o.Function != history.Query:
		o.Outcome, o.Reason = history.Fail, "there is no such register"
	default:
		o.Outcome = history.OK
		c.lists.learn(o.Steps)
	}
	return c.recorder.Complete(o)
}

// invoke records what is about to be sent.
func (c *client) invoke(a action) (history.Operation, error) {
	if len(a.steps) > 0 {
		return c.recorder.InvokeSteps(a.interaction, a.steps)
	}
	return c.recorder.InvokeAs(a.interaction, a.function, a.key, a.value)
}

// reconnect makes the next operation connect anew: the listener may lead elsewhere by then, and a server that has
// become a secondary would refuse every write of a connection that stays.
func (c *client) reconnect() {
	c.db.Handle().SetMaxIdleConns(0)
	c.db.Handle().SetMaxIdleConns(1)
}

// terminating is the severity from which on the server ends the connection
// (docs/relational-databases/errors-events/database-engine-error-severities.md): whether the batch's effect stayed is
// then not said.
const terminating = 20

// outcomeOf is Fail only when it is certain that nothing happened.
func outcomeOf(err error) history.Outcome {
	var server tds.Error
	if mssql.Is(err, mssql.Unknown) || errors.As(err, &server) && server.Class >= terminating {
		return history.Unknown
	}
	return history.Fail
}
