// SPDX-License-Identifier: Apache-2.0

package group

import "github.com/google/uuid"

// Acceptor is what a replica has to remember of the protocol. It must be on disk before any answer leaves the replica.
type Acceptor struct {
	// Promised is the newest epoch that was promised or accepted.
	Promised uint32 `json:"promised"`
	// Accepted is the newest configuration; nil before the replica joined.
	Accepted *Configuration `json:"accepted"`
}

// Prepare promises an epoch if it is newer than all before. Equal is not newer: an epoch has one primary at most.
func (a *Acceptor) Prepare(epoch uint32) bool {
	if epoch <= a.Promised {
		return false
	}
	a.Promised = epoch
	return true
}

// Accept takes a configuration of the promised epoch or a newer one. It tells whether the acceptor now has that
// configuration, or a newer one of the same epoch.
func (a *Acceptor) Accept(c *Configuration) bool {
	epoch := c.Epoch()
	if epoch < a.Promised {
		return false
	}
	a.Promised = epoch
	if a.Accepted == nil || a.Accepted.Sequence < c.Sequence {
		a.Accepted = c
	}
	return true
}

// Promise is a voter's answer to Prepare.
type Promise struct {
	From uuid.UUID `json:"from"`
	// Granted is false when a newer epoch (Promised) was promised already.
	Granted  bool           `json:"granted"`
	Promised uint32         `json:"promised"`
	Accepted *Configuration `json:"accepted"`
}

// Newest is the newest configuration among promises and the own one; nil when there is none.
func Newest(own *Configuration, promises []Promise) *Configuration {
	newest := own
	for _, p := range promises {
		if p.Accepted != nil && (newest == nil || p.Accepted.Sequence > newest.Sequence) {
			newest = p.Accepted
		}
	}
	return newest
}

// Elected tells whether the promises are from a majority of the voters of the newest configuration among them, which it
// returns. Promises that were refused count for what they tell, not as votes.
func Elected(own *Configuration, promises []Promise) (*Configuration, bool) {
	newest := Newest(own, promises)
	if newest == nil {
		return nil, false
	}
	return newest, Majority(newest.Voters(), func(id uuid.UUID) bool {
		for _, p := range promises {
			if p.From == id && p.Granted {
				return true
			}
		}
		return false
	})
}

// Committed tells whether enough voters have accepted next, which replaces old: a majority of the voters of either.
// accepted tells the sequence number that a replica has accepted in next's epoch.
func Committed(old, next *Configuration, accepted func(uuid.UUID) uint64) bool {
	yes := func(id uuid.UUID) bool { return accepted(id) >= next.Sequence }
	return Majority(old.Voters(), yes) && Majority(next.Voters(), yes)
}

// Promotion makes the configuration that a replica commits first in its epoch: itself as primary, nobody else
// synchronized yet.
func Promotion(newest *Configuration, self uuid.UUID, epoch uint32) *Configuration {
	c := newest.Clone()
	c.Sequence = First(epoch)
	c.Primary = self
	for i := range c.Databases {
		c.Databases[i].Synchronized = nil
	}
	return c
}

// Forced makes the configuration of a forced failover: replicas that did not answer vote no more until they are back.
func Forced(newest *Configuration, self uuid.UUID, epoch uint32, answered func(uuid.UUID) bool) *Configuration {
	c := Promotion(newest, self, epoch)
	c.Forced = epoch
	for i := range c.Replicas {
		r := &c.Replicas[i]
		r.Joined = r.ID == self || (r.Joined && answered(r.ID))
	}
	return c
}
