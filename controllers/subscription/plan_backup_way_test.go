// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// begunWithBackup is a subscription that has begun with a backup, and delivers.
func begunWithBackup(t *testing.T, d Desired) *backupWorld {
	t.Helper()
	w := newBackupWorld(d)
	p, done := w.settles(t, all)
	NewWithT(t).Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
	return w
}

// unregister has the publisher forget the subscription, and the subscriber, too, unless told otherwise.
func (w *backupWorld) unregister(leftover bool) {
	w.o.Publication.Subscriptions, w.o.Agent = nil, nil
	if !leftover {
		w.o.Here.Subscriptions, w.o.Here.Distributor = nil, ""
	}
}

// agreed lets everybody agree to everything that there is a word for.
func agreed(d Desired) {
	d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true",
		v1alpha1.ReinitializeAnnotation: string(d.Subscription.UID) + "/1"}
	d.Subscription.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
}

// The stream of a subscription that began with a backup goes on when another type is declared, whatever is agreed to:
// nothing is ended, and nothing renamed.
func TestAnotherTypeEndsNoSubscriptionThatBeganWithABackup(t *testing.T) {
	t.Parallel()
	change := func(d Desired, kind v1alpha1.SubscriptionType) Desired {
		d.Subscription = d.Subscription.DeepCopy()
		d.Subscription.Spec.Type, d.Subscription.Spec.AgentAt = kind, ""
		return d
	}
	for name, c := range map[string]struct {
		at   v1alpha1.AgentPlace
		kind v1alpha1.SubscriptionType
	}{
		"pull to push":                    {"", v1alpha1.SubscriptionPush},
		"push to pull":                    {"", v1alpha1.SubscriptionPull},
		"push to pull, at the subscriber": {v1alpha1.AgentAtSubscriber, v1alpha1.SubscriptionPull},
	} {
		for _, tables := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				d := declared()
				if c.kind == v1alpha1.SubscriptionPull {
					d = push(c.at)
				}
				w := begunWithBackup(t, d)
				before := *w.o.Publication
				w.d = change(w.d, c.kind)
				agreed(w.d)
				if !tables {
					w.o.Here.Tables = map[string]mssql.Table{}
				}
				p, done := w.settles(t, all)
				g.Expect(done).NotTo(ContainElement(Or(ContainSubstring("sp_drop"), ContainSubstring("MODIFY NAME"),
					ContainSubstring("BACKUP"), ContainSubstring("sp_subscription_cleanup"))))
				g.Expect(w.o.Publication.Subscriptions).To(Equal(before.Subscriptions))
				g.Expect(w.aside).To(BeEmpty())
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
				g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
				g.Expect(p.Outcome.Message).To(And(ContainSubstring("goes on so"), ContainSubstring("delete the Subscription")))
				w.d = change(w.d, map[v1alpha1.SubscriptionType]v1alpha1.SubscriptionType{
					v1alpha1.SubscriptionPush: v1alpha1.SubscriptionPull,
					v1alpha1.SubscriptionPull: v1alpha1.SubscriptionPush}[c.kind])
				w.settles(t, all)
				g.Expect(w.o.Publication.Subscriptions).To(Equal(before.Subscriptions))
			})
		}
	}
}

