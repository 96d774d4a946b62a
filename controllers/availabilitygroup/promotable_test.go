// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
)

// settled is a group that serves, seen whole.
func settled(t *testing.T) (Desired, Observed) {
	e := newEnviron(t, declared())
	e.settle(everything)
	return e.d, e.observe()
}

// alter changes what an instance says; the observation's maps are its own.
func alter(o Observed, server v1alpha1.ServerName, how func(*Instance)) {
	i := o.Instances[server]
	if i.Group != nil {
		g := *i.Group
		g.States = append([]mssql.GroupDatabaseState(nil), g.States...)
		i.Group = &g
	}
	how(&i)
	o.Instances[server] = i
}

func TestPromotableOrWhyNot(t *testing.T) {
	own := func(how func(*mssql.GroupDatabaseState)) func(*Desired, Observed) {
		return func(_ *Desired, o Observed) {
			alter(o, "quisec", func(i *Instance) { how(&i.Group.States[0]) })
		}
	}
	for name, tc := range map[string]struct {
		server  v1alpha1.ServerName
		change  func(*Desired, Observed)
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"synchronized":       {server: "quisec", status: metav1.ConditionTrue, reason: "Synchronized"},
		"the primary":        {server: "tukpub", status: metav1.ConditionFalse, reason: "AlreadyPrimary"},
		"configuration only": {server: "dubcfg", status: metav1.ConditionFalse, reason: "NotAReplica"},
		"no longer declared": {server: "other", status: metav1.ConditionFalse, reason: "NotDeclared"},
		"silent": {server: "quisec",
			change: func(_ *Desired, o Observed) { o.Instances["quisec"] = Instance{Err: errSilent} },
			status: metav1.ConditionUnknown, reason: "NotAnswering"},
		"not joined": {server: "quisec",
			change: func(_ *Desired, o Observed) { alter(o, "quisec", func(i *Instance) { i.Group = nil }) },
			status: metav1.ConditionFalse, reason: "NotJoined"},
		"asynchronous": {server: "quisec",
			change: func(d *Desired, _ Observed) { d.Group.Spec.Replicas[1].AvailabilityMode = v1alpha1.AsynchronousCommit },
			status: metav1.ConditionFalse, reason: "NotSynchronous"},
		"of a lower version than the primary": {server: "quisec", change: func(_ *Desired, o Observed) {
			alter(o, "tukpub", func(i *Instance) { i.Mirroring.ProductVersion = "17.0.1000.7" })
			alter(o, "quisec", func(i *Instance) { i.Mirroring.ProductVersion = "16.0.4135.4" })
		}, status: metav1.ConditionFalse, reason: "VersionLower", message: "no failing back to it"},
		"of a higher version than the primary": {server: "quisec", change: func(_ *Desired, o Observed) {
			alter(o, "tukpub", func(i *Instance) { i.Mirroring.ProductVersion = "16.0.4135.4" })
			alter(o, "quisec", func(i *Instance) { i.Mirroring.ProductVersion = "17.0.1000.7" })
		}, status: metav1.ConditionTrue, reason: "Synchronized"},
		"reverting": {server: "quisec", change: own(func(s *mssql.GroupDatabaseState) { s.State = "REVERTING" }),
			status: metav1.ConditionFalse, reason: "Reverting", message: "Content is reverting"},
		"initializing": {server: "quisec", change: own(func(s *mssql.GroupDatabaseState) { s.State = "INITIALIZING" }),
			status: metav1.ConditionFalse, reason: "Reverting", message: "Content is initializing"},
		"suspended": {server: "quisec",
			change: own(func(s *mssql.GroupDatabaseState) { s.Suspended, s.SuspendReason = true, "SUSPEND_FROM_USER" }),
			status: metav1.ConditionFalse, reason: "Suspended", message: "SUSPEND_FROM_USER"},
		"not seeded": {server: "quisec",
			change: func(_ *Desired, o Observed) { alter(o, "quisec", func(i *Instance) { i.Group.States = nil }) },
			status: metav1.ConditionFalse, reason: "NotSeeded"},
		"outside of the group": {server: "quisec", change: func(_ *Desired, o Observed) {
			alter(o, "quisec", func(i *Instance) {
				i.Group.States = nil
				i.Mirroring.Databases = map[string]mssql.Database{"Content": {Name: "Content", State: "RESTORING"}}
			})
		}, status: metav1.ConditionFalse, reason: "DatabaseOutside",
			message: "Content there (restoring) is outside of the group"},
		"the primary knows more": {server: "quisec", change: func(_ *Desired, o Observed) { alter(o, "tukpub", notReadyRow) },
			status: metav1.ConditionFalse, reason: "NotSynchronized", message: "Content (synchronizing)"},
		"quarantined": {server: "quisec", change: func(_ *Desired, o Observed) {
			o.Voters[1].Record.Notes.Apart =
				`[{"server":"quisec-0","term":4,"databases":[{"name":"Content","fromLSN":"7","toLSN":"9"}]}]`
		}, status: metav1.ConditionFalse, reason: "Quarantined", message: "geosql rejoin content quisec"},
		"no longer quarantined": {server: "quisec", change: func(_ *Desired, o Observed) {
			o.Voters[1].Record.Notes.Apart =
				`[{"server":"quisec-0","term":4,"databases":[{"name":"Content","fromLSN":"7","toLSN":"9"}]}]`
			o.Voters[2].Record.Notes.Apart = `[{"server":"quisec-0","term":4,"over":true}]`
		}, status: metav1.ConditionTrue, reason: "Synchronized"},
		"without a primary": {server: "quisec",
			change: func(_ *Desired, o Observed) { o.Instances["tukpub"] = Instance{Err: errSilent} },
			status: metav1.ConditionUnknown, reason: "PrimaryUnknown"},
		"without a primary that knows whether a database comes from backups": {server: "quisec",
			change: func(d *Desired, o Observed) {
				d.Group.Spec.Databases = append(d.Group.Spec.Databases, v1alpha1.Database{Name: "Orders"})
				o.Instances["tukpub"] = Instance{Err: errSilent}
			}, status: metav1.ConditionUnknown, reason: "PrimaryUnknown"},
		"without a primary and not seeded": {server: "quisec", change: func(_ *Desired, o Observed) {
			o.Instances["tukpub"] = Instance{Err: errSilent}
			alter(o, "quisec", func(i *Instance) { i.Group.States = nil })
		}, status: metav1.ConditionFalse, reason: "NotSeeded", message: "Content is not there yet"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := settled(t)
			if tc.change != nil {
				tc.change(&d, o)
			}
			p := promotable(d, o, tc.server, o.primary(d))
			g.Expect(p.Status).To(Equal(tc.status), p.Message)
			g.Expect(p.Reason).To(Equal(tc.reason))
			g.Expect(p.Message).To(ContainSubstring(tc.message))
		})
	}
}

