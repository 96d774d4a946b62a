// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/replication"
)

const (
	// measuredAgain is how old a time of measurement in the status becomes before it is written again for itself: well
	// before it counts no more (link.MeasuredFor).
	measuredAgain = link.MeasuredFor / 2
	// maxLinks is how many links the status takes.
	maxLinks = 32
)

// answer is what the agent of one of the site's servers has said of links.
type answer struct {
	server types.NamespacedName
	// heard is false when this manager has not heard it yet.
	heard    bool
	measured []link.Measured
	// leaves is of a server that is being deleted.
	leaves bool
}

// answers are those of the site's servers, in the order of their names; of those that are being deleted last, since
// another one measures the links then.
func answers(site v1alpha1.SiteName, servers []v1alpha1.SQLServer, heard *link.Heard) []answer {
	var all []answer
	for i := range servers {
		if s := &servers[i]; s.Spec.Site == site {
			a := answer{server: types.NamespacedName{Namespace: s.Namespace, Name: s.Name},
				leaves: s.DeletionTimestamp != nil}
			a.measured, a.heard = heard.Of(a.server)
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b answer) int {
		switch {
		case a.leaves == b.leaves:
			return strings.Compare(a.server.String(), b.server.String())
		case a.leaves:
			return 1
		}
		return -1
	})
	return all
}

// links are those that are declared, those that agents measure, and the one that the heartbeat measures: it goes from
// the hub's site. What was written last stays where nothing says otherwise, so that what has hardly changed is not
// written, and a manager that has just started does not forget what it has not heard yet.
func links(o *Observed, last *v1alpha1.SiteStatus) []v1alpha1.SiteLinkStatus {
	site := v1alpha1.SiteName(o.site.Name)
	declared := link.Of(site, o.sites)
	var others []v1alpha1.SiteName
	for _, l := range declared {
		others = append(others, l.To)
	}
	for _, a := range o.answers {
		for _, m := range a.measured {
			others = append(others, m.To)
		}
	}
	for _, l := range last.Links {
		if l.Server != "" {
			others = append(others, l.To)
		}
	}
	if o.hub != "" {
		others = append(others, o.hub)
	}
	slices.Sort(others)
	var all []v1alpha1.SiteLinkStatus
	for _, to := range slices.Compact(others) {
		before := findLink(last.Links, to)
		l := v1alpha1.SiteLinkStatus{To: to}
		known := link.Between(site, to, o.sites)
		if known.RoundTrip > 0 || known.Bandwidth != "" {
			l.Declared = &v1alpha1.DeclaredLink{Bandwidth: known.Bandwidth}
			if known.RoundTrip > 0 {
				l.Declared.RoundTrip = &metav1.Duration{Duration: known.RoundTrip}
			}
		}
		switch {
		case o.measure(&l, before, known):
			o.weigh(&l, before, known)
		case to == o.hub && last.LastHeartbeat != nil:
			l.RoundTrip, l.Measured = last.RoundTrip, last.LastHeartbeat
		}
		if l.Declared != nil || l.RoundTrip != nil {
			all = append(all, l)
		}
	}
	return all[:min(len(all), maxLinks)]
}

func findLink(all []v1alpha1.SiteLinkStatus, to v1alpha1.SiteName) v1alpha1.SiteLinkStatus {
	if i := slices.IndexFunc(all, func(l v1alpha1.SiteLinkStatus) bool { return l.To == to }); i >= 0 {
		return all[i]
	}
	return v1alpha1.SiteLinkStatus{}
}

// measure fills in what agents have measured of a link, and tells whether that is known. Where servers of several
// namespaces measure it, the first counts.
func (o *Observed) measure(l *v1alpha1.SiteLinkStatus, before v1alpha1.SiteLinkStatus, declared link.Link) bool {
	take := func(x v1alpha1.SiteLinkStatus) bool {
		l.RoundTrip, l.Measured, l.Server, l.Peer = x.RoundTrip, x.Measured, x.Server, x.Peer
		return true
	}
	current := before.Server != "" && before.RoundTrip != nil && before.Measured != nil
	// A difference that is little for a status may be the one by which a link is slower than declared.
	hardly := func(m link.Measured) bool {
		return !otherDistance(before.RoundTrip, m.RoundTrip) && m.At.Sub(before.Measured.Time) < measuredAgain &&
			link.Slower(declared.RoundTrip, m.RoundTrip, before.Slower) == before.Slower
	}
	for _, a := range o.answers {
		for _, m := range a.measured {
			if m.To != l.To || o.now.Sub(m.At) >= link.MeasuredFor {
				continue
			}
			// As it is written, so that it is judged now as it is when it has been.
			m.RoundTrip = m.RoundTrip.Round(100 * time.Microsecond)
			server := a.server.String()
			if current && before.Server == server && before.Peer == m.Peer && hardly(m) {
				return take(before)
			}
			return take(v1alpha1.SiteLinkStatus{Server: server, Peer: m.Peer,
				RoundTrip: &metav1.Duration{Duration: m.RoundTrip},
				Measured:  &metav1.Time{Time: m.At.Truncate(time.Second)}})
		}
	}
	waits := slices.ContainsFunc(o.answers, func(a answer) bool { return a.server.String() == before.Server && !a.heard })
	if current && waits && o.now.Sub(before.Measured.Time) < link.MeasuredFor {
		return take(before)
	}
	return false
}

