// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/account"
	"geosql.dev/operator/internal/tsql"
)

// siteTimeout bounds the questions to one site about one thing.
const siteTimeout = 5 * time.Second

// The group's status waits for every answer, so that what does not answer holds up the news of a new primary.
var (
	// sitePatience is for an API server: after a fresh connection an answer takes about five round trips, of 150 ms to the
	// farthest.
	sitePatience = sites.Patience{Answering: siteTimeout, Silent: 2 * time.Second}
	// instancePatience is for all questions to one engine: about a dozen round trips after half a dozen for the login.
	instancePatience = sites.Patience{Answering: 10 * time.Second, Silent: 4 * time.Second}
)

// awaited is why a group that is yet to be made waits for a server; empty when it does not. One that is being deleted
// asks every engine that there is: servers that are deleted with it are not ready, and wait for the group themselves.
func awaited(group *v1alpha1.AvailabilityGroup, server *v1alpha1.SQLServer) string {
	ready := apimeta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
	if group.Status.GroupID != "" || !group.DeletionTimestamp.IsZero() || server.Status.Serves() {
		return ""
	}
	return reasonOf(ready)
}

// observe reads what is there of a group, unless its voters may only be unknown because this process has just begun.
func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	o := Observed{
		Now:       r.now(),
		Instances: map[v1alpha1.ServerName]Instance{},
		Agents:    map[v1alpha1.ServerName]Orders{},
		NotReady:  map[v1alpha1.ServerName]string{},
	}
	r.observeGroup(ctx, d, &o)
	for _, v := range o.Voters {
		if r.settling.Of(v.Err, r.now()) {
			return o, reconcile.Later(lookSoon)
		}
	}
	key := client.ObjectKeyFromObject(d.Group)
	r.silences.note(key, o.Voters, r.now())
	o.AwayFor = r.absences.note(key, o.away(d), r.now())
	o.UnseededFor = r.unseeded.note(key, o.awaitSeeding(d), r.now())
	unheard := o.unheard(d)
	o.UnheardFor, o.Restarted = r.unheard.note(key, unheard, r.now()), r.restarted.note(key, unheard, r.now())
	return o, nil
}

// takeServers takes over what the hub says of the group's servers.
func (o *Observed) takeServers(d Desired) {
	for _, name := range append(d.servers(), d.former()...) {
		server := d.objects[name]
		if server == nil {
			if slices.Contains(d.servers(), name) {
				o.Missing = append(o.Missing, name)
			}
			continue
		}
		if reason := awaited(d.Group, server); reason != "" && slices.Contains(d.servers(), name) {
			o.NotReady[name] = reason // a former one is asked whatever the hub thinks of it: it may have the group
		}
		pending := apimeta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionRestartPending)
		if isTrue(pending) && pending.Reason == v1alpha1.ReasonSidecarOutdated {
			o.Outdated = append(o.Outdated, name)
		}
	}
}

