// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/account"
	"geosql.dev/operator/internal/workload/history"
)

// siteTimeout bounds what is asked of one site.
const siteTimeout = 5 * time.Second

// Observed is a drill with everything around it, as it was read. Once it is read nothing but done changes. Who plays
// which role in the target is observed, too: it may change with every look.
type Observed struct {
	Desired
	now time.Time
	// target is nil when it need not be known any more.
	target *target
	// archived says that the run that has not begun was judged before: its evidence is kept.
	archived bool
	// begun are the runs of a drill of the name that the target's sites know of; read before clients are started.
	begun map[v1alpha1.SiteName]reconcile.Reading[[]begunRun]
	// busy names a drill that runs on the same target.
	busy string
	// ungranted are the sites where the manager lacks rights that the drill needs, with what it may not.
	ungranted map[v1alpha1.SiteName]string
	// unasked says where that could not be told.
	unasked string
	// siteErr says why a site cannot be used.
	siteErr map[v1alpha1.SiteName]error
	// declared are all sites that are declared, whether they may be used or not; true when declared Lost.
	declared map[v1alpha1.SiteName]bool
	members  map[v1alpha1.SiteName]*sites.Member
	// resolved is what faults are resolved against.
	resolved fault.World
	// tried are the literal faults that sites were asked to check, with what speaks against them.
	tried map[string]error
	// pods of the servers whose site answered; nil where it said that there is none.
	pods    map[v1alpha1.ServerName]*corev1.Pod
	clients map[v1alpha1.SiteName]*corev1.Pod
	login   *v1alpha1.Login
	// secret says whether the clients' password is there.
	secret bool
	// replicas are what the servers with data say of the group; silent ones are nil with an error.
	replicas map[v1alpha1.ServerName]replicaState
	objects  map[objectKey]seenObject
	// probes by fault, and the state of frozen engines by server.
	probes map[string][]v1alpha1.ProbeFigures
	latest map[v1alpha1.SiteName]history.Newest
	askErr map[v1alpha1.SiteName]error
	// clocks of the clients' machines, as this look compared them.
	clocks map[v1alpha1.SiteName]history.ClockReading
	frozen map[v1alpha1.ServerName]int
	// runOn are the engine's processes that are not stopped, of servers that are in frozen.
	runOn map[v1alpha1.ServerName]int
	// read is when all replicas had been asked; a look takes up to 20 s.
	read time.Time
	// asked is when the last look at a fault was over.
	asked time.Time
	// figures that were measured at servers, by fault, and what there is of what stressors take.
	figures map[string][]v1alpha1.EffectFigure
	machine fault.Machine
	// daemons of Chaos Mesh, by the sites of faults that last, as far as they could be looked at.
	daemons map[v1alpha1.SiteName]daemons
	// swept are what is left of the drill at all sites, when that was looked for; unswept are sites that did not answer.
	swept   []left
	unswept []v1alpha1.SiteName
	// forbidden are sites that do not let the manager look for objects of Chaos Mesh.
	forbidden []v1alpha1.SiteName
	// former are runs of other drills that are over and may have left something that concerns the target.
	former []formerRun
	followed
	runs *runSamples
	// done is what came of the steps; nil until they were carried out.
	done *results
}

// replicaState is what one server says.
type replicaState struct {
	group *mssql.Group
	err   error
}

// left is something of the drill at a site.
type left struct {
	site v1alpha1.SiteName
	obj  client.Object
}

// newObserved is what is known of a drill before anybody is asked.
func (r *Reconciler) newObserved(d Desired) *Observed {
	return &Observed{
		Desired:  d,
		now:      r.now(),
		siteErr:  map[v1alpha1.SiteName]error{},
		members:  map[v1alpha1.SiteName]*sites.Member{},
		pods:     map[v1alpha1.ServerName]*corev1.Pod{},
		clients:  map[v1alpha1.SiteName]*corev1.Pod{},
		replicas: map[v1alpha1.ServerName]replicaState{},
		objects:  map[objectKey]seenObject{},
		probes:   map[string][]v1alpha1.ProbeFigures{},
		latest:   map[v1alpha1.SiteName]history.Newest{},
		askErr:   map[v1alpha1.SiteName]error{},
		clocks:   map[v1alpha1.SiteName]history.ClockReading{},
		frozen:   map[v1alpha1.ServerName]int{},
		runOn:    map[v1alpha1.ServerName]int{},
		figures:  map[string][]v1alpha1.EffectFigure{},
	}
}

