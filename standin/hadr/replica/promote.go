// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/config"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

// askTimeout bounds the questions to the other replicas at a failover.
const askTimeout = 5 * time.Second

// askGrace is how long the others are waited for once a majority has answered, where every answer counts.
const askGrace = 300 * time.Millisecond

// Failover is ALTER AVAILABILITY GROUP ... FAILOVER: it returns when the failover is certain to be lossless and has
// begun; the role changes later. 41142 when this replica is not called synchronized in the newest configuration that a
// majority knows.
func (g *Group) Failover(ctx context.Context) error {
	if err := g.recovered(ctx); err != nil {
		return err
	}
	if err := g.mayFailover(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	defer g.dropLines()
	epoch, promises, err := g.promises(ctx)
	if err != nil {
		return err
	}
	newest, err := g.decide(promises, false)
	if err != nil {
		return err
	}
	return g.begin(epoch, newest, group.Promotion(newest, g.Self(), epoch))
}

// promises are those of a new epoch. First the others are only asked: a refused failover must not disturb a primary
// that they hear. Whoever hears none, and knows no reason to refuse, promises at once. FAILOVER may be refused all the
// same, by what the others know; a primary that lives and had not reached those resigns when it does.
func (g *Group) promises(ctx context.Context) (epoch uint32, all []group.Promise, err error) {
	first := g.firstQuestion()
	answers := g.ask(ctx, first, false)
	if first.Epoch > 0 && g.promisedBy(answers) {
		all, err = g.promiseToo(first.Epoch, answers)
		return first.Epoch, all, err
	}
	if _, err := g.decide(answers, true); err != nil {
		return 0, nil, err
	}
	epoch = g.nextEpoch(answers)
	all, err = g.prepare(ctx, epoch, false)
	return epoch, all, err
}

// firstQuestion asks for what the others know and, where this replica has no primary and may be promoted by what it
// knows itself, for their promises as well.
func (g *Group) firstQuestion() prepareRequest {
	g.mu.Lock()
	c := g.st.Accepted
	may := g.yieldsLocked(g.self)
	g.mu.Unlock()
	if !may || !g.ready(c) {
		return prepareRequest{Read: true}
	}
	return prepareRequest{Read: true, Epoch: g.nextEpoch(nil), Candidate: g.self}
}

// yieldsLocked tells whether nobody is disturbed and nothing is lost, by what this replica knows, if another one
// becomes primary now: none has been heard for the time alone, or the connection of the last one has ended, and the
// candidate is called synchronized.
func (g *Group) yieldsLocked(candidate uuid.UUID) bool {
	c := g.st.Accepted
	if g.lead != nil || c == nil || c.Options.ClusterType != group.External || g.distributed() ||
		time.Since(g.contact.at) <= alone {
		return false
	}
	r := c.Replica(candidate)
	return r != nil && r.Mode == group.Synchronous && c.SynchronizedAt(candidate)
}

// promisedBy tells whether a majority has promised already, this replica's own promise not counted as missing.
func (g *Group) promisedBy(answers []group.Promise) bool {
	g.mu.Lock()
	c, self := g.st.Accepted, g.self
	g.mu.Unlock()
	return group.Majority(c.Voters(), func(id uuid.UUID) bool {
		return id == self || slices.ContainsFunc(answers, func(p group.Promise) bool { return p.From == id && p.Granted })
	})
}

// mayFailover checks what this replica knows by itself.
func (g *Group) mayFailover() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	self := g.st.Accepted.Replica(g.self)
	switch {
	case g.role == Primary:
		return failure(41122, g.name)
	case g.lead != nil:
		return failure(41113, g.name)
	case self == nil:
		return failure(41100, g.name)
	case self.Mode == group.ConfigurationOnly:
		return failure(47109, g.name)
	case !g.leaseValidLocked():
		return failure(41104, g.name)
	}
	return nil
}

// ready tells whether all databases of a configuration have a usable local copy.
func (g *Group) ready(c *group.Configuration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range c.Databases {
		d := &c.Databases[i]
		lc := g.st.Databases[d.ID]
		if lc == nil || !lc.Joined {
			return false
		}
		if cs := g.copyStateLocked(d.ID); cs.seeding || cs.reverting || !cs.initializing.IsZero() {
			return false
		}
		if g.host.Database(lc.Name) == nil {
			return false
		}
	}
	return true
}