// What a person has agreed to before the first registration is no consent once people use the database: a registration
// that was lost has it renamed only where tables of the articles alone may be replaced.
func TestALostRegistrationRenamesNoDatabase(t *testing.T) {
	t.Parallel()
	view := mssql.UserObject{Kind: "view", Name: "dbo.Newest"}
	for name, c := range map[string]struct {
		change  func(w *backupWorld)
		renamed bool
	}{
		"adopted": {func(w *backupWorld) {
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
		}, false},
		"automatic": {func(w *backupWorld) {
			w.d.Subscription.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
		}, true},
		"automatic, of the publication": {func(w *backupWorld) {
			w.d.Publication.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
		}, true},
		"asked for": {func(w *backupWorld) {
			w.d.Subscription.Annotations = map[string]string{v1alpha1.ReinitializeAnnotation: "6f9619ff/1"}
		}, true},
		"the publication is made anew": {func(w *backupWorld) {
			w.d.Publication.Annotations = map[string]string{v1alpha1.RebuildAnnotation: "true"}
		}, true},
		"automatic, with procedures of the agent": {func(w *backupWorld) {
			w.d.Subscription.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
			w.objects = []mssql.UserObject{{Kind: "sql_stored_procedure", Name: "dbo.sp_MSins_dboArticle"}}
		}, true},
		"everything, with a view": {func(w *backupWorld) { agreed(w.d); w.objects = []mssql.UserObject{view} }, false},
		"everything, with a table": {func(w *backupWorld) {
			agreed(w.d)
			w.o.Here.Tables["dbo.own"] = mssql.Table{Schema: "dbo", Name: "Own"}
		}, false},
		"nothing": {func(*backupWorld) {}, false},
	} {
		for _, leftover := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				w := begunWithBackup(t, declared())
				w.unregister(leftover)
				c.change(w)
				p, done := w.settles(t, all)
				if c.renamed {
					g.Expect(w.aside).To(HaveLen(1), "%s after %q", p.Outcome.Message, done)
					g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
					return
				}
				g.Expect(w.aside).To(BeEmpty())
				g.Expect(w.o.Publication.Subscriptions).To(BeEmpty())
				g.Expect(w.taken()).To(BeFalse())
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
				g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
			})
		}
	}
}

// What the agent of a leftover subscription of its own has left is no word of somebody else who feeds the database.
func TestALeftoverOfItsOwnFeedsNobody(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.place("ONLINE", "Content.mdf")
	w.o.Here.Subscriptions = []mssql.SubscriptionHere{{Publisher: "tukpub-0", PublisherDatabase: "Content",
		Publication: "articles"}}
	w.o.Here.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article"}
	p, _ := w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReinitializationNeeded), p.Outcome.Message)
	w.d.Subscription.Spec.Reinitialization = v1alpha1.ReinitializeAutomatic
	p, _ = w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
	g.Expect(w.aside).To(HaveLen(1))
}

// notes has the status tell of a copy of a backup that nobody has written it.
func (w *backupWorld) notes(stamp string) {
	now := metav1.NewTime(w.o.Now)
	w.d.Subscription.Status.Copy = &v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopyApply, Backup: stamp, Started: &now,
		PhaseStarted: &now, Unwritten: fmt.Sprintf("%s log-%d", stamp, w.log)}
}

// What an earlier attempt has restored is dropped before another one is, and never renamed; not while it is being
// restored, nor once it takes writes: rows of somebody may be there then, and nothing is taken before a person agrees.
func TestACopyOfAnEarlierBackupMakesWay(t *testing.T) {
	t.Parallel()
	stale := func(state string) *backupWorld {
		w := newBackupWorld(declared())
		w.place(state, w.d.mark("20261101000000")+"-1.mdf")
		if state == "ONLINE" {
			w.o.Here.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article"}
			w.seal(true)
			w.notes("20261101000000")
		}
		return w
	}
	for _, state := range []string{"RESTORING", "ONLINE"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := stale(state)
			p, done := w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
			g.Expect(w.databaseDropped).To(BeTrue())
			g.Expect(w.aside).To(BeEmpty())
		})
	}
	t.Run("of another copy", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		w := begunWithBackup(t, declared())
		w.unregister(false)
		w.o.Now = w.o.Now.Add(time.Hour)
		w.place("RESTORING", w.d.mark(w.o.Now.UTC().Format(stampForm))+"-1.mdf")
		p, done := w.settles(t, all)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
		g.Expect(w.databaseDropped).To(BeTrue())
	})
	t.Run("that was registered, which a person restores", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		w := begunWithBackup(t, declared())
		w.unregister(false)
		places, _ := w.o.Backup.Places.Get()
		places.State = "RESTORING"
		p, _ := w.settles(t, all)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForDatabase), p.Outcome.Message)
		g.Expect(w.databaseDropped).To(BeFalse())
	})
	for name, c := range map[string]struct {
		state  string
		change func(w *backupWorld)
		reason string
		says   string
	}{
		"a restore goes on": {"RESTORING", func(w *backupWorld) { w.restoring = true }, v1alpha1.ReasonInitializing,
			"a restore goes on at dubsub-0"},
		"it takes writes": {"ONLINE", func(w *backupWorld) { w.seal(false) }, v1alpha1.ReasonSubscriberNotEmpty,
			"user table dbo.Article"},
		"it took writes": {"ONLINE", func(w *backupWorld) { w.seal(false); w.seal(true) },
			v1alpha1.ReasonSubscriberNotEmpty, "user table dbo.Article"},
		"nobody knows whether it did": {"ONLINE", func(w *backupWorld) { w.d.Subscription.Status.Copy.Unwritten = "" },
			v1alpha1.ReasonSubscriberNotEmpty, "user table dbo.Article"},
		"a user of somebody's": {"ONLINE", func(w *backupWorld) {
			w.seal(false)
			w.objects = []mssql.UserObject{{Kind: "sql_user", Name: "web"}}
		}, v1alpha1.ReasonSubscriberNotEmpty, "sql user web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := stale(c.state)
			c.change(w)
			p, _ := w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			g.Expect(w.databaseDropped).To(BeFalse())
			g.Expect(w.aside).To(BeEmpty())
			if c.reason != v1alpha1.ReasonSubscriberNotEmpty {
				return
			}
			g.Expect(w.sent).To(BeEmpty(), "nothing is taken before")
			w.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
			p, done := w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
			g.Expect(w.aside).To(HaveLen(1))
			g.Expect(w.databaseDropped).To(BeFalse())
		})
	}
}

