// SPDX-License-Identifier: Apache-2.0

package group_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/standin/hadr/group"
)

// world is a group of simulated replicas that write to one database: a log of numbered writes at each replica, an
// acknowledgement when the primary and every replica that its configurations call synchronized have the write on disk.
// Messages are delivered, lost or delayed as the test draws.
type world struct {
	t        *rapid.T
	g        *WithT
	nodes    []*node
	cut      map[[2]int]bool
	acked    []string
	versions map[uint64]string
	// primaries are the committed primaries by epoch.
	primaries map[uint32]uuid.UUID
	writes    int
}

// node is one replica; the fields of disk survive a crash.
type node struct {
	id   uuid.UUID
	disk struct {
		acceptor group.Acceptor
		log      []string
	}
	primary bool
	epoch   uint32
	// committed and proposed are the primary's configurations; gating are the replicas it waits for in advance.
	committed, proposed *group.Configuration
	accepts             map[uuid.UUID]uint64
	gating              map[uuid.UUID]bool
	hardened            map[uuid.UUID]int
	pending             []string
}

func newWorld(t *rapid.T, g *WithT, members int) *world {
	w := &world{t: t, g: g, cut: map[[2]int]bool{}, versions: map[uint64]string{}, primaries: map[uint32]uuid.UUID{}}
	c := &group.Configuration{
		ID:        uuid.New(),
		Sequence:  group.First(1),
		Options:   group.Options{ClusterType: group.External},
		Databases: []group.Database{{ID: uuid.New()}},
	}
	for i := range members {
		n := &node{id: uuid.New()}
		mode := group.Synchronous
		if i == 2 && members == 3 && rapid.Bool().Draw(t, "configuration-only") {
			mode = group.ConfigurationOnly
		}
		c.Replicas = append(c.Replicas, group.Replica{ID: n.id, Mode: mode, Joined: true})
		w.nodes = append(w.nodes, n)
	}
	c.Primary = w.nodes[0].id
	for _, n := range w.nodes {
		n.disk.acceptor = group.Acceptor{Promised: 1, Accepted: c.Clone()}
	}
	w.nodes[0].lead(1, c.Clone())
	w.note(c)
	return w
}

func (n *node) lead(epoch uint32, c *group.Configuration) {
	n.primary, n.epoch, n.committed, n.proposed = true, epoch, c, nil
	n.accepts, n.gating, n.hardened = map[uuid.UUID]uint64{}, map[uuid.UUID]bool{}, map[uuid.UUID]int{}
}

func (n *node) stepDown() { n.primary, n.pending = false, nil }

// note records a committed configuration and checks that no other has its number.
func (w *world) note(c *group.Configuration) {
	data, _ := json.Marshal(c)
	if old, ok := w.versions[c.Sequence]; ok {
		w.g.Expect(string(data)).To(Equal(old), "two committed configurations with the number %x", c.Sequence)
	}
	w.versions[c.Sequence] = string(data)
	if p, ok := w.primaries[c.Epoch()]; ok {
		w.g.Expect(c.Primary).To(Equal(p), "two primaries in epoch %d", c.Epoch())
	}
	w.primaries[c.Epoch()] = c.Primary
}

// reaches draws whether a message from a to b arrives.
func (w *world) reaches(a, b int) bool {
	return a == b || (!w.cut[[2]int{a, b}] && rapid.IntRange(0, 9).Draw(w.t, "delivery") > 0)
}

