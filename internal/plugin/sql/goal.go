// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites/join"
)

// Roles of a replica, as engines name them.
const (
	primary   = "PRIMARY"
	secondary = "SECONDARY"
)

// goal is where batches are to be executed.
type goal struct {
	namespace string
	server    v1alpha1.ServerName
	// group and role are what the server must be when it answers; empty of a server that was named itself.
	group, role string
	// site of the server, empty where that is not known.
	site string
	// at is the cluster that the server's pod is in, context the one of the kubeconfig that leads there, empty for the
	// current one.
	at      join.Cluster
	context string
	// secrets is where the credentials are read, and of names it.
	secrets client.Reader
	of      string
	// logins is where Logins are declared; nil where the hub is away.
	logins client.Client
}

// pod is that of the server.
func (g *goal) pod() string { return credentials.HostName(g.server) }

// asked is what a person named: a server, a group, or either.
type asked struct {
	name          string
	server, group bool
	secondary     bool
}

// parse reads SERVER or GROUP: a name alone, or KIND/NAME.
func parse(text string, toSecondary bool) (asked, error) {
	a := asked{secondary: toSecondary}
	if name, err := cli.ObjectName(text, "SQLServer"); err == nil {
		a.name, a.server = name, true
	}
	if name, err := cli.ObjectName(text, "AvailabilityGroup"); err == nil {
		a.name, a.group = name, true
	}
	if !a.server && !a.group {
		return a, fmt.Errorf("%q is neither a SQLServer nor an AvailabilityGroup: this command takes the name of one, alone "+
			"or as gsql/NAME or gag/NAME", text)
	}
	if toSecondary && !a.group {
		return a, errors.New("--secondary is for a group: a server that is named is asked whatever its role is")
	}
	return a, nil
}

// find looks for it in the hub, or at the site that the context leads to when that is no hub.
func (f *flags) find(ctx context.Context, a asked) (*goal, error) {
	cluster, namespace, err := f.Open()
	if err != nil {
		return nil, err
	}
	here := join.Cluster{Config: f.Config, Client: cluster}
	server, group, err := declared(ctx, cluster, namespace, a)
	switch {
	case meta.IsNoMatchError(err):
		return findAtSite(ctx, here, f.Context(), namespace, a)
	case cli.Silent(err):
		return nil, fmt.Errorf("%w; if the hub is away, name in --context the site where the server is", err)
	case err != nil:
		return nil, err
	}
	goal := &goal{namespace: namespace, secrets: cluster, of: "the hub", logins: cluster}
	if group != nil {
		goal.group = group.Name
		if goal.server, goal.role, err = replica(group, a.secondary); err != nil {
			return nil, err
		}
		server = &v1alpha1.SQLServer{}
		if err := cli.Find(ctx, cluster, server, namespace, string(goal.server)); err != nil {
			return nil, err
		}
	}
	goal.server, goal.site = v1alpha1.ServerName(server.Name), string(server.Spec.Site)
	var site v1alpha1.Site
	if err := cli.Find(ctx, cluster, &site, "", goal.site); err != nil {
		return nil, err
	}
	if goal.at, goal.context, err = f.contexts.Open(ctx, here, &site); err != nil {
		return nil, err
	}
	return goal, goal.look(ctx)
}

// declared reads what the hub has of the name: one of both.
func declared(
	ctx context.Context, hub client.Client, namespace string, a asked,
) (*v1alpha1.SQLServer, *v1alpha1.AvailabilityGroup, error) {
	server, group := &v1alpha1.SQLServer{}, &v1alpha1.AvailabilityGroup{}
	var all []cli.Meant
	if a.server && !a.secondary {
		all = append(all, cli.Meant{Object: server, Namespace: namespace, Name: string(cli.ServerName(a.name))})
	}
	if a.group {
		all = append(all, cli.Meant{Object: group, Namespace: namespace, Name: a.name})
	}
	switch found, err := cli.FindOne(ctx, hub, ambiguous(a.name), all...); {
	case err != nil:
		return nil, nil, err
	case found == server:
		return server, nil, nil
	}
	return nil, group, nil
}

// ambiguous refuses a name that is that of both: nobody knows which one is meant.
func ambiguous(name string) error {
	return fmt.Errorf("%s is a SQLServer and an AvailabilityGroup: say gsql/%[1]s or gag/%[1]s", name)
}

// replica chooses the server of a group: its primary, or a readable secondary.
func replica(group *v1alpha1.AvailabilityGroup, toSecondary bool) (v1alpha1.ServerName, string, error) {
	if !toSecondary {
		if group.Status.Primary == "" {
			return "", "", fmt.Errorf("no server is known to be the primary of group %s (%s): name a server", group.Name,
				roles(group))
		}
		return v1alpha1.ServerName(group.Status.Primary), primary, nil
	}
	var readable []v1alpha1.ReplicaStatus
	for _, r := range group.Status.Replicas {
		declared := slices.ContainsFunc(group.Spec.Replicas, func(d v1alpha1.Replica) bool {
			return string(d.Server) == r.Server && d.Readable && d.AvailabilityMode != v1alpha1.ConfigurationOnly
		})
		if declared && r.Role == secondary && r.Quarantined == nil {
			readable = append(readable, r)
		}
	}
	if len(readable) == 0 {
		return "", "", fmt.Errorf("group %s has no secondary that is readable (%s): declare readable: true of a replica, or "+
			"name a server", group.Name, roles(group))
	}
	healthy := func(r v1alpha1.ReplicaStatus) int {
		if r.SynchronizationHealth == "HEALTHY" {
			return 0
		}
		return 1
	}
	best := slices.MinFunc(readable, func(a, b v1alpha1.ReplicaStatus) int {
		return cmp.Or(cmp.Compare(healthy(a), healthy(b)), cmp.Compare(a.Server, b.Server))
	})
	return v1alpha1.ServerName(best.Server), secondary, nil
}

// roles are those of a group's replicas as its status has them.
func roles(group *v1alpha1.AvailabilityGroup) string {
	var all []string
	for _, r := range group.Status.Replicas {
		all = append(all, r.Server+" "+r.Role)
	}
	if len(all) == 0 {
		return "its status has no replicas"
	}
	return strings.Join(all, ", ")
}

// look sees whether the server's pod is there. Who may not get pods goes on without.
func (g *goal) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	var pod corev1.Pod
	err := g.at.Client.Get(ctx, client.ObjectKey{Namespace: g.namespace, Name: g.pod()}, &pod)
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("server %s has no pod %s/%s at %s: kubectl geosql status says why", g.server, g.namespace,
			g.pod(), g.place())
	case err != nil:
		return fmt.Errorf("read pod %s/%s at %s: %w", g.namespace, g.pod(), g.place(), err)
	case pod.Status.Phase != corev1.PodRunning:
		return fmt.Errorf("pod %s/%s at %s is %s and not Running: kubectl geosql status says why", g.namespace, g.pod(),
			g.place(), cmp.Or(string(pod.Status.Phase), "Pending"))
	}
	return nil
}

// place names the cluster for people.
func (g *goal) place() string {
	text := "the cluster of the context"
	if g.site != "" {
		text = "site " + g.site
	}
	if g.context != "" {
		text += " (context " + g.context + ")"
	}
	return text
}