// observe reads everything around a drill.
func (r *Reconciler) observe(ctx context.Context, desired Desired) (*Observed, error) {
	d, w := desired.drill, r.newObserved(desired)
	if err := r.reachSites(ctx, w); err != nil {
		return nil, err
	}
	if d.DeletionTimestamp != nil || w.over() {
		r.forget(d)
	}
	if d.DeletionTimestamp != nil {
		// Where an engine is frozen has to be known; without, the freeze ends by itself.
		w.target, _ = r.resolve(ctx, d)
		r.askFrozen(ctx, w)
		r.sweep(ctx, w)
		return w, nil
	}
	if w.over() {
		r.sweepOnce(ctx, w)
		if slices.ContainsFunc(d.Status.Faults, mayFreeze) {
			w.target, _ = r.resolve(ctx, d)
			r.askFrozen(ctx, w)
		}
		return w, nil
	}
	w.runs = r.seen(d)
	if err := r.observeArchive(ctx, w); err != nil {
		return nil, err
	}
	t, err := r.resolve(ctx, d)
	if err != nil {
		return nil, err
	}
	w.target = t
	if !d.Spec.DryRun && t.missing == "" && (!active(d.Status.Phase) || d.Status.Phase == v1alpha1.DrillPreparing) {
		r.observeBegun(ctx, w)
	}
	if t.missing == "" && (w.mayBegin() || d.Spec.DryRun && !w.running()) {
		observeRights(ctx, w)
	}
	if err := r.others(ctx, w); err != nil || t.missing != "" {
		return w, err
	}
	if w.busy == "" && w.mayBegin() {
		// A run begins when nothing is left of the one before, whichever drill's that was.
		if err := r.sweepTarget(ctx, w); err != nil {
			return nil, err
		}
	}
	r.places(ctx, w)
	if d.Spec.DryRun && !w.running() {
		r.tryLiterals(ctx, w)
	}
	r.observeClients(ctx, w)
	r.observeReaders(ctx, w)
	r.observeObjects(ctx, w)
	r.observeDaemons(ctx, w)
	if w.running() {
		r.observeReplicas(ctx, w)
		w.read = r.now()
		w.roles()
		r.ask(ctx, w)
		w.asked = r.now()
	}
	return w, nil
}

// observeArchive finds out whether the run that has not begun was judged before. An archive that is of an earlier drill
// of the name, which a backup has brought back, says so too.
func (r *Reconciler) observeArchive(ctx context.Context, w *Observed) (err error) {
	d := w.drill
	if w.running() || d.Spec.DryRun {
		return nil
	}
	w.archived, err = archive.Written(
		ctx,
		r.direct,
		archive.Run{Namespace: d.Namespace, Drill: d.Name, UID: string(d.UID), ID: d.Spec.RunID},
	)
	if errors.Is(err, archive.ErrForeign) {
		w.archived, err = true, nil
	}
	return err
}

// over says that nothing of the drill needs to be looked at but what it left behind.
func (w *Observed) over() bool {
	s := w.drill.Status
	return s.Phase == v1alpha1.DrillCompleted && s.RunID == w.drill.Spec.RunID
}

// runID of the run that is under way, else of the one that is asked for.
func (w *Observed) runID() string {
	if active(w.drill.Status.Phase) {
		return w.drill.Status.RunID
	}
	return w.drill.Spec.RunID
}

// running says that clients are at work, or should be.
func (w *Observed) running() bool {
	switch w.drill.Status.Phase {
	case v1alpha1.DrillPreparing,
		v1alpha1.DrillBaseline,
		v1alpha1.DrillRunning,
		v1alpha1.DrillRecovering,
		v1alpha1.DrillJudging:
		return true
	}
	return false
}

// reachSites finds the members that may be used for the namespace. A site that is lost has nothing left to take back.
func (r *Reconciler) reachSites(ctx context.Context, w *Observed) error {
	var list v1alpha1.SiteList
	if err := r.hub.List(ctx, &list); err != nil {
		return fmt.Errorf("list the sites: %w", err)
	}
	w.declared = map[v1alpha1.SiteName]bool{}
	for i := range list.Items {
		site := &list.Items[i]
		name := v1alpha1.SiteName(site.Name)
		w.declared[name] = site.Spec.Lifecycle == v1alpha1.SiteLost
		if !slices.Contains(site.Spec.AllowedNamespaces, w.drill.Namespace) || site.Spec.Lifecycle == v1alpha1.SiteLost {
			continue
		}
		member, err := r.sites.Member(name)
		if err == nil {
			err = member.CheckNamespace(w.drill.Namespace)
		}
		if err != nil {
			w.siteErr[name] = err
			continue
		}
		w.members[name] = member
	}
	return nil
}