// replicate is one round of the primary's messages: configuration and log, with answers that may be lost.
func (w *world) replicate(p int) {
	n := w.nodes[p]
	newest := n.committed
	if n.proposed != nil {
		newest = n.proposed
	}
	for i, peer := range w.nodes {
		if i == p || !w.reaches(p, i) {
			continue
		}
		ok := peer.disk.acceptor.Accept(newest.Clone())
		if ok && peer.primary && peer.epoch < n.epoch {
			peer.stepDown()
		}
		if ok && newest.Replica(peer.id).Data() {
			// A secondary takes the primary's log, and takes back what it alone had.
			peer.disk.log = slices.Clone(n.disk.log)
		}
		if !w.reaches(i, p) {
			continue
		}
		if !ok {
			n.stepDown()
			return
		}
		n.accepts[peer.id] = newest.Sequence
		if newest.Replica(peer.id).Data() {
			n.hardened[peer.id] = len(peer.disk.log)
		}
	}
	n.accepts[n.id] = newest.Sequence
	if n.proposed != nil && group.Committed(n.committed, n.proposed, func(id uuid.UUID) uint64 { return n.accepts[id] }) {
		n.committed, n.proposed = n.proposed, nil
		w.note(n.committed)
	}
	w.acknowledge(n)
}

// acknowledge answers the writes that everybody who counts has.
func (w *world) acknowledge(n *node) {
	for _, write := range n.pending {
		at := slices.Index(n.disk.log, write) + 1
		for _, r := range n.committed.Replicas {
			counts := slices.Contains(n.committed.Databases[0].Synchronized, r.ID) || n.gating[r.ID]
			if n.proposed != nil && slices.Contains(n.proposed.Databases[0].Synchronized, r.ID) {
				counts = true
			}
			if counts && r.ID != n.id && n.hardened[r.ID] < at {
				return
			}
		}
		w.acked = append(w.acked, write)
		n.pending = n.pending[1:]
	}
}

func (w *world) write(p int) {
	n := w.nodes[p]
	w.writes++
	write := fmt.Sprintf("%d by %d in %d", w.writes, p, n.epoch)
	n.disk.log = append(n.disk.log, write)
	n.pending = append(n.pending, write)
	w.acknowledge(n)
}

// mark proposes to call a secondary synchronized, or no longer so.
func (w *world) mark(p, s int) {
	n := w.nodes[p]
	if n.proposed != nil || p == s || !n.committed.Replicas[s].Data() {
		return
	}
	id := w.nodes[s].id
	next := n.committed.Clone()
	next.Sequence++
	d := &next.Databases[0]
	if i := slices.Index(d.Synchronized, id); i >= 0 {
		d.Synchronized = slices.Delete(d.Synchronized, i, i+1)
		n.gating[id] = false
	} else {
		if !n.gating[id] {
			n.gating[id] = true
			return
		}
		if n.hardened[id] < len(n.disk.log) {
			return
		}
		d.Synchronized = append(d.Synchronized, id)
	}
	n.proposed = next
	n.disk.acceptor.Accept(next.Clone())
}

// failover tries to make a replica primary.
func (w *world) failover(x int) {
	n := w.nodes[x]
	epoch := n.disk.acceptor.Promised + uint32(rapid.IntRange(1, 2).Draw(w.t, "epoch step"))
	n.stepDown()
	var promises []group.Promise
	for i, peer := range w.nodes {
		if !w.reaches(x, i) {
			continue
		}
		ok := peer.disk.acceptor.Prepare(epoch)
		if ok && i != x {
			peer.stepDown()
		}
		if w.reaches(i, x) {
			promises = append(
				promises,
				group.Promise{
					From:     peer.id,
					Granted:  ok,
					Promised: peer.disk.acceptor.Promised,
					Accepted: peer.disk.acceptor.Accepted,
				},
			)
		}
	}
	newest, ok := group.Elected(n.disk.acceptor.Accepted, promises)
	r := newest.Replica(n.id)
	if !ok || !r.Data() || !newest.SynchronizedAt(n.id) || n.disk.acceptor.Promised != epoch {
		return
	}
	c := group.Promotion(newest, n.id, epoch)
	n.disk.acceptor.Accept(c.Clone())
	// Until the promotion is committed it leads nothing: the round decides.
	votes := map[uuid.UUID]bool{n.id: true}
	for i, peer := range w.nodes {
		if i != x && w.reaches(x, i) && peer.disk.acceptor.Accept(c.Clone()) && w.reaches(i, x) {
			votes[peer.id] = true
		}
	}
	if group.Majority(newest.Voters(), func(id uuid.UUID) bool { return votes[id] }) {
		w.note(c)
		n.lead(epoch, c)
	}
}