// observeGroup asks servers and sites. What does not answer is part of the observation, not an error.
func (r *Reconciler) observeGroup(ctx context.Context, d Desired, o *Observed) {
	o.takeServers(d)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for name, site := range d.Sites {
		if reason, ok := o.NotReady[name]; ok {
			mu.Lock()
			o.Instances[name] = Instance{Err: fmt.Errorf("SQLServer %s is not ready: %s", name, reason)}
			mu.Unlock()
			continue
		}
		wg.Go(func() {
			instance := r.observeInstance(ctx, d.Group, name, site)
			mu.Lock()
			defer mu.Unlock()
			o.Instances[name] = instance
		})
	}
	var votes map[v1alpha1.SiteName]Voter
	if d.fenced() {
		votes = r.observeVotes(ctx, d, o)
	}
	r.observeListener(ctx, d, o)
	r.observeBackups(ctx, d, o)
	wg.Wait()
	if d.fenced() {
		if d.Group.Status.GroupID == "" {
			o.FirstPod = r.firstPod(ctx, d)
		}
		compareVotes(d, o, votes)
		r.askAgents(ctx, d, o)
	}
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func reasonOf(c *metav1.Condition) string {
	if c == nil {
		return "new"
	}
	return c.Reason
}

// observeInstance asks one engine, under the operator's login.
func (r *Reconciler) observeInstance(
	ctx context.Context,
	group *v1alpha1.AvailabilityGroup,
	server v1alpha1.ServerName,
	site v1alpha1.SiteName,
) Instance {
	// An engine may answer while its site's API server does not; only a person's word that the site is lost counts.
	if _, err := r.sites.Member(site); errors.Is(err, sites.ErrSiteLost) {
		return Instance{Err: err}
	}
	patience := instancePatience
	patience.Of = host(server)
	ctx, cancel := r.sites.Wait(ctx, site, patience)
	defer cancel()
	var i Instance
	db, err := r.connector.Open(
		ctx,
		mssql.Target{Namespace: group.Namespace, Server: server, Role: credentials.RoleOperator},
	)
	if err != nil {
		return Instance{Err: err}
	}
	if i.Mirroring, err = mssql.ReadMirroring(ctx, db); err == nil {
		i.Logins, err = mssql.ReadLogins(ctx, db)
	}
	if err == nil {
		i.Group, err = mssql.ReadGroup(ctx, db, group.Name)
	}
	if err == nil && group.Spec.OnDeadReplica == v1alpha1.DeadReplicaDemoteToAsync && i.Group != nil &&
		i.Group.Role == string(ballot.RolePrimary) {
		var on bool
		on, err = mssql.ReadTraceFlag(ctx, db, tsql.TraceFlagLogReaderIgnoresAsynchronous)
		i.IgnoresAsynchronous = &on
	}
	if err != nil {
		return Instance{Err: sites.Explain(ctx, r.distrust(group.Namespace, server, err))}
	}
	if i.Group != nil && i.Group.Role == string(ballot.RolePrimary) {
		i.Logs, i.LogsErr = mssql.ReadLogs(ctx, db)
	}
	return i
}

// firstPod is read after the engines have answered, and not from the cache: what has answered ran in that pod, or in
// one that has ended since.
func (r *Reconciler) firstPod(ctx context.Context, d Desired) string {
	first := d.Group.Spec.InitialPrimary
	member, err := r.member(d.Sites[first], d.Group.Namespace)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var pod corev1.Pod
	if err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: d.Group.Namespace, Name: host(first)},
		&pod); err != nil ||
		pod.DeletionTimestamp != nil {
		return ""
	}
	return string(pod.UID)
}

// observeVotes reads the orders of the servers' agents, the Leases at the voters and at the sites that are to vote, of
// a group that is being deleted also at those that voted, and the accounts of the agents there.
func (r *Reconciler) observeVotes(ctx context.Context, d Desired, o *Observed) map[v1alpha1.SiteName]Voter {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for server, site := range d.Sites {
		wg.Go(func() {
			told := r.readOrders(ctx, d, server, site)
			mu.Lock()
			defer mu.Unlock()
			o.Agents[server] = told
		})
	}
	wg.Wait()
	o.accounts = map[v1alpha1.SiteName]voterAccess{}
	return readVotes(d, o.Agents, func(sites []v1alpha1.SiteName) []Voter { return r.observeVoters(ctx, d, o, sites) })
}

// compareVotes says what the votes and the agents' orders come to, once all instances have been asked.
func compareVotes(d Desired, o *Observed, votes map[v1alpha1.SiteName]Voter) {
	o.take(d, votes)
	for _, v := range o.Voters {
		if err := o.accounts[v.Site].err; errors.Is(err, account.ErrNoAPIServer) {
			o.VoterAddress = err
		}
	}
	for i, v := range o.Joining {
		if v.Err == nil {
			// A site that agents cannot be sent to does not get to vote.
			o.Joining[i].Err = o.accounts[v.Site].err
		}
	}
	o.Orders = ordersFor(d, *o, func(site v1alpha1.SiteName) orders.Voter { return o.accounts[site].voter })
	o.compareOrders(d)
}

// observeVoters reads the votes at these sites, and how the agents reach them.
func (r *Reconciler) observeVoters(ctx context.Context, d Desired, o *Observed, sites []v1alpha1.SiteName) []Voter {
	voters, access := make([]Voter, len(sites)), make([]voterAccess, len(sites))
	var wg sync.WaitGroup
	for i, site := range sites {
		wg.Go(func() { voters[i], access[i] = r.observeVoter(ctx, d.Group, site) })
	}
	wg.Wait()
	for i, site := range sites {
		o.accounts[site] = access[i]
	}
	return voters
}

func (r *Reconciler) observeVoter(
	ctx context.Context,
	group *v1alpha1.AvailabilityGroup,
	site v1alpha1.SiteName,
) (Voter, voterAccess) {
	member, err := r.member(site, group.Namespace)
	if err != nil {
		return Voter{Site: site, Err: err}, voterAccess{voter: orders.Voter{Site: string(site)}, err: err}
	}
	ctx, cancel := r.sites.Wait(ctx, site, sitePatience)
	defer cancel()
	return readVote(ctx, member, group), observeAccess(ctx, member, group)
}

