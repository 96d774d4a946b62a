// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
)

// goes plans and does until something is so.
func (w *backupWorld) goes(t fatal, until func() bool) {
	t.Helper()
	for range 100 {
		if until() {
			return
		}
		w.o.Now = w.o.Now.Add(time.Second)
		o := w.look()
		p := plan(w.d, o)
		w.d.Subscription.Status.Initialization, w.d.Subscription.Status.Copy = initialization(w.d, o, p), progress(w.d, o)
		for _, s := range p.All() {
			_ = w.does(t, s)
			if until() {
				return
			}
		}
		if len(p.All()) == 0 {
			w.happens()
		}
	}
	t.Fatalf("it never comes so far: %+v", w.o.Backup)
}

// moments at which a subscription that begins with a backup may be deleted.
func (w *backupWorld) moments() map[string]func() bool {
	b := &w.o.Backup
	stamp := func() string {
		if r := b.Readers[publisher]; r != nil {
			return r.Backup
		}
		return ""
	}
	return map[string]func() bool{
		"the publisher's sidecar is told":  func() bool { return len(b.Readers) > 0 },
		"the folder is there":              func() bool { return b.made(publisher, stamp()) },
		"the backup is taken":              w.taken,
		"the subscriber's sidecar is told": func() bool { return b.Told != nil },
		"the backup has come":              func() bool { return b.arrived(stamp()) },
		"it is being restored": func() bool {
			if !b.arrived(stamp()) {
				return false
			}
			w.place("RESTORING", w.d.mark(markedBy(b.Readers[publisher]))+"-1.mdf")
			return true
		},
		"it is restored":   func() bool { return w.restored != "" },
		"it is registered": func() bool { return len(w.o.registrations(w.d)) > 0 },
	}
}

// deletes asks for the deletion.
func (w *backupWorld) deletes(policy v1alpha1.ReclaimPolicy) {
	w.d.Subscription.Spec.ReclaimPolicy = policy
	w.d.Subscription.DeletionTimestamp = &metav1.Time{Time: w.o.Now}
	w.d.Holders = sites.GoneFor(nobodyGone())
	w.d.Gone = w.d.Holders
}

// nobodyGone are the servers, all of which are expected back.
func nobodyGone() map[v1alpha1.ServerName]string {
	return map[v1alpha1.ServerName]string{distributor: "", publisher: "", secondary: "", subscriber: ""}
}

// unpublished is what is read once the Publication is not declared any more.
func (w *backupWorld) unpublished() (Desired, Observed) {
	d := w.d
	d.Publication, d.System, d.Publisher, d.Missing = nil, replication.System{}, replication.Party{},
		[]string{"Publication articles"}
	o := Observed{Now: w.o.Now, Guards: w.o.Guards, Backup: w.look().Backup,
		Servers: map[v1alpha1.ServerName]replication.Server{subscriber: w.o.Servers[subscriber]}}
	return d, o
}

// ends carries a deletion out, and returns the plan that ended it.
func (w *backupWorld) ends(t fatal, published bool, most func() int) reconcile.Plan {
	t.Helper()
	var p reconcile.Plan
	for range 400 {
		w.o.Now = w.o.Now.Add(time.Second)
		if p = planDelete(w.d, w.look()); !published {
			p = planDelete(w.unpublished())
		}
		n := most()
		for i, s := range p.All() {
			if i == n {
				break
			}
			_ = w.does(t, s)
		}
		if p.Done && n >= len(p.All()) {
			return p
		}
		if len(p.All()) == 0 {
			w.happens()
		}
	}
	t.Fatalf("the deletion does not end: %s; %+v", p.Outcome.Message, w.o.Backup)
	return p
}

// leavesNothing finds what a deletion has left.
func (w *backupWorld) leavesNothing(t fatal, p reconcile.Plan) {
	t.Helper()
	if w.o.Backup.ordered() || w.taken() || len(w.brought) > 0 {
		t.Fatalf("left: %v, %v, %+v", w.sets, w.brought, w.o.Backup)
	}
	places, err := w.o.Backup.Places.Get()
	switch {
	case err != nil:
		t.Fatalf("%v", err)
	case places == nil:
	case places.State != "ONLINE":
		t.Fatalf("the database is left %s", places.State)
	case len(w.o.registrations(w.d)) == 0 && len(w.o.Here.Subscriptions) == 0 && !w.d.served() && len(p.Left) == 0:
		t.Fatalf("nobody says that the database is left")
	}
}

