// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

// SiteView is what one site can tell by itself, in a namespace. What the hub knows is not in it.
type SiteView struct {
	// Site is its name, empty when nothing here tells it.
	Site string `json:"site,omitempty"`
	// Namespace that was looked at.
	Namespace string `json:"namespace"`
	// Kept is when the site's own process last said that it keeps the names here; nil when it never did.
	Kept *time.Time `json:"kept,omitempty"`
	// Declared are the servers and groups that the hub told the site of when it last could; nil when it told nothing.
	Declared *orders.Names `json:"declared,omitempty"`
	// Servers are those whose pods are here.
	Servers []ServerHere `json:"servers"`
	// Groups are those that the site was told of, or votes in.
	Groups []GroupHere `json:"groups"`
	// Unknown says what could not be read, and why.
	Unknown []string `json:"unknown,omitempty"`
}

// ServerHere is the pod of a server at the site.
type ServerHere struct {
	Name string `json:"name"`
	Pod  string `json:"pod"`
	Node string `json:"node,omitempty"`
	// Phase of the pod, or Terminating; Ready is by its condition.
	Phase string `json:"phase"`
	Ready bool   `json:"ready"`
	// Agent is what the agent beside the engine answers; AgentError why there is no answer.
	Agent      *AgentAnswer `json:"agent,omitempty"`
	AgentError string       `json:"agentError,omitempty"`
}

// AgentAnswer is what an agent's /status says of its engine and of elections.
type AgentAnswer struct {
	Engine  string            `json:"engine"`
	Message string            `json:"message,omitempty"`
	Roles   map[string]string `json:"roles,omitempty"`
	Parts   struct {
		Election map[string]holder.GroupStatus `json:"election,omitempty"`
	} `json:"parts"`
}

// GroupHere is a group as the site sees it.
type GroupHere struct {
	Name string `json:"name"`
	// Declared is what the site was told of it, nil when nothing.
	Declared *orders.NamedGroup `json:"declared,omitempty"`
	// ListenerTo are the addresses to which the listener's name leads here, with the servers where that is known;
	// ListenerKnown is false when they could not be read.
	ListenerTo    []string `json:"listenerTo,omitempty"`
	ListenerKnown bool     `json:"listenerKnown"`
	// Vote is the group's Lease here, nil when there is none; VoteError is why it cannot be read.
	Vote      *VoteHere `json:"vote,omitempty"`
	VoteError string    `json:"voteError,omitempty"`
}

// VoteHere is this site's vote.
type VoteHere struct {
	Term   int64  `json:"term"`
	State  string `json:"state"`
	Server string `json:"server,omitempty"`
	// Renewed is by the clock of the agent that wrote it.
	Renewed *time.Time `json:"renewed,omitempty"`
	// Voters are the sites that vote, where the vote tells it.
	Voters []string `json:"voters,omitempty"`
	Paused bool     `json:"paused,omitempty"`
	// Quarantined are the servers that are kept apart after a forced failover.
	Quarantined []string `json:"quarantined,omitempty"`
	// Asked is the newest request of a person that was written here, Answered what became of it.
	Asked    *votes.Request `json:"asked,omitempty"`
	Answered *votes.Answer  `json:"answered,omitempty"`
	// Timelines of the last terms, oldest first.
	Timelines []votes.Timeline `json:"timelines,omitempty"`
}

// AskAgent asks the agent in a pod for its /status, by a token of the pod's namespace and verified by a CA (PEM).
type AskAgent func(ctx context.Context, namespace, pod, token string, ca []byte) ([]byte, error)

// ErrNoSite says that nothing in a namespace of a cluster is the operator's.
var ErrNoSite = errors.New("nothing here is geosql-operator's")

// NotTheHub tells from an error of Read that the cluster does not know the hub's kinds.
func NotTheHub(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// ReadSite reads what a site can tell of a namespace. What cannot be read is said in the view; the error is ErrNoSite,
// or that nothing at all could be read.
func ReadSite(ctx context.Context, site client.Reader, namespace string, ask AskAgent) (*SiteView, error) {
	v := &SiteView{Namespace: namespace, Servers: []ServerHere{}, Groups: []GroupHere{}}
	var pods corev1.PodList
	read := []struct {
		what string
		err  error
	}{
		{"which servers and groups are declared (ConfigMap " + orders.NamesObject + ")", v.readDeclared(ctx, site)},
		{"votes (Leases)", v.readVotes(ctx, site)},
		{
			"pods",
			site.List(
				ctx,
				&pods,
				client.InNamespace(namespace),
				client.MatchingLabels(sites.OwnLabels()),
				client.HasLabels{v1alpha1.LabelServer},
			),
		},
	}
	var errs []error
	for _, r := range read {
		if r.err != nil {
			errs = append(errs, r.err)
			v.Unknown = append(v.Unknown, fmt.Sprintf("%s: %v", r.what, r.err))
		}
	}
	if len(errs) == len(read) {
		return nil, fmt.Errorf("read what the site knows of namespace %s: %w", namespace, errors.Join(errs...))
	}
	for i := range pods.Items {
		v.Servers = append(v.Servers, serverHere(&pods.Items[i]))
	}
	if v.Declared == nil && len(v.Groups)+len(v.Servers) == 0 && len(errs) == 0 {
		return nil, fmt.Errorf(
			"namespace %s has no servers, no votes and no ConfigMap %s: %w",
			namespace,
			orders.NamesObject,
			ErrNoSite,
		)
	}
	slices.SortFunc(v.Servers, func(a, b ServerHere) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(v.Groups, func(a, b GroupHere) int { return cmp.Compare(a.Name, b.Name) })
	v.readListeners(ctx, site)
	v.name()
	v.askAgents(ctx, site, ask)
	return v, nil
}

func serverHere(pod *corev1.Pod) ServerHere {
	s := ServerHere{
		Name:  pod.Labels[v1alpha1.LabelServer],
		Pod:   pod.Name,
		Node:  pod.Spec.NodeName,
		Phase: string(pod.Status.Phase),
		Ready: sites.PodReady(pod),
	}
	if pod.DeletionTimestamp != nil {
		s.Phase = "Terminating"
	}
	return s
}

// readDeclared reads what the hub last told the site.
func (v *SiteView) readDeclared(ctx context.Context, site client.Reader) error {
	var object corev1.ConfigMap
	if err := site.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: orders.NamesObject}, &object); err != nil {
		return client.IgnoreNotFound(err)
	}
	names, err := orders.DecodeNames(object.Data)
	v.Declared = &names
	for i := range names.Groups {
		v.group(names.Groups[i].Name).Declared = &names.Groups[i]
	}
	return err
}

