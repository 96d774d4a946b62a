// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// WriteStatus writes the state as text for people, as of now: first whether data can be written and is copied, then
// what that runs on, and at the end, where a terminal leaves the eye, what is not as it should be.
func (s *Snapshot) WriteStatus(out io.Writer, now time.Time) {
	for i := range s.Topologies {
		t := &s.Topologies[i]
		status, reason := ready(t.Status.StatusBase, t.Generation)
		fmt.Fprintf(
			out,
			"Topology %s/%s: %s (Ready is %s, %s)\n",
			t.Namespace,
			t.Name,
			cmp.Or(t.Status.Summary, "nothing is known yet"),
			status,
			reason,
		)
	}
	for i := range s.Groups {
		s.writeGroup(out, &s.Groups[i], now)
	}
	s.writeReplication(out, now)
	s.writeServers(out)
	s.writeSites(out, now)
	s.writePlacement(out)
	s.writeConditions(out)
}

func title(out io.Writer, text string) { fmt.Fprintf(out, "\n%s\n", text) }

func (s *Snapshot) writeSites(out io.Writer, now time.Time) {
	if s.SitesHidden {
		title(out, "Sites")
		fmt.Fprint(out, "  not shown: you may not list them; ClusterRole geosql-operator-sites gives the right to\n")
	}
	if len(s.Sites) == 0 {
		return
	}
	title(out, "Sites")
	t := newTable(out, "NAME", "READY", "REASON", "REGION", "ROUND TRIP", "HEARTBEAT", "VERSION")
	for i := range s.Sites {
		x := &s.Sites[i]
		status, reason := ready(x.Status.StatusBase, x.Generation)
		t.row(
			x.Name,
			status,
			reason,
			x.Spec.Region,
			duration(x.Status.RoundTrip),
			age(x.Status.LastHeartbeat, now),
			cmp.Or(x.Status.KubernetesVersion, unknown),
		)
	}
	t.flush()
}

func (s *Snapshot) writeServers(out io.Writer) {
	if len(s.Servers) == 0 {
		return
	}
	title(out, "Servers")
	t := newTable(out, "NAME", "SITE", "READY", "REASON", "NODE", "VERSION")
	for i := range s.Servers {
		x := &s.Servers[i]
		status, reason := ready(x.Status.StatusBase, x.Generation)
		node := unknown
		if p := x.Status.Placement; p != nil {
			node = cmp.Or(p.Node, "none")
		}
		t.row(
			s.qualified(x.Namespace, host(x.Name)),
			string(x.Spec.Site),
			status,
			reason,
			node,
			cmp.Or(x.Status.Version, unknown),
		)
	}
	t.flush()
}

// writePlacement writes why servers are where they are.
func (s *Snapshot) writePlacement(out io.Writer) {
	if len(s.Servers) == 0 {
		return
	}
	title(out, "Placement")
	for i := range s.Servers {
		x := &s.Servers[i]
		why := unknown
		if p := x.Status.Placement; p != nil && p.Reason != "" {
			why = p.Reason
		}
		fmt.Fprint(out, wrap(s.qualified(x.Namespace, host(x.Name))+": "+why, "  "))
	}
}

// qualified is a name with its namespace where objects of several are shown.
func (s *Snapshot) qualified(namespace, name string) string {
	for i := range s.Servers {
		if s.Servers[i].Namespace != namespace {
			return namespace + "/" + name
		}
	}
	return name
}

func (s *Snapshot) writeGroup(out io.Writer, g *v1alpha1.AvailabilityGroup, now time.Time) {
	status, reason := ready(g.Status.StatusBase, g.Generation)
	title(out, fmt.Sprintf("Availability group %s: Ready is %s, %s", s.qualified(g.Namespace, g.Name), status, reason))
	fmt.Fprint(out, wrap(fmt.Sprintf("primary %s, term %d, listener %s, required synchronized secondaries %s, failover %s",
		cmp.Or(host(g.Status.Primary), "unknown"), g.Status.Term, cmp.Or(g.Status.Listener, unknown),
		number(g.Status.RequiredSynchronizedSecondaries, ""), cmp.Or(string(g.Spec.FailoverPolicy), "Manual")), "  "))
	if len(g.Status.Replicas) > 0 {
		t := newTable(out, "REPLICA", "ROLE", "MODE", "CONNECTED", "HEALTH", "PROMOTABLE", "SEEN")
		for _, r := range g.Status.Replicas {
			t.row(
				host(r.Server),
				r.Role,
				cmp.Or(r.AvailabilityMode, unknown),
				cmp.Or(r.ConnectedState, unknown),
				cmp.Or(r.SynchronizationHealth, unknown),
				promotable(g, r),
				age(r.ObservedAt, now),
			)
		}
		t.flush()
		writeUnfit(out, g)
		writeDatabases(out, g)
	}
	var voters []string
	for _, v := range g.Status.Voters {
		text := fmt.Sprintf("%s %s", v.Site, v.State)
		if v.Holder != "" && v.State != "Unknown" {
			text += fmt.Sprintf(" by %s in term %d", host(v.Holder), v.Term)
		}
		if v.Paused {
			text += ", automatic elections paused"
		}
		voters = append(voters, text)
	}
	fmt.Fprint(out, wrap("votes: "+cmp.Or(strings.Join(voters, "; "), unknown), "  "))
	s.writeFailovers(out, g, now)
}