// Whenever a Subscription is deleted that is on its way to begin with a backup, whatever its policy is, and whether its
// Publication is declared or not, what was begun ends: orders, files and what was being restored.
func TestADeletionEndsWhatWasBegunOfABackup(t *testing.T) {
	t.Parallel()
	for moment := range newBackupWorld(declared()).moments() {
		for name, c := range map[string]struct {
			policy    v1alpha1.ReclaimPolicy
			published bool
		}{
			"Retain": {v1alpha1.ReclaimRetain, true}, "Delete": {v1alpha1.ReclaimDelete, true},
			"Retain, unpublished": {v1alpha1.ReclaimRetain, false}, "Delete, unpublished": {v1alpha1.ReclaimDelete, false},
		} {
			t.Run(moment+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newBackupWorld(declared())
				w.goes(t, w.moments()[moment])
				w.d.Subscription.Status.Copy = progress(w.d, w.look())
				w.deletes(c.policy)
				p := w.ends(t, c.published, all)
				w.leavesNothing(t, p)
				g := NewWithT(t)
				g.Expect(w.aside).To(BeEmpty())
				places, _ := w.o.Backup.Places.Get()
				g.Expect(places != nil).To(Equal(moment == "it is restored" || moment == "it is registered"), "%v", places)
				if moment == "it is restored" {
					g.Expect(p.Left).To(ContainElement(ContainSubstring("restored from a backup")))
				}
				registered := moment == "it is registered" && (c.policy == v1alpha1.ReclaimRetain || !c.published)
				g.Expect(len(w.o.Publication.Subscriptions) > 0).To(Equal(registered))
			})
		}
	}
}

// It is so wherever the process ends, before and while it is deleted.
func TestADeletionEndsWhatWasBegunWheneverTheProcessEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := declared()
		if rapid.Bool().Draw(t, "push") {
			d = push(v1alpha1.AgentAtDistributor)
		}
		w := newBackupWorld(d)
		most := crashes(t)
		for range rapid.IntRange(0, 40).Draw(t, "looks before") {
			w.o.Now = w.o.Now.Add(time.Second)
			o := w.look()
			p := plan(w.d, o)
			status := &w.d.Subscription.Status
			n := most()
			for i, s := range p.All() {
				if i == n {
					break
				}
				_ = w.does(t, s)
			}
			if n >= len(p.All()) {
				// What a process that ends has not reported is not known.
				status.Initialization, status.Copy = initialization(w.d, o, p), progress(w.d, o)
			}
			if rapid.Bool().Draw(t, "sidecars go on") {
				w.happens()
			}
		}
		w.deletes(rapid.SampledFrom([]v1alpha1.ReclaimPolicy{v1alpha1.ReclaimRetain, v1alpha1.ReclaimDelete}).
			Draw(t, "policy"))
		published := rapid.Bool().Draw(t, "published") || !w.d.noted()
		p := w.ends(t, published, crashes(t))
		w.leavesNothing(t, p)
		if len(w.aside) > 0 {
			t.Fatalf("renamed: %q", w.aside)
		}
	})
}