func notReadyRow(i *Instance) {
	for k := range i.Group.States {
		if i.Group.States[k].Server == "quisec-0" {
			i.Group.States[k].State, i.Group.States[k].FailoverReady = "SYNCHRONIZING", false
		}
	}
}

// A former primary that has not noticed is neither shown as primary nor told to change anything.
func TestAStalePrimaryIsNotBelieved(t *testing.T) {
	voted := func(o Observed, server string, state votes.State) {
		for k := range o.Voters {
			o.Voters[k].Record = votes.Record{Term: 2, State: state, Holder: votes.Holder{Server: server}}
		}
	}
	promote := func(o Observed, server v1alpha1.ServerName) {
		alter(o, server, func(i *Instance) { i.Group.Role = "PRIMARY" })
	}
	undo := func(d Desired) Desired {
		d.Group.Spec.Databases = append(d.Group.Spec.Databases, v1alpha1.Database{Name: "Orders"})
		return d
	}
	for name, tc := range map[string]struct {
		change  func(Observed)
		primary v1alpha1.ServerName
		changes bool
	}{
		"the holder says PRIMARY": {change: func(Observed) {}, primary: "tukpub", changes: true},
		"two say PRIMARY: the holder of the votes": {change: func(o Observed) {
			voted(o, "quisec-0",
				votes.StateHeld)
			promote(o, "quisec")
		}, primary: "quisec", changes: true},
		"another holds the votes and is not seen": {change: func(o Observed) { voted(o, "quisec-0", votes.StateHeld) }},
		"another claims the votes": {change: func(o Observed) {
			voted(o, "quisec-0",
				votes.StateClaimed)
		}},
		"the votes are released": {change: func(o Observed) {
			voted(o, "tukpub-0",
				votes.StateReleased)
		}, primary: "tukpub"},
		"the votes cannot be read": {change: func(o Observed) {
			for k := range o.Voters {
				o.Voters[k].Err = errSilent
			}
		}, primary: "tukpub"},
		"the votes cannot be read and two say PRIMARY": {change: func(o Observed) {
			promote(o, "quisec")
			for k := range o.Voters {
				o.Voters[k].Err = errSilent
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := settled(t)
			d = undo(d)
			tc.change(o)
			g.Expect(o.primary(d)).To(Equal(tc.primary))
			p := plan(d, o)
			if !tc.changes {
				g.Expect(p.Steps).To(BeEmpty())
				return
			}
			g.Expect(p.Steps).NotTo(BeEmpty())
			for _, s := range p.Steps {
				g.Expect(s).To(HaveField("Server", tc.primary))
			}
		})
	}
	t.Run("the outcome says who claims", func(t *testing.T) {
		g := NewWithT(t)
		d, o := settled(t)
		voted(o, "quisec-0", votes.StateClaimed)
		alter(o, "tukpub", func(i *Instance) { i.Group.Role = "RESOLVING" })
		p := plan(d, o)
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonElection))
		g.Expect(p.Outcome.Message).To(ContainSubstring("quisec-0 claims the votes in term 2"))
	})
	t.Run("the outcome says that nobody can be elected", func(t *testing.T) {
		g := NewWithT(t)
		d, o := settled(t)
		voted(o, "tukpub-0", votes.StateClaimed)
		alter(o, "tukpub", func(i *Instance) { i.Group.Role = "RESOLVING" })
		alter(o, "quisec", func(i *Instance) { i.Group = nil })
		g.Expect(plan(d, o).Outcome.Reason).To(Equal(v1alpha1.ReasonElection), "two of three have the group")
		for _, server := range d.servers() {
			if server != "tukpub" {
				alter(o, server, func(i *Instance) { i.Group = nil })
			}
		}
		p := plan(d, o)
		g.Expect(p.Steps).To(BeEmpty())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReplicasNotJoined))
		g.Expect(p.Outcome.Message).To(And(
			ContainSubstring(
				"kubectl geosql failover content --to tukpub --allow-data-loss -n ",
			),
			HaveSuffix("dubcfg, quisec then join by themselves"),
		))
	})
}