// Nobody writes what was restored before the subscription is registered at the publisher; then the agents' user and
// what a pull subscription knows are written there, whichever step is the last of a process.
func TestACopyTakesNoWritesBeforeItIsRegistered(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]func() Desired{"pull": declared, "push": func() Desired { return push("") }} {
		for most, steps := range map[string]func() int{"all": all, "one by one": func() int { return 1 }} {
			t.Run(name+", "+most, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				w := newBackupWorld(d())
				p, done := w.settles(t, steps)
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
				first := func(text string) int {
					return slices.IndexFunc(done, func(s string) bool { return strings.Contains(s, text) })
				}
				g.Expect(first("sp_addsubscription")).To(BeNumerically(">", first("RESTORE DATABASE")))
				g.Expect(first("SET READ_WRITE")).To(BeNumerically(">", first("sp_addsubscription")))
				g.Expect(w.o.sealed(w.d)).To(BeFalse())
			})
		}
	}
}

// Who was able to write a copy before it was registered may have: its tables are compared, and nothing is proved
// before.
func TestACopyThatTookWritesIsCompared(t *testing.T) {
	t.Parallel()
	for _, sealed := range []bool{true, false} {
		t.Run(fmt.Sprint("sealed ", sealed), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()["it is restored"])
			w.seal(sealed)
			p, done := w.settles(t, all)
			said := w.d.Subscription.Status.Initialization
			if sealed {
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
				g.Expect(said.ValidatedArticles).To(HaveLen(2))
				return
			}
			g.Expect(said.ValidatedArticles).To(BeEmpty())
			g.Expect(said.Reason).To(ContainSubstring("was able to write"))
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonValidating), "%s after %q", p.Outcome.Message, done)
			look := func(c *replication.Comparison, after time.Duration) {
				w.o.Comparison, w.o.Now = c, w.o.Now.Add(after)
				w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), plan(w.d, w.look()))
			}
			other := &replication.Comparison{Steady: true, Difference: "dbo.Article has 4 rows at the publisher, 5 here"}
			look(other, time.Second)
			look(other, differsFor)
			look(nil, time.Second)
			g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonCopyDiffers))
			look(&replication.Comparison{Equal: true, Steady: true, Same: []string{"dbo.article", "dbo.attachment"}},
				time.Hour)
			look(nil, time.Second)
			p = plan(w.d, w.look())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), p.Outcome.Message)
		})
	}
}