// Servers that do not answer are waited for, unless nobody expects them back; a sidecar that answers and says nothing
// is for a while.
func TestADeletionWaitsForSidecars(t *testing.T) {
	t.Parallel()
	away := errors.New("no route to host")
	lost := func(w *backupWorld, server v1alpha1.ServerName) {
		why := nobodyGone()
		why[server] = "Site tukwila is declared lost"
		w.d.Holders = sites.GoneFor(why)
		w.d.Gone = w.d.Holders
	}
	for name, c := range map[string]struct {
		change func(w *backupWorld)
		waits  string
		left   string
	}{
		"the orders of a server are not known": {func(w *backupWorld) {
			w.o.Backup.Looked, w.o.Backup.Unread = false, map[v1alpha1.ServerName]error{secondary: away}
		}, "delete SQLServer quisec", ""},
		"those of the subscriber are not": {func(w *backupWorld) {
			w.o.Backup.Looked, w.o.Backup.Err = false, away
		}, "delete SQLServer dubsub", ""},
		"what the publisher's sidecar says is not known": {func(w *backupWorld) {
			w.o.Backup.Sent, w.o.Backup.SentErr = nil, map[v1alpha1.ServerName]error{publisher: away}
		}, "delete SQLServer tukpub", ""},
		"what the subscriber's says is not": {func(w *backupWorld) {
			w.o.Backup.Readers, w.o.Backup.Mirror, w.o.Backup.MirrorErr = nil, nil, away
		}, "delete SQLServer dubsub", ""},
		"a server that nobody expects": {func(w *backupWorld) {
			lost(w, publisher)
			w.o.Backup.Told, w.o.Backup.Sent, w.o.Backup.SentErr = nil, nil, map[v1alpha1.ServerName]error{publisher: away}
		}, "", "tukpub-0 the backup below"},
		"one whose orders are not known": {func(w *backupWorld) {
			lost(w, publisher)
			w.o.Backup.Told, w.o.Backup.Readers = nil, nil
			w.o.Backup.Lost = map[v1alpha1.ServerName]string{publisher: "Site tukwila is declared lost"}
		}, "", "(Site tukwila is declared lost)"},
		"a sidecar that says nothing yet": {func(w *backupWorld) {
			w.o.Backup.Told, w.o.Backup.Sent = nil, nil
		}, "removes the files of the backup", ""},
		"a sidecar that never says anything": {func(w *backupWorld) {
			w.o.Backup.Told, w.o.Backup.Sent, w.o.Now = nil, nil, w.o.Now.Add(time.Hour)
		}, "", "tukpub-0 the backup below"},
		"a sidecar that has not begun to remove a mirror": {func(w *backupWorld) {
			w.o.Backup.Readers, w.o.Backup.Mirror = nil, &files.Status{State: files.Waiting}
		}, "removes the files of the backup", ""},
		"a sidecar that knows no end of a mirror": {func(w *backupWorld) {
			w.o.Backup.Readers, w.o.Backup.Mirror = nil, &files.Status{State: files.Waiting}
			w.o.Now = w.o.Now.Add(time.Hour)
		}, "", "dubsub-0 the backup below"},
		"where the database is, is not known": {func(w *backupWorld) {
			w.o.Backup.Told, w.o.Backup.Readers = nil, nil
			w.o.Backup.Places = reconcile.NotRead[*mssql.DatabasePlaces](away)
		}, "delete SQLServer dubsub", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()["the backup has come"])
			w.deletes(v1alpha1.ReclaimRetain)
			w.o.Backup.Readers = map[v1alpha1.ServerName]*orders.Reader{publisher: ended(w.o.Backup.Readers[publisher])}
			w.o.Backup.Told = w.d.noMirror(w.o.Backup.Told)
			w.o.Backup.Mirror = &files.Status{State: files.Removed}
			w.o.Backup.Sent = map[v1alpha1.ServerName]*files.Status{publisher: {State: files.Removed}}
			c.change(w)
			p := planDelete(w.d, w.look())
			if c.waits != "" {
				for range 3 {
					if p.Outcome.Message != "" && len(p.Steps) == 0 {
						break
					}
					for _, s := range p.Steps {
						_ = w.does(t, s)
					}
					p = planDelete(w.d, w.look())
				}
				g.Expect(p.Done).To(BeFalse())
				g.Expect(p.Outcome.Message).To(And(ContainSubstring("deletion waits"), ContainSubstring(c.waits)))
				return
			}
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
			g.Expect(p.Left).To(ConsistOf(ContainSubstring(c.left)))
		})
	}
}

// A copy that was to be the second ends like a first one: it takes writes, and one that is RESTORING goes.
func TestADeletionEndsWhatWasBegunOfASecondBackup(t *testing.T) {
	t.Parallel()
	for _, policy := range []v1alpha1.ReclaimPolicy{v1alpha1.ReclaimRetain, v1alpha1.ReclaimDelete} {
		for _, moment := range []string{"it is restored", "it is being restored"} {
			t.Run(moment+"/"+string(policy), func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				w := begunWithBackup(t, declared())
				w.unregister(false)
				w.d.Subscription.Spec.Reinitialization, w.restored = v1alpha1.ReinitializeAutomatic, ""
				w.o.Now = w.o.Now.Add(time.Hour)
				w.goes(t, w.moments()[moment])
				w.seal(moment == "it is restored")
				w.d.Subscription.Status.Copy = progress(w.d, w.look())
				g.Expect(w.d.Subscription.Status.Copy).To(And(HaveField("Again", true), HaveField("Backup", Not(BeEmpty()))))
				w.deletes(policy)
				p := w.ends(t, true, all)
				w.leavesNothing(t, p)
				g.Expect(w.o.sealed(w.d)).To(BeFalse())
				places, _ := w.o.Backup.Places.Get()
				g.Expect(places != nil).To(Equal(moment == "it is restored"))
				if moment == "it is restored" {
					g.Expect(w.aside).To(HaveLen(1), "what was delivered first is kept")
				}
			})
		}
	}
}