// holding are the sites that may have something of the run, by its status: objects of faults that were not seen to be
// gone, and clients. Clients of a run that is over end by themselves; they are no reason to ask for a site that is not
// declared any more.
func (w *Observed) holding() []v1alpha1.SiteName {
	s := w.drill.Status
	var list []v1alpha1.SiteName
	for _, f := range s.Faults {
		if f.State == v1alpha1.FaultWaiting || f.State == v1alpha1.FaultRemoved || f.State == v1alpha1.FaultSkipped {
			continue
		}
		for _, o := range f.Objects {
			if o.Site != "" && !o.Gone {
				list = append(list, v1alpha1.SiteName(o.Site))
			}
		}
	}
	for _, c := range s.Clients {
		if _, declared := w.declared[v1alpha1.SiteName(c.Site)]; declared || s.Phase != v1alpha1.DrillCompleted {
			list = append(list, v1alpha1.SiteName(c.Site))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func active(p v1alpha1.DrillPhase) bool {
	return p != "" && p != v1alpha1.DrillPending && p != v1alpha1.DrillCompleted
}

// places reads where everything is that a fault may concern.
func (r *Reconciler) places(ctx context.Context, w *Observed) {
	d, t := w.drill, w.target
	w.resolved = fault.World{
		Namespace: d.Namespace,
		Drill:     d.Name,
		RunID:     w.runID(),
		Group:     groupName(t),
		Servers:   map[v1alpha1.ServerName]fault.Server{},
		Sites:     map[v1alpha1.SiteName]fault.Site{},
		Roles:     map[v1alpha1.FaultRole]v1alpha1.ServerName{},
	}
	if t.group != nil {
		w.resolved.Term = t.group.Status.Term
	}
	for _, s := range t.servers {
		name := v1alpha1.ServerName(s.Name)
		w.resolved.Servers[name] = r.place(ctx, w, name, s.Spec.Site)
	}
	for _, name := range t.sites() {
		member := w.members[name]
		if member == nil {
			continue
		}
		site := fault.Site{APIServers: apiServer(member), LocalAPI: r.localAPI(ctx, member)}
		var pod corev1.Pod
		if err := member.Client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: clientsName(d)}, &pod); err == nil {
			site.Clients = []fault.Client{{Pod: pod.Name, Address: pod.Status.PodIP}}
		}
		w.resolved.Sites[name] = site
	}
	if d.Status.Accepted != nil && active(d.Status.Phase) {
		w.resolved.Left = max(drill.TimeLimit(d.Spec)-w.now.Sub(d.Status.Accepted.Time), time.Second)
	}
	w.roles()
}

// place of one server: its pod, and what its name is at each site.
func (r *Reconciler) place(
	ctx context.Context,
	w *Observed,
	name v1alpha1.ServerName,
	home v1alpha1.SiteName,
) fault.Server {
	s := fault.Server{Name: name, Site: home, Services: map[v1alpha1.SiteName]string{}}
	key := client.ObjectKey{Namespace: w.drill.Namespace, Name: s.Pod()}
	if member := w.members[home]; member != nil {
		var pod corev1.Pod
		switch err := member.Client.Get(ctx, key, &pod); {
		case apierrors.IsNotFound(err):
			w.pods[name] = nil
		case err == nil:
			w.pods[name] = &pod
			if pod.Status.PodIP != "" {
				s.Addresses = append(s.Addresses, pod.Status.PodIP)
			}
		}
	}
	for site, member := range w.members {
		var service corev1.Service
		if err := member.Client.Get(ctx, key, &service); err == nil && net.ParseIP(service.Spec.ClusterIP) != nil {
			s.Services[site] = service.Spec.ClusterIP
		}
		if site == home {
			continue
		}
		// Where pods of another site are not reached by their own addresses.
		var slices discoveryv1.EndpointSliceList
		if err := member.Client.List(ctx, &slices, client.InNamespace(key.Namespace),
			client.MatchingLabels{discoveryv1.LabelServiceName: key.Name}); err != nil {
			continue
		}
		for _, slice := range slices.Items {
			for _, e := range slice.Endpoints {
				s.Addresses = append(s.Addresses, e.Addresses...)
			}
		}
	}
	slices.Sort(s.Addresses)
	s.Addresses = slices.Compact(s.Addresses)
	return s
}

// apiServer is host:port at which other sites reach a site's API server; none when nobody has said where.
func apiServer(member *sites.Member) []string {
	var v orders.Voter
	if err := account.Reach(member, &v); err != nil {
		return nil
	}
	u, err := url.Parse(v.Server)
	if err != nil || u.Host == "" {
		return nil
	}
	if u.Port() == "" {
		return []string{net.JoinHostPort(u.Hostname(), "443")}
	}
	return []string{u.Host}
}

// localAPI is the ClusterIP of the Service kubernetes, where it may be read.
func (r *Reconciler) localAPI(ctx context.Context, member *sites.Member) []string {
	var s corev1.Service
	if err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: "default", Name: "kubernetes"}, &s); err != nil ||
		s.Spec.ClusterIP == "" {
		return nil
	}
	return []string{s.Spec.ClusterIP}
}

// observeClients reads what the clients are made of.
func (r *Reconciler) observeClients(ctx context.Context, w *Observed) {
	d := w.drill
	for name, member := range w.members {
		var pod corev1.Pod
		if err := member.Client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: clientsName(d)}, &pod); err == nil {
			w.clients[name] = &pod
		}
	}
	var l v1alpha1.Login
	if err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: clientsName(d)}, &l); err == nil {
		w.login = &l
	}
	var secret corev1.Secret
	if err := r.direct.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: clientsName(d)}, &secret); err == nil {
		w.secret = true
	}
}

// unusable says why a site cannot be used.
func (w *Observed) unusable(site v1alpha1.SiteName) error {
	if err := w.siteErr[site]; err != nil {
		return err
	}
	return errors.New("site " + string(site) + " is not declared, or does not allow the namespace")
}

func groupName(t *target) string {
	if t.group == nil {
		return ""
	}
	return t.group.Name
}