// A person who has another method in the end finds a database that can be written, and so does who deletes the
// Subscription.
func TestWhatWasRestoredForNothingTakesWrites(t *testing.T) {
	t.Parallel()
	restored := func(t *testing.T) *backupWorld {
		w := newBackupWorld(declared())
		w.until(t, func() bool { return w.restored != "" })
		NewWithT(t).Expect(w.o.sealed(w.d)).To(BeTrue())
		w.d.Subscription.Status.Copy = progress(w.d, w.look())
		return w
	}
	t.Run("another method", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		w := restored(t)
		w.d.Subscription.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeSnapshot}
		p, _ := w.settles(t, all)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty), p.Outcome.Message)
		g.Expect(w.o.sealed(w.d)).To(BeFalse())
		g.Expect(w.databaseDropped).To(BeFalse())
	})
	t.Run("another method, and a backup again once people wrote it", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		w := restored(t)
		g.Expect(w.d.Subscription.Status.Copy.Unwritten).NotTo(BeEmpty())
		begins := w.d.Subscription.Spec.Initialization
		w.d.Subscription.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeSnapshot}
		w.settles(t, all)
		w.seal(true)
		w.d.Subscription.Spec.Initialization = begins
		p, done := w.settles(t, all)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty), "%s after %q", p.Outcome.Message, done)
		g.Expect(w.databaseDropped).To(BeFalse())
		g.Expect(w.aside).To(BeEmpty())
	})
	t.Run("written by a person, and another backup", func(t *testing.T) {
		t.Parallel()
		for name, seen := range map[string]bool{"between two looks": false, "seen": true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				w := restored(t)
				w.seal(false)
				if seen {
					w.d.Subscription.Status.Copy = progress(w.d, w.look())
					w.log-- // nothing was written after all
				}
				w.seal(true)
				w.d.Subscription.Status.Copy = progress(w.d, w.look())
				w.o.Now = w.o.Now.Add(55 * time.Hour)
				w.settles(t, all)
				w.d.System.Retention = 144
				p, done := w.settles(t, all)
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty), "%s after %q", p.Outcome.Message, done)
				g.Expect(w.databaseDropped).To(BeFalse())
			})
		}
	})
	t.Run("another method, while the sidecars are away", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		w := restored(t)
		w.d.Subscription.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeSnapshot}
		w.o.Backup.Looked, w.o.Backup.Err = false, errAway
		w.settles(t, all)
		g.Expect(w.o.sealed(w.d)).To(BeFalse())
		g.Expect(w.databaseDropped).To(BeFalse())
	})
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		w := restored(t)
		w.deletes(v1alpha1.ReclaimDelete)
		w.leavesNothing(t, w.ends(t, true, all))
		g.Expect(w.o.sealed(w.d)).To(BeFalse())
		g.Expect(w.databaseDropped).To(BeFalse())
	})
}

// offline has the subscriber's database be in another state, READ_ONLY as it was.
func (w *backupWorld) offline(state string) {
	places, _ := w.o.Backup.Places.Get()
	places.State = state
	at := w.o.Servers[subscriber].State.Databases
	database := at["content"]
	database.State = state
	at["content"] = database
}

// A database that is not online is made writable by nobody: that is waited for where it is to receive, and said, and
// keeps no deletion.
func TestACopyThatIsNotOnlineStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"OFFLINE", "RECOVERY_PENDING"} {
		t.Run("deleted/"+state, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()["it is restored"])
			w.d.Subscription.Status.Copy = progress(w.d, w.look())
			w.offline(state)
			w.deletes(v1alpha1.ReclaimRetain)
			g.Expect(w.ends(t, true, all).Left).To(ContainElement(ContainSubstring("restored from a backup")))
			g.Expect(w.databaseDropped).To(BeFalse())
		})
		t.Run("registered/"+state, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()["it is registered"])
			w.offline(state)
			p, done := w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForDatabase), p.Outcome.Message)
			g.Expect(done).NotTo(ContainElement(ContainSubstring("SET READ_WRITE")))
			w.offline("ONLINE")
			p, done = w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
			g.Expect(done).To(ContainElement(ContainSubstring("SET READ_WRITE")))
		})
	}
}

// A backup that takes longer than three quarters of the retention ends, and no other is begun, which would take as
// long: a person is told what to change, and with a longer retention another one is taken.
func TestABackupThatTakesTooLong(t *testing.T) {
	t.Parallel()
	for moment := range newBackupWorld(declared()).moments() {
		if moment == "it is registered" {
			continue
		}
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()[moment])
			before, sent := w.o.Backup.Readers[publisher].Backup, len(w.sent)
			w.o.Now = w.o.Now.Add(55 * time.Hour)
			p, _ := w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonBackupUnsuitable), p.Outcome.Message)
			g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
			g.Expect(p.Outcome.Message).To(And(ContainSubstring(before), ContainSubstring("spec.retention"),
				ContainSubstring("72 hours"), ContainSubstring("delete the Subscription")))
			g.Expect(w.taken()).To(BeFalse(), "its files take no room")
			g.Expect(w.brought).To(BeEmpty())
			w.o.Now = w.o.Now.Add(24 * time.Hour)
			p, _ = w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonBackupUnsuitable), "time alone helps nobody")
			g.Expect(w.sent).To(HaveLen(sent))
			w.d.System.Retention = 144
			p, done := w.settles(t, all)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering), "%s after %q", p.Outcome.Message, done)
			g.Expect(w.sent).To(HaveLen(sent + 1))
			g.Expect(w.aside).To(BeEmpty())
		})
	}
}