// Whoever needs the copy writes it whatever other servers are away: its own engine is all that takes.
func TestACopyTakesWritesWhileItsDeletionWaits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *Backup){
		"the orders of a server are not known": func(b *Backup) {
			b.Looked, b.Unread = false, map[v1alpha1.ServerName]error{secondary: errAway}
		},
		"those of the subscriber are not":      func(b *Backup) { b.Looked, b.Err = false, errAway },
		"an order can be read and not written": func(*Backup) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()["it is restored"])
			w.d.Subscription.Status.Copy = progress(w.d, w.look())
			w.deletes(v1alpha1.ReclaimRetain)
			change(&w.o.Backup)
			p := planDelete(w.d, w.look())
			g.Expect(p.Done).To(BeFalse())
			_ = reconcile.WithAside(t.Context(), p, func(_ context.Context, s replication.Step) error {
				return w.does(t, s)
			}, func() error { return errAway })
			g.Expect(w.o.sealed(w.d)).To(BeFalse())
			g.Expect(planDelete(w.d, w.look()).Done).To(BeFalse(), "the rest is waited for")
		})
	}
}

// What an unfinished restore has left is dropped when none goes on any more, and not before.
func TestADeletionWaitsForARestore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.goes(t, w.moments()["it is being restored"])
	w.deletes(v1alpha1.ReclaimRetain)
	w.restoring = true
	for range 10 {
		p := planDelete(w.d, w.look())
		g.Expect(p.Done).To(BeFalse())
		for _, s := range p.Steps {
			_ = w.does(t, s)
		}
		w.happens()
	}
	g.Expect(w.o.Backup.ordered()).To(BeFalse(), "the rest ends meanwhile")
	g.Expect(planDelete(w.d, w.look()).Outcome.Message).To(ContainSubstring("a restore goes on at dubsub-0"))
	w.restoring = false
	w.leavesNothing(t, w.ends(t, true, all))
	g.Expect(w.databaseDropped).To(BeTrue())
}

// A database of the name that somebody else restores is no affair of the deletion.
func TestADeletionLeavesDatabasesOfOthers(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"a person's":              "Content.mdf",
		"of another Subscription": "geosql-other-20261101000000-1.mdf",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()["the backup is taken"])
			w.d.Subscription.Status.Copy = progress(w.d, w.look())
			w.place("RESTORING", file)
			w.deletes(v1alpha1.ReclaimDelete)
			p := w.ends(t, false, all)
			g.Expect(w.databaseDropped).To(BeFalse())
			g.Expect(w.o.Backup.ordered()).To(BeFalse())
			g.Expect(p.Left).To(ConsistOf(ContainSubstring("Publication articles")))
		})
	}
}

// Where another method is declared meanwhile what was begun ends, and that one goes on.
func TestAnotherMethodEndsABackup(t *testing.T) {
	t.Parallel()
	for moment := range newBackupWorld(declared()).moments() {
		if moment == "it is restored" || moment == "it is registered" {
			continue
		}
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()[moment])
			w.d.Subscription.Status.Copy = progress(w.d, w.look())
			w.d.Subscription.Spec.Initialization = nil
			w.restoring = moment == "it is being restored"
			if w.restoring {
				g.Expect(plan(w.d, w.look()).Outcome.Message).To(ContainSubstring("a restore goes on"))
				w.restoring = false
			}
			w.goes(t, func() bool { return !w.o.Backup.ordered() && len(w.o.Publication.Subscriptions) > 0 })
			w.d.Subscription.Status.Copy = progress(w.d, w.look())
			g.Expect(w.taken()).To(BeFalse())
			g.Expect(w.brought).To(BeEmpty())
			g.Expect(w.d.Subscription.Status.Copy.Backup).To(BeEmpty())
			g.Expect(w.databaseDropped).To(Equal(moment == "it is being restored"))
		})
	}
}

// Backups on a former primary go, and what the subscriber has brought from it, before it brings another one.
func TestAFailoverLeavesNoFiles(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"the folder is there", "the backup is taken", "the subscriber's sidecar is told",
		"the backup has come", "it is being restored"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()[moment])
			for server, role := range map[v1alpha1.ServerName]string{publisher: "SECONDARY", secondary: "PRIMARY"} {
				s := w.o.Servers[server]
				s.Role = role
				w.o.Servers[server] = s
			}
			w.o.Servers[secondary].State.Databases["content"] = w.o.Servers[publisher].State.Databases["content"]
			w.reads()
			w.goes(t, func() bool {
				r := w.o.Backup.Readers[secondary]
				return r != nil && w.o.Backup.arrived(r.Backup)
			})
			g.Expect(w.brought).To(HaveLen(1), "what came from the former primary is gone before")
			g.Expect(w.sets[publisher]).To(BeEmpty())
			g.Expect(w.sets[secondary]).To(HaveLen(1))
		})
	}
}