// decide finds the newest configuration among the answers of a majority, and whether this replica may be promoted
// under it.
func (g *Group) decide(answers []group.Promise, read bool) (*group.Configuration, error) {
	g.mu.Lock()
	own, self, name := g.st.Accepted, g.self, g.name
	g.mu.Unlock()
	if read {
		for i := range answers {
			answers[i].Granted = answers[i].From != uuid.Nil
		}
	}
	newest, ok := group.Elected(own, answers)
	if !ok {
		return nil, failure(41104, name)
	}
	r := newest.Replica(self)
	if r == nil || r.Mode != group.Synchronous || !newest.SynchronizedAt(self) || !g.ready(newest) {
		return nil, failure(41142, name)
	}
	return newest, nil
}

func (g *Group) nextEpoch(answers []group.Promise) uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	epoch := g.st.Promised
	for _, a := range answers {
		epoch = max(epoch, a.Promised)
	}
	return g.ownEpochLocked(epoch + 1)
}

// prepare promises the epoch to this replica itself, which ends every older stream of log, and asks the others.
func (g *Group) prepare(ctx context.Context, epoch uint32, patient bool) ([]group.Promise, error) {
	own, err := g.promiseToo(epoch, nil)
	if err != nil {
		return nil, err
	}
	return append(g.ask(ctx, prepareRequest{Epoch: epoch}, patient), own...), nil
}

// promiseToo promises the epoch to this replica itself, beside the others' promises.
func (g *Group) promiseToo(epoch uint32, others []group.Promise) ([]group.Promise, error) {
	own, err := g.promise(prepareRequest{Epoch: epoch})
	if err != nil {
		return nil, err
	}
	if !own.Granted {
		return nil, failure(41181, g.Name())
	}
	return append(others, own), nil
}

// ask asks all other replicas at once, with Read this one too. It returns the answers that came once a majority has
// answered: more are not needed to know the newest configuration, and a replica that is far or behind a cut network
// must not take the time that the failover has. If it is to be patient, because every answer counts, it waits until all
// have answered, or for askGrace after the majority.
func (g *Group) ask(ctx context.Context, req prepareRequest, patient bool) []group.Promise {
	g.mu.Lock()
	c, self := g.st.Accepted, g.self
	g.mu.Unlock()
	var out []group.Promise
	if req.Read {
		if p, err := g.promise(prepareRequest{Read: true}); err == nil {
			out = append(out, p)
		}
	}
	type answer struct {
		from    uuid.UUID
		promise group.Promise
		err     error
	}
	answers := make(chan answer, len(c.Replicas))
	waiting := map[uuid.UUID]bool{}
	for i := range c.Replicas {
		r := c.Replicas[i]
		if r.ID == self {
			continue
		}
		waiting[r.ID] = true
		go func() {
			// One that nobody waits for may answer later: then the connection to it is there for the next question.
			p, err := g.askOne(g.m.ctx, &r, req)
			if err != nil {
				g.host.Log().
					Debug("availability group: a replica did not answer", "group", g.Name(), "replica", r.Server, "error", err)
			}
			answers <- answer{r.ID, p, err}
		}()
	}
	answered := map[uuid.UUID]bool{self: true}
	var grace <-chan time.Time
	for len(waiting) > 0 {
		select {
		case a := <-answers:
			delete(waiting, a.from)
			if a.err == nil {
				out = append(out, a.promise)
				answered[a.promise.From] = true
			}
			if !group.Majority(c.Voters(), func(id uuid.UUID) bool { return answered[id] }) {
				continue
			}
			if !patient {
				return out
			}
			if grace == nil {
				timer := time.NewTimer(askGrace)
				defer timer.Stop()
				grace = timer.C
			}
		case <-grace:
			return out
		case <-ctx.Done():
			return out
		}
	}
	return out
}

// begin starts an epoch as primary: its first configuration is committed, the databases are brought up, and then the
// role is PRIMARY.
func (g *Group) begin(epoch uint32, old, first *group.Configuration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.st.Promised != epoch || g.lead != nil || g.stopped {
		return failure(41181, g.name)
	}
	err := g.updateLocked(func(d *durable) {
		d.Accept(first.Clone())
		d.Intent, d.Led = Primary, true
		d.Following = uuid.Nil
		d.ForcedSeen = first.Forced
		for _, c := range d.Databases {
			c.Suspended = false
		}
	})
	if err != nil {
		return err
	}
	g.role, g.silent = Resolving, false
	closeStreams(g.takeStreamsLocked())
	l := g.startLeadingLocked(epoch, old, first)
	g.host.Log().Info("availability group: becoming primary", "group", g.name, "epoch", epoch)
	l.wait.Go(func() { l.configure(func() error { return g.becomePrimary(l) }) })
	return nil
}