// readVote reads a vote from the API server: a Lease that the cache does not have yet must not look as if it were gone.
func readVote(ctx context.Context, member *sites.Member, group *v1alpha1.AvailabilityGroup) Voter {
	v := Voter{Site: member.Name()}
	var lease coordinationv1.Lease
	err := member.APIReader.Get(
		ctx,
		client.ObjectKey{Namespace: group.Namespace, Name: votes.LeaseName(group.Name)},
		&lease,
	)
	switch {
	case apierrors.IsNotFound(err):
		v.Err = votes.ErrAbsent
	case err != nil:
		v.Err = fmt.Errorf("read the lease of group %s at voter %s: %w", group.Name, v.Site, sites.Explain(ctx, err))
	default:
		if v.Record, err = votes.DecodeLease(&lease); err != nil {
			v.Err = fmt.Errorf("%w: %w", errNoVote, err)
		}
		v.UID, v.Version = lease.UID, lease.ResourceVersion
		v.Paused = lease.Annotations[votes.AnnotationPaused] == "true"
	}
	return v
}

// upToDate compares what a server's agent was told with what it should know. Voters that do not answer now are not
// compared: what the agent has of them stays.
func upToDate(have, wanted orders.Group, now time.Time) bool {
	same := have.Paused == wanted.Paused && have.Automatic == wanted.Automatic && have.Namespace == wanted.Namespace &&
		have.RoleAtFailover == wanted.RoleAtFailover &&
		have.Ending == wanted.Ending && have.EndingID == wanted.EndingID && reflect.DeepEqual(have.Timings, wanted.Timings) &&
		reflect.DeepEqual(have.Configuration, wanted.Configuration) &&
		slices.Equal(have.Wanted, wanted.Wanted)
	return same && sameVoters(have.Voters, wanted.Voters, now) && sameVoters(have.Joining, wanted.Joining, now)
}

func sameVoters(have, wanted []orders.Voter, now time.Time) bool {
	return slices.EqualFunc(have, wanted, func(h, v orders.Voter) bool {
		switch {
		case h.Site != v.Site:
			return false
		case v.AccountUID == "" && v.Server == "":
			return true
		}
		return h.Server == v.Server && string(h.CA) == string(v.CA) && h.AccountUID == v.AccountUID &&
			h.Left(now) >= account.RenewBelow
	})
}

func (r *Reconciler) readOrders(
	ctx context.Context,
	d Desired,
	server v1alpha1.ServerName,
	site v1alpha1.SiteName,
) Orders {
	member, err := r.member(site, d.Group.Namespace)
	if err != nil {
		return Orders{Err: err}
	}
	ctx, cancel := r.sites.Wait(ctx, site, sitePatience)
	defer cancel()
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: d.Group.Namespace, Name: credentials.OrdersName(server)}
	err = member.APIReader.Get(ctx, key, &secret)
	if client.IgnoreNotFound(err) != nil {
		return Orders{
			Err: fmt.Errorf("read the orders of server %s at site %s: %w", server, site, sites.Explain(ctx, err)),
		}
	}
	if told, ok := orders.Secret(secret.Data).Of(d.name()); ok {
		return Orders{Told: &told}
	}
	// Unreadable orders are written anew.
	return Orders{Ended: orders.Ended(secret.Data)[d.name()]}
}

// observeListener finds the address of a listener object for which none is declared: that of its Service at the first
// primary's site or, when that server is gone or its site does not answer, at the next replica's.
func (r *Reconciler) observeListener(ctx context.Context, d Desired, o *Observed) {
	if d.listenerIP() != "" {
		return
	}
	for _, server := range append([]v1alpha1.ServerName{d.Group.Spec.InitialPrimary}, d.servers()...) {
		if o.ListenerIP = r.serviceIP(ctx, d, d.Sites[server]); o.ListenerIP != "" {
			return
		}
	}
}

// serviceIP is the ClusterIP of the listener's Service at a site; empty when there is none, or it is not known.
func (r *Reconciler) serviceIP(ctx context.Context, d Desired, site v1alpha1.SiteName) string {
	member, err := r.member(site, d.Group.Namespace)
	if err != nil {
		return ""
	}
	var service corev1.Service
	key := client.ObjectKey{Namespace: d.Group.Namespace, Name: d.listenerName()}
	if err := member.Client.Get(ctx, key, &service); err != nil || service.Labels[v1alpha1.LabelGroup] != d.name() {
		return ""
	}
	ip, err := netip.ParseAddr(service.Spec.ClusterIP)
	if err != nil {
		return ""
	}
	return ip.String()
}

// member is a site that answers and lets the namespace be used.
func (r *Reconciler) member(site v1alpha1.SiteName, namespace string) (*sites.Member, error) {
	if site == "" {
		return nil, errors.New("the server is at no site that is known")
	}
	member, err := r.sites.Member(site)
	if err != nil {
		return nil, err
	}
	if err := member.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	return member, nil
}