// Where the subscriber's sidecar does not bring it, as for a quota, that is said with the end: the time was lost there.
func TestABackupThatDoesNotComeInTime(t *testing.T) {
	t.Parallel()
	for of, says := range map[string]bool{"it": true, "another": false} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.goes(t, w.moments()["the subscriber's sidecar is told"])
			o := w.look()
			o.Now = o.Now.Add(55 * time.Hour)
			o.Backup.Mirror = &files.Status{State: files.Failing, Message: "raise the quota to 7Gi at least",
				Generation: generation(o.order(w.d).Backup)}
			if !says {
				o.Backup.Mirror.Generation = "2026-10-01T00:00:00"
			}
			var why []string
			for _, s := range plan(w.d, o).All() {
				if x, is := s.(TellBackup); is && x.Reader != nil && x.Reader.Ended {
					why = append(why, x.Reader.Attempt.Why)
				}
			}
			g.Expect(why).To(HaveLen(1))
			g.Expect(why[0]).To(ContainSubstring("three quarters of the 72 hours"))
			g.Expect(strings.Contains(why[0], "which said last: raise the quota to 7Gi at least")).To(Equal(says))
		})
	}
}

// Nothing is dropped by what was not read.
func TestACopyThatWasNotReadStays(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(o *Observed){
		"whether a restore goes on": func(o *Observed) { o.Backup.Restoring = reconcile.Reading[bool]{} },
		"who feeds it":              func(o *Observed) { o.HereErr = errors.New("no answer") },
		"where its log ends":        func(o *Observed) { o.Backup.LogEnd = reconcile.Reading[string]{} },
		"where it is":               func(o *Observed) { o.Backup.Places = reconcile.Reading[*mssql.DatabasePlaces]{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newBackupWorld(declared())
			w.goes(t, w.moments()["the backup has come"])
			state := "ONLINE"
			if name == "whether a restore goes on" {
				state = "RESTORING"
			}
			w.place(state, w.d.mark("20261101000000")+"-1.mdf")
			w.seal(state == "ONLINE")
			w.notes("20261101000000")
			w.reads()
			executes := func(o Observed) (all []string) {
				for _, s := range plan(w.d, o).All() {
					if x, is := s.(replication.Execute); is {
						all = append(all, x.Describe())
					}
				}
				return all
			}
			g := NewWithT(t)
			g.Expect(executes(w.look())).To(ConsistOf(ContainSubstring("DROP DATABASE")))
			o := w.look()
			hide(&o)
			g.Expect(executes(o)).To(BeEmpty())
		})
	}
}

// A Subscription that stands still for tables of somebody else, since its Publication declares backups, does so when
// that comes to declare Compare: it is said of all, and agrees to nothing for these.
func TestWhoStandsForABackupAgreesToNoMethodOfAll(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.d.Subscription.Spec.Initialization = nil
	w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeBackup}
	w.place("ONLINE", "Content.mdf")
	w.o.Here.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article"}
	p, _ := w.settles(t, all)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty), p.Outcome.Message)
	w.d.Subscription.Status = describe(w.d, w.look())
	g.Expect(w.d.Subscription.Status.NotEmptySince).NotTo(BeNil())

	w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	w.o.Comparison = &replication.Comparison{Steady: true, Difference: "dbo.Article has 3 rows"}
	p, done := w.settles(t, all)
	g.Expect(done).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSubscriberNotEmpty), p.Outcome.Message)

	// What a backup has brought is nobody else's.
	w = newBackupWorld(declared())
	w.until(t, func() bool { return w.restored != "" })
	w.d.Subscription.Status = describe(w.d, w.look())
	g.Expect(w.d.Subscription.Status.NotEmptySince).To(BeNil())
}