// becomePrimary brings up the databases and opens them.
func (g *Group) becomePrimary(l *leadership) error {
	if g.distributed() {
		return g.becomeGlobalPrimary(l)
	}
	g.transition.Lock()
	defer g.transition.Unlock()
	g.disconnectAll()
	member := g.above.Load() != nil
	for id, db := range g.local() {
		if err := l.ctx.Err(); err != nil {
			return context.Cause(l.ctx)
		}
		// What an earlier epoch left in progress ends here.
		if err := db.SetMode(l.ctx, storage.Redo, g.notInRole(id)); err != nil {
			return fmt.Errorf("bring up database %s: %w", id, err)
		}
		if !member {
			if err := takeOver(l.ctx, id, db); err != nil {
				return err
			}
		}
		if err := g.holdForAll(l, id, db); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lead != l {
		return errNotLeading
	}
	g.role, l.open = Primary, true
	g.host.Log().Info("availability group: the local replica is PRIMARY", "group", g.name, "epoch", l.epoch)
	g.broadcastLocked()
	l.wait.Go(l.watchLease)
	return nil
}

// takeOver makes a copy the one that is written to, with a recovery fork of its own.
func takeOver(ctx context.Context, id uuid.UUID, db *storage.Database) error {
	if err := db.SetMode(ctx, storage.Primary, nil); err != nil {
		return fmt.Errorf("bring up database %s: %w", id, err)
	}
	if _, err := db.BeginFork(ctx); err != nil {
		return fmt.Errorf("bring up database %s: %w", id, err)
	}
	return nil
}

// holdForAll keeps the log for every other data replica from where any may need it.
func (g *Group) holdForAll(l *leadership, id uuid.UUID, db *storage.Database) error {
	held := db.Holds()
	from, ok := held[holdGroup]
	if !ok {
		from = db.Log().Oldest()
	}
	g.mu.Lock()
	c := l.committed
	g.mu.Unlock()
	for i := range c.Replicas {
		r := &c.Replicas[i]
		if r.ID == g.Self() || !r.Data() {
			continue
		}
		if _, ok := held[holdOwner(r.ID)]; !ok {
			if err := db.HoldLog(holdOwner(r.ID), from); err != nil {
				return err
			}
		}
	}
	return db.HoldLog(holdGroup, storage.LSN{})
}

// Force is FORCE_FAILOVER_ALLOW_DATA_LOSS: this replica becomes primary with what it has.
func (g *Group) Force(ctx context.Context) error {
	if err := g.mayFailover(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	defer g.dropLines()
	// Who does not answer has no vote afterwards.
	answers := g.ask(ctx, prepareRequest{Read: true}, true)
	epoch := g.nextEpoch(answers)
	promises, err := g.prepare(ctx, epoch, true)
	if err != nil {
		return err
	}
	g.mu.Lock()
	newest := group.Newest(g.st.Accepted, promises)
	g.mu.Unlock()
	if newest.Replica(g.Self()) == nil || !g.ready(newest) {
		return failure(41142, g.Name())
	}
	first := group.Forced(newest, g.Self(), epoch, func(id uuid.UUID) bool {
		for _, p := range promises {
			if p.From == id && p.Granted {
				return true
			}
		}
		return false
	})
	// What did not answer has no say: the old majority may be gone for good.
	old := first.Clone()
	old.Sequence = newest.Sequence
	return g.begin(epoch, old, first)
}

// resumePrimary is the start of a primary of a group without a cluster.
func (g *Group) resumePrimary(ctx context.Context) error {
	g.mu.Lock()
	epoch := g.st.Promised + 1
	newest := g.st.Accepted
	err := g.updateLocked(func(d *durable) { d.Prepare(epoch) })
	g.mu.Unlock()
	if err != nil {
		return err
	}
	return g.begin(epoch, newest, group.Promotion(newest, g.Self(), epoch))
}

// resign ends an epoch. intent is what the replica waits for from now on.
func (g *Group) resign(l *leadership, intent Role, reason string) {
	g.mu.Lock()
	if g.lead != l {
		g.mu.Unlock()
		return
	}
	g.lead = nil
	g.role = Resolving
	g.host.Log().Warn("availability group: the local replica is RESOLVING", "group", g.name, "reason", reason)
	if err := g.updateLocked(func(d *durable) { d.Intent = intent }); err != nil {
		// Even so the role in memory counts; after a restart a primary is RESOLVING in any case.
		g.host.Log().Error("availability group: the role could not be stored", "group", g.name, "error", err)
	}
	g.mu.Unlock()
	l.end(errNotLeading)
	g.closeDatabases(reason)
}

// closeDatabases breaks off everything in the databases and lets them take log only.
func (g *Group) closeDatabases(reason string) {
	g.transition.Lock()
	defer g.transition.Unlock()
	g.mu.Lock()
	again := g.lead != nil
	g.mu.Unlock()
	if again {
		// It is becoming primary once more, and does the same itself.
		return
	}
	var wait sync.WaitGroup
	for id, db := range g.local() {
		wait.Go(func() {
			g.mu.Lock()
			c := g.st.Databases[id]
			g.mu.Unlock()
			if c != nil {
				g.host.Disconnect(c.Name)
			}
			if err := db.SetMode(context.Background(), storage.Redo, g.notInRole(id)); err != nil {
				g.host.Log().
					Error("availability group: a database could not leave the primary role", "group", g.Name(), "database", id,
						"reason", reason, "error", err)
			}
		})
	}
	wait.Wait()
}

// Offline is OFFLINE: the replica is RESOLVING until FAILOVER or SET (ROLE = SECONDARY), and its lease is given up.
func (g *Group) Offline(ctx context.Context) error {
	if g.host.Answers(config.OfflineTakesTime) && g.Role() != Resolving {
		if err := pass(ctx, offlineTakes); err != nil {
			return err
		}
	}
	if err := g.leave(Resolving); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lease = 0
	g.silent = g.host.Answers(config.OfflineIsSilent)
	return nil
}

// How long statements take that may take their time: roleRecovery the recovery that SET (ROLE = SECONDARY) begins and
// FAILOVER waits for, offlineTakes OFFLINE.
const (
	roleRecovery = 4 * time.Second
	offlineTakes = 6 * time.Second
)

// recovered waits until the recovery is over that SET (ROLE = SECONDARY) has begun.
func (g *Group) recovered(ctx context.Context) error {
	g.mu.Lock()
	left := time.Until(g.recovering)
	g.mu.Unlock()
	return pass(ctx, left)
}

// pass lets time pass, or returns why ctx has ended.
func pass(ctx context.Context, left time.Duration) error {
	if left <= 0 {
		return nil
	}
	over := time.NewTimer(left)
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answers tells whether the replica answers others.
func (g *Group) answers() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.silent
}

// BecomeSecondary is SET (ROLE = SECONDARY): the replica follows the next primary that comes.
func (g *Group) BecomeSecondary(ctx context.Context) error {
	if g.distributed() {
		g.drain(ctx)
	}
	if g.latchedPrimary() {
		return failure(41104, g.Name())
	}
	if err := g.leave(Secondary); err != nil {
		return err
	}
	if g.host.Answers(config.RoleBlocksFailover) {
		g.mu.Lock()
		g.recovering = time.Now().Add(roleRecovery)
		g.mu.Unlock()
	}
	return nil
}

// leave takes the replica out of its role.
func (g *Group) leave(intent Role) error {
	g.mu.Lock()
	l := g.lead
	g.mu.Unlock()
	if l != nil {
		g.resign(l, intent, "ALTER AVAILABILITY GROUP")
	}
	g.mu.Lock()
	err := g.updateLocked(func(d *durable) {
		d.Intent = intent
		d.Led = d.Led && intent != Secondary
		d.Following = uuid.Nil
	})
	var streams []*stream
	if err == nil {
		streams = g.takeStreamsLocked()
		g.role, g.silent = Resolving, false
		g.cameBackLocked(intent)
		if intent == Secondary {
			// It shows as SECONDARY at once; its primary comes when it comes.
			g.role = Secondary
		}
		g.broadcastLocked()
	}
	g.mu.Unlock()
	closeStreams(streams)
	if intent == Resolving {
		g.disconnectAll()
	}
	return err
}

// disconnectAll ends the connections that are in the group's databases: they do not outlive a change of role.
func (g *Group) disconnectAll() {
	for id, name := range g.copyNames() {
		g.host.Disconnect(name)
		if db := g.host.Database(name); db != nil {
			db.BreakOff(g.notInRole(id))
		}
	}
}