func writeDatabases(out io.Writer, g *v1alpha1.AvailabilityGroup) {
	t := newTable(out, "DATABASE", "ON", "STATE", "SEND QUEUE", "REDO QUEUE", "REDO RATE", "DATA LOSS", "RECOVERY")
	rows := 0
	for _, r := range g.Status.Replicas {
		absent := unknown
		if r.Role == "PRIMARY" {
			// A primary has no queues of its own.
			absent = "-"
		}
		queue := func(n *int64, unit string) string {
			if n == nil {
				return absent
			}
			return number(n, unit)
		}
		estimate := func(x *metav1.Duration) string {
			if x == nil {
				return absent
			}
			return duration(x)
		}
		for _, d := range r.Databases {
			state := d.SynchronizationState
			if d.Suspended != "" {
				state += ", suspended: " + d.Suspended
			}
			t.row(
				d.Name,
				host(r.Server),
				state,
				queue(d.LogSendQueueKB, " KB"),
				queue(d.RedoQueueKB, " KB"),
				queue(d.RedoRateKBps, " KB/s"),
				estimate(d.EstimatedDataLoss),
				estimate(d.EstimatedRecoveryTime),
			)
			rows++
		}
	}
	if rows > 0 {
		t.flush()
	}
}

func (s *Snapshot) writeReplication(out io.Writer, now time.Time) {
	if len(s.Distributors)+len(s.Publications)+len(s.Subscriptions) == 0 {
		return
	}
	title(out, "Replication")
	t := newTable(out, "OBJECT", "FROM", "TO", "READY", "REASON")
	for i := range s.Distributors {
		x := &s.Distributors[i]
		status, reason := ready(x.Status.StatusBase, x.Generation)
		t.row("distributor "+s.qualified(x.Namespace, x.Name), "-", host(string(x.Spec.Server)), status, reason)
	}
	for i := range s.Publications {
		x := &s.Publications[i]
		status, reason := ready(x.Status.StatusBase, x.Generation)
		t.row(
			"publication "+s.qualified(x.Namespace, x.Name),
			fmt.Sprintf("%s, %s", either(x.Spec.Publisher), x.Spec.Database),
			"distributor "+string(x.Spec.Distributor),
			status,
			reason,
		)
	}
	for i := range s.Subscriptions {
		x := &s.Subscriptions[i]
		status, reason := ready(x.Status.StatusBase, x.Generation)
		t.row(
			"subscription "+s.qualified(x.Namespace, x.Name),
			"publication "+string(x.Spec.Publication),
			fmt.Sprintf("%s, %s", either(x.Spec.Subscriber), x.Spec.Database),
			status,
			reason,
		)
	}
	t.flush()
	s.writeUndeclared(out)
	s.writeAgents(out, now)
	s.writeCopies(out, now)
}

// writeUndeclared says what runs on although nobody declares it any more.
func (s *Snapshot) writeUndeclared(out io.Writer) {
	said := map[string]bool{}
	for i := range s.Publications {
		x := &s.Publications[i]
		for _, u := range x.Status.Undeclared {
			text := fmt.Sprintf(
				"runs undeclared: publication %s of %s, %s",
				u.Publication,
				either(x.Spec.Publisher),
				x.Spec.Database,
			)
			if u.Subscriber != "" {
				text += fmt.Sprintf(", to %s, %s", u.Subscriber, u.Database)
			}
			if !said[text] {
				said[text] = true
				fmt.Fprint(out, wrap(text, "  "))
			}
		}
	}
	if len(said) > 0 {
		fmt.Fprint(
			out,
			wrap(
				"take it over: kubectl apply the manifest that declared it, or kubectl annotate the Subscription that takes its "+
					"place with "+
					v1alpha1.AdoptAnnotation+"=true; end it: declare it with reclaimPolicy Delete, and kubectl delete that",
				"    ",
			),
		)
	}
}