// weigh says what a measured round trip means beside what is declared, and what one connection carries.
func (o *Observed) weigh(l *v1alpha1.SiteLinkStatus, before v1alpha1.SiteLinkStatus, declared link.Link) {
	l.Slower = link.Slower(declared.RoundTrip, l.RoundTrip.Duration, before.Slower)
	w := replication.Landscape{Sites: o.sites}
	namespace, name, _ := strings.Cut(l.Server, "/")
	server, peer := o.server(namespace, name), o.server(namespace, string(l.Peer))
	if server == nil || peer == nil {
		return
	}
	_, sends := w.Buffers(server)
	receives, _ := w.Buffers(peer)
	window := link.Window(receives, sends)
	same := before.Server == l.Server && before.Peer == l.Peer
	if same && before.Window != nil && (madeAnew(server) || madeAnew(peer)) {
		window = *before.Window
	}
	l.Window = &window
	switch t := server.Status.Tuning; {
	case t != nil && t.Kernel != nil:
		l.CongestionControl = t.Kernel.CongestionControl
	case same && madeAnew(server):
		l.CongestionControl = before.CongestionControl
	}
	// What a declared link asks for was computed by its declared round trip. It counts until it is clearly another one.
	is := declared
	if l.Slower || is.RoundTrip == 0 {
		is.RoundTrip = l.RoundTrip.Duration
	}
	l.WindowTooSmall = is.Narrow(window, before.WindowTooSmall)
	is.RoundTrip = l.RoundTrip.Duration
	bound, bits := is.Stream(window)
	l.Stream = &v1alpha1.LinkStream{BoundBy: v1alpha1.ForecastBound(bound)}
	if bound != link.BoundUnknown {
		carried := int64(replication.TwoDigits(bits))
		l.Stream.BitsPerSecond = &carried
	}
}

// madeAnew tells of a server whose pod does not run yet, so that no agent has read its buffers. What is declared would
// promise those of a pod that may not get them again.
func madeAnew(s *v1alpha1.SQLServer) bool {
	return (s.Status.Tuning == nil || s.Status.Tuning.Kernel == nil) &&
		!apimeta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady)
}

// server is a SQLServer, nil where there is none.
func (o *Observed) server(namespace, name string) *v1alpha1.SQLServer {
	for i := range o.servers {
		if s := &o.servers[i]; s.Namespace == namespace && s.Name == name {
			return s
		}
	}
	return nil
}

// compares tells whether a link is declared that is measured, or leads to a site that is there and not given up. Else
// nobody measures it, and there is nothing to compare.
func (o *Observed) compares() bool {
	return slices.ContainsFunc(o.site.Status.Links, func(l v1alpha1.SiteLinkStatus) bool {
		return l.Declared != nil && (l.Server != "" || slices.ContainsFunc(o.sites, func(s v1alpha1.Site) bool {
			return s.Name == string(l.To) && s.Spec.Lifecycle != v1alpha1.SiteLost
		}))
	})
}

// linkConditions say what of the links is not as it should be. There are none before one was measured that is declared.
func linkConditions(status *v1alpha1.SiteStatus) []metav1.Condition {
	var slow, small, fine, unknown []string
	for _, l := range status.Links {
		switch {
		case l.Declared == nil:
		case l.Server == "":
			unknown = append(unknown, string(l.To))
		case l.Slower:
			slow = append(slow, fmt.Sprintf("to %s it is %s, and %s is declared", l.To, l.RoundTrip.Duration,
				l.Declared.RoundTrip.Duration))
		default:
			fine = append(fine, fmt.Sprintf("to %s %s", l.To, l.RoundTrip.Duration))
		}
		if l.WindowTooSmall {
			small = append(small, fmt.Sprintf("on one connection from %s to %s at site %s %d bytes may be on their way, which "+
				"carry %s", l.Server, l.Peer, l.To, *l.Window, bitsWords(l.Stream)))
		}
	}
	rest := ""
	if len(unknown) > 0 {
		rest = "; not measured: to " + strings.Join(unknown, ", ")
	}
	slower := metav1.Condition{Type: v1alpha1.ConditionLinkSlowerThanDeclared, Status: metav1.ConditionUnknown,
		Reason: v1alpha1.ReasonLinksNotMeasured, Message: "no agent reaches a server of another site"}
	narrow := slower
	narrow.Type = v1alpha1.ConditionWindowTooSmall
	switch {
	case len(slow) > 0:
		set(&slower, metav1.ConditionTrue, v1alpha1.ReasonLinkSlower, "the round trip is longer than declared: "+
			strings.Join(slow, "; ")+". See what is on the way, or declare what is so in spec.links"+rest)
	case len(fine) > 0:
		set(&slower, metav1.ConditionFalse, v1alpha1.ReasonLinksAsDeclared, "round trips as measured: "+
			strings.Join(fine, ", ")+rest)
	}
	switch {
	case len(small) > 0:
		set(&narrow, metav1.ConditionTrue, v1alpha1.ReasonBuffersTooSmall, strings.Join(small, "; ")+
			". status.tuning of the two servers says which buffers they have, and why")
	case len(fine)+len(slow) > 0:
		set(&narrow, metav1.ConditionFalse, v1alpha1.ReasonWindowsWide, "connections have the buffers that the links ask "+
			"for, as far as these are measured"+rest)
	}
	return slices.DeleteFunc([]metav1.Condition{slower, narrow}, func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionUnknown && apimeta.FindStatusCondition(status.Conditions, c.Type) == nil
	})
}

func set(c *metav1.Condition, status metav1.ConditionStatus, reason, message string) {
	c.Status, c.Reason, c.Message = status, reason, message
}

// bitsWords are the words for what one connection carries.
func bitsWords(s *v1alpha1.LinkStream) string {
	if s == nil || s.BitsPerSecond == nil {
		return "less than the link"
	}
	return fmt.Sprintf("%g Mbit/s at most", float64(*s.BitsPerSecond)/1e6)
}