// Four replicas decide on the configuration, three of which must agree; a fifth is asynchronous. Two have the group.
func TestWithoutQuorumNamesWhatIsKnown(t *testing.T) {
	hopeless := func(t *testing.T) (Desired, Observed) {
		group := declared()
		group.Spec.Replicas = append(
			group.Spec.Replicas,
			v1alpha1.Replica{Server: "dubthird", AvailabilityMode: v1alpha1.SynchronousCommit},
		)
		e := newEnviron(t, group)
		e.settle(everything)
		o := e.observe()
		for _, server := range []v1alpha1.ServerName{"tukpub", "quisec"} {
			alter(o, server, func(i *Instance) { i.Group.Role = "RESOLVING" })
		}
		for _, server := range []v1alpha1.ServerName{"dubcfg", "dubthird"} {
			alter(o, server, func(i *Instance) { i.Group = nil })
		}
		return e.d, o
	}
	ends := func(i *Instance, lsn string) {
		for k := range i.Group.States {
			i.Group.States[k].HardenedLSN = lsn
		}
	}
	for name, tc := range map[string]struct {
		change func(Observed)
		best   string
	}{
		"equals: the first": {func(Observed) {}, "tukpub"},
		"the longer log":    {func(o Observed) { alter(o, "quisec", func(i *Instance) { ends(i, "17") }) }, "quisec"},
		"never one that may be behind": {func(o Observed) {
			alter(o, "tukpub", func(i *Instance) { ends(i, "900") })
			alter(o, "quisec", func(i *Instance) { i.Group.SequenceNumber = 8; ends(i, "17") })
		}, "quisec"},
		"a configuration-only replica is silent": {func(
			o Observed) {
			o.Instances["dubcfg"] = Instance{Err: errSilent}
		}, ""},
		"a replica with data is silent, which may be primary": {func(
			o Observed) {
			o.Instances["quisec"] = Instance{Err: errSilent}
		}, ""},
		"those without were only just declared": {func(o Observed) {
			for _, server := range []v1alpha1.ServerName{"tukpub", "quisec"} {
				alter(o, server, func(i *Instance) {
					i.Group.Replicas = slices.DeleteFunc(slices.Clone(i.Group.Replicas),
						func(r mssql.GroupReplica) bool { return r.Server[:3] == "dub" })
				})
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := hopeless(t)
			tc.change(o)
			outcome := plan(d, o).Outcome
			if tc.best == "" {
				g.Expect(outcome.Reason).NotTo(Equal(v1alpha1.ReasonReplicasNotJoined), outcome.Message)
				return
			}
			g.Expect(outcome.Reason).To(Equal(v1alpha1.ReasonReplicasNotJoined), outcome.Message)
			g.Expect(outcome.Message).
				To(And(ContainSubstring("dubcfg, dubthird, without the group"),
					ContainSubstring("failover content --to "+tc.best+" --allow-data-loss"),
					ContainSubstring("the newest of what it and ")))
		})
	}
}