// check: whoever could be promoted losslessly, or is primary of the newest epoch, has all acknowledged writes.
func (w *world) check() {
	for i, n := range w.nodes {
		if !n.primary {
			continue
		}
		newest := true
		for e := range w.primaries {
			newest = newest && e <= n.epoch
		}
		if !newest {
			continue
		}
		for _, a := range w.acked {
			w.g.Expect(n.disk.log).To(ContainElement(a), "primary %d of epoch %d lacks an acknowledged write", i, n.epoch)
		}
	}
}

// TestAgreement: with messages lost, partitions, crashes and failovers at any time there are never two committed
// configurations with one number, never two primaries of one epoch, and no acknowledged write is missing at the
// primary of the newest epoch.
func TestAgreement(t *testing.T) {
	acked := 0
	rapid.Check(t, func(rt *rapid.T) {
		g := NewWithT(rt)
		members := rapid.SampledFrom([]int{3, 3, 5}).Draw(rt, "replicas")
		w := newWorld(rt, g, members)
		pick := func(label string) int { return rapid.IntRange(0, members-1).Draw(rt, label) }
		for range rapid.IntRange(20, 150).Draw(rt, "steps") {
			switch rapid.IntRange(0, 13).Draw(rt, "step") {
			case 0, 1, 2, 3, 4:
				for i, n := range w.nodes {
					if n.primary {
						w.replicate(i)
					}
				}
			case 5, 6:
				for i, n := range w.nodes {
					if n.primary {
						w.write(i)
					}
				}
			case 7, 8, 9:
				s := pick("secondary")
				for i, n := range w.nodes {
					if n.primary {
						w.mark(i, s)
					}
				}
			case 10:
				w.failover(pick("target"))
			case 11:
				// A crash: what is not on disk is gone, and the replica is RESOLVING.
				w.nodes[pick("crash")].stepDown()
			case 12:
				w.cut[[2]int{pick("from"), pick("to")}] = true
			case 13:
				clear(w.cut)
			}
			w.check()
		}
		acked += len(w.acked)
	})
	if acked == 0 {
		t.Fatal("no write was ever acknowledged: the test shows nothing")
	}
	t.Logf("%d acknowledged writes", acked)
}

func TestAnEpochHasOnePrimary(t *testing.T) {
	g := NewWithT(t)
	a := group.Acceptor{Promised: 3}
	g.Expect(a.Prepare(3)).To(BeFalse())
	g.Expect(a.Prepare(4)).To(BeTrue())
	g.Expect(a.Accept(&group.Configuration{Sequence: group.First(3) + 7})).To(BeFalse())
	g.Expect(a.Accept(&group.Configuration{Sequence: group.First(4)})).To(BeTrue())
	g.Expect(a.Accepted.Sequence).To(Equal(uint64(4<<32 | 1)))
}

func TestOnlyJoinedReplicasVote(t *testing.T) {
	g := NewWithT(t)
	p, s, q, asy := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	c := &group.Configuration{Primary: p, Options: group.Options{ClusterType: group.External}, Replicas: []group.Replica{
		{ID: p, Mode: group.Synchronous, Joined: true}, {ID: s, Mode: group.Synchronous},
		{ID: q, Mode: group.ConfigurationOnly, Joined: true}, {ID: asy, Mode: group.Asynchronous, Joined: true}}}
	g.Expect(c.Voters()).To(Equal([]uuid.UUID{p, q}))
	c.Options.ClusterType = group.None
	g.Expect(c.Voters()).To(Equal([]uuid.UUID{p}))
}