// group is that of a name, made if it is not known yet.
func (v *SiteView) group(name string) *GroupHere {
	for i := range v.Groups {
		if v.Groups[i].Name == name {
			return &v.Groups[i]
		}
	}
	v.Groups = append(v.Groups, GroupHere{Name: name})
	return &v.Groups[len(v.Groups)-1]
}

// readVotes reads the votes that are here, also of groups that nobody told of, and when the site's process was last
// there.
func (v *SiteView) readVotes(ctx context.Context, site client.Reader) error {
	var leases coordinationv1.LeaseList
	if err := site.List(ctx, &leases, client.InNamespace(v.Namespace)); err != nil {
		return err
	}
	for i := range leases.Items {
		l := &leases.Items[i]
		if l.Name == orders.PresenceLease && l.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy {
			if l.Spec.RenewTime != nil {
				v.Kept = &l.Spec.RenewTime.Time
			}
			v.Site = l.Labels[v1alpha1.LabelSite]
			continue
		}
		group, ok := votes.GroupOf(l.Name)
		vote := requests.Of(l)
		if !ok || vote.Err != nil && l.Labels[v1alpha1.LabelGroup] != group {
			continue
		}
		g := v.group(group)
		if vote.Err != nil {
			g.VoteError = vote.Err.Error()
			continue
		}
		g.Vote = voteHere(l, vote)
	}
	return nil
}

func voteHere(l *coordinationv1.Lease, vote requests.Vote) *VoteHere {
	r := vote.Record
	here := &VoteHere{
		Term:      r.Term,
		State:     string(r.State),
		Server:    r.Holder.Server,
		Voters:    r.Configuration().Sites(),
		Paused:    vote.Paused,
		Asked:     vote.Request,
		Answered:  vote.Answer,
		Timelines: vote.Timelines,
	}
	if l.Spec.RenewTime != nil {
		here.Renewed = &l.Spec.RenewTime.Time
	}
	for _, apart := range votes.QuarantinedReplicas(r) {
		here.Quarantined = append(here.Quarantined, apart.Server)
	}
	return here
}

// readListeners looks where the listeners' names lead at this site.
func (v *SiteView) readListeners(ctx context.Context, site client.Reader) {
	for i := range v.Groups {
		g := &v.Groups[i]
		if g.Declared == nil {
			continue
		}
		var found discoveryv1.EndpointSliceList
		if err := site.List(ctx, &found, client.InNamespace(v.Namespace),
			client.MatchingLabels{discoveryv1.LabelServiceName: g.Declared.Listener}); err != nil {
			v.Unknown = append(v.Unknown, fmt.Sprintf("where listener %s leads: %v", g.Declared.Listener, err))
			continue
		}
		g.ListenerKnown = true
		for _, s := range found.Items {
			for _, e := range s.Endpoints {
				if e.Conditions.Ready == nil || *e.Conditions.Ready {
					g.ListenerTo = append(g.ListenerTo, e.Addresses...)
				}
			}
		}
	}
}

// name finds the site's name by a server that was declared there, when the site's process did not tell it.
func (v *SiteView) name() {
	if v.Site != "" || v.Declared == nil {
		return
	}
	for _, s := range v.Declared.Servers {
		if slices.ContainsFunc(v.Servers, func(here ServerHere) bool { return here.Name == s.Name }) {
			v.Site = s.Site
			return
		}
	}
}

// askAgents asks the agents of the servers that are here, all at once: one that is silent takes its time.
func (v *SiteView) askAgents(ctx context.Context, site client.Reader, ask AskAgent) {
	if len(v.Servers) == 0 {
		return
	}
	var secret corev1.Secret
	err := site.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: credentials.ReaderName}, &secret)
	tokens := credentials.ReaderTokens(secret.Data)
	if err == nil && len(tokens) == 0 {
		err = errors.New("it has no token")
	}
	if err != nil {
		v.Unknown = append(v.Unknown, fmt.Sprintf("what the agents answer (Secret %s): %v", credentials.ReaderName, err))
		return
	}
	var asked sync.WaitGroup
	for i := range v.Servers {
		s := &v.Servers[i]
		asked.Go(func() {
			text, err := ask(ctx, v.Namespace, s.Pod, tokens[0], secret.Data[credentials.KeyCA])
			if err == nil {
				s.Agent = &AgentAnswer{}
				err = json.Unmarshal(text, s.Agent)
			}
			if err != nil {
				s.Agent, s.AgentError = nil, strings.TrimSpace(err.Error())
			}
		})
	}
	asked.Wait()
}