func (s *Snapshot) writeAgents(out io.Writer, now time.Time) {
	t := newTable(out, "AGENT", "OF", "STATE", "SEEN", "PENDING", "LATENCY (TRACER TOKEN)")
	agent := func(kind, of string, a *v1alpha1.AgentStatus, pending, latency string) {
		if a == nil {
			a = &v1alpha1.AgentStatus{State: unknown}
		}
		t.row(kind, of, a.State, age(a.Time, now), pending, latency)
	}
	for i := range s.Publications {
		x := &s.Publications[i]
		if !x.Spec.Scheduled() {
			agent("log reader", x.Name, x.Status.LogReader, "-", "-")
		}
		agent("snapshot", x.Name, x.Status.Snapshot, "-", "-")
	}
	for i := range s.Subscriptions {
		x := &s.Subscriptions[i]
		of := fmt.Sprintf(
			"%s (%s, %s)",
			x.Name,
			cmp.Or(string(x.Spec.Type), string(v1alpha1.SubscriptionPull)),
			cmp.Or(x.Status.Phase, unknown),
		)
		if s.copied(x) {
			agent("distribution", of, x.Status.Agent, "-", "-")
			continue
		}
		agent("distribution", of, x.Status.Agent, number(x.Status.PendingCommands, ""), latency(x.Status.Latency))
	}
	t.flush()
}

// copied tells that a Subscription is to what is copied by a schedule.
func (s *Snapshot) copied(x *v1alpha1.Subscription) bool {
	return slices.ContainsFunc(s.Publications, func(p v1alpha1.Publication) bool {
		return p.Namespace == x.Namespace && p.Name == string(x.Spec.Publication) && p.Spec.Scheduled()
	})
}

// latency of the newest tracer token, in whole seconds as SQL Server has it.
func latency(l *v1alpha1.LatencyStatus) string {
	if l == nil || l.OverallSeconds == nil {
		return unknown
	}
	return fmt.Sprintf(
		"%d s (%s + %s)",
		*l.OverallSeconds,
		number(l.PublisherToDistributorSeconds, ""),
		number(l.DistributorToSubscriberSeconds, ""),
	)
}

// each calls f with every object that has conditions.
func (s *Snapshot) each(f func(kind string, object metav1.Object, base v1alpha1.StatusBase)) {
	for i := range s.Sites {
		f("Site", &s.Sites[i], s.Sites[i].Status.StatusBase)
	}
	for i := range s.Servers {
		f("SQLServer", &s.Servers[i], s.Servers[i].Status.StatusBase)
	}
	for i := range s.Groups {
		f("AvailabilityGroup", &s.Groups[i], s.Groups[i].Status.StatusBase)
	}
	for i := range s.Distributors {
		f("Distributor", &s.Distributors[i], s.Distributors[i].Status.StatusBase)
	}
	for i := range s.Publications {
		f("Publication", &s.Publications[i], s.Publications[i].Status.StatusBase)
	}
	for i := range s.Subscriptions {
		f("Subscription", &s.Subscriptions[i], s.Subscriptions[i].Status.StatusBase)
	}
	for i := range s.PublisherMoves {
		f("PublisherMove", &s.PublisherMoves[i], s.PublisherMoves[i].Status.StatusBase)
	}
	for i := range s.Logins {
		f("Login", &s.Logins[i], s.Logins[i].Status.StatusBase)
	}
	for i := range s.Topologies {
		f("Topology", &s.Topologies[i], s.Topologies[i].Status.StatusBase)
	}
}

// writeConditions writes what is not as it should be, with the message, which says what to do. A Topology's condition
// repeats what its objects say, unless it is about itself.
func (s *Snapshot) writeConditions(out io.Writer) {
	title(out, "Not as it should be")
	found := false
	say := func(head, message string) {
		found = true
		fmt.Fprintf(out, "  %s\n%s", head, wrap(message, "    "))
	}
	s.each(func(kind string, object metav1.Object, base v1alpha1.StatusBase) {
		name := kind + " " + s.qualified(object.GetNamespace(), object.GetName())
		if kind == "Site" {
			name = kind + " " + object.GetName()
		}
		if meta.FindStatusCondition(base.Conditions, v1alpha1.ConditionReady) == nil {
			say(name+": nothing is known", "no controller has looked at it yet; does the operator run?")
		}
		for _, c := range notAsItShouldBe(base.Conditions) {
			if kind == "Topology" && (strings.HasPrefix(c.Reason, "Members") || c.Reason == v1alpha1.ReasonMemberStalled) {
				continue
			}
			who := ""
			if meta.IsStatusConditionTrue(base.Conditions, v1alpha1.ConditionStalled) && c.Type == v1alpha1.ConditionReady {
				who = "; it waits for a person"
			}
			say(fmt.Sprintf("%s: %s is %s, %s%s", name, c.Type, c.Status, c.Reason, who), c.Message)
		}
	})
	if !found {
		fmt.Fprintln(out, "  nothing")
	}
}
