// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites/join"
)

// Names that the chart gives to the programs' pods and containers.
const (
	labelName        = "app.kubernetes.io/name"
	managerPods      = "geosql-operator"
	managerContainer = "manager"
	processPods      = "geosql-site"
	processContainer = "site"
)

// source is a container that writes a log.
type source struct {
	// site where it is, for people.
	site           string
	namespace, pod string
	container      string
	cluster        kubernetes.Interface
}

// label is before each line.
func (s source) label() string { return s.site + "/" + s.pod + "/" + s.container }

// find looks for the containers. What of a site cannot be listed is unknown, with the reason.
func (f *flags) find(ctx context.Context, name string) (found []source, unknown []string, err error) {
	c, namespace, err := f.Open()
	if err != nil {
		return nil, nil, err
	}
	hub := join.Cluster{Config: f.Config, Client: c}
	if name == operatorName {
		found, err = processes(ctx, hub, "hub", f.operatorNamespace, managerPods, managerContainer)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("namespace %s of the context's cluster has no pods of the manager (label %s=%s): name the hub in "+
				"--context, or --operator-namespace", f.operatorNamespace, labelName, managerPods)
		}
		return found, nil, err
	}
	server, site, err := declared(ctx, c, namespace, name)
	switch {
	case meta.IsNoMatchError(err):
		return f.findAtSite(ctx, hub, namespace, name)
	case cli.Silent(err):
		return nil, nil, fmt.Errorf("%w; if the hub is away, name in --context the site where the pods are", err)
	case err != nil:
		return nil, nil, err
	case server != nil:
		found, err = f.ofServer(ctx, hub, server)
		return found, nil, err
	}
	return f.ofSite(ctx, hub, namespace, site)
}

// declared reads what the hub has of the name: one of both.
func declared(
	ctx context.Context, hub client.Client, namespace, text string,
) (*v1alpha1.SQLServer, *v1alpha1.Site, error) {
	server, site := &v1alpha1.SQLServer{}, &v1alpha1.Site{}
	var all []cli.Meant
	if name, err := cli.ObjectName(text, "SQLServer"); err == nil {
		all = append(all, cli.Meant{Object: server, Namespace: namespace, Name: string(cli.ServerName(name))})
	}
	if name, err := cli.ObjectName(text, "Site"); err == nil {
		all = append(all, cli.Meant{Object: site, Name: name})
	}
	ambiguous := fmt.Errorf("%s is a SQLServer and a Site: say gsql/%[1]s or gsite/%[1]s", text)
	switch found, err := cli.FindOne(ctx, hub, ambiguous, all...); {
	case err != nil:
		return nil, nil, err
	case found == server:
		return server, nil, nil
	}
	return nil, site, nil
}

// ofServer are the containers of a server.
func (f *flags) ofServer(ctx context.Context, hub join.Cluster, server *v1alpha1.SQLServer) ([]source, error) {
	var site v1alpha1.Site
	if err := cli.Find(ctx, hub.Client, &site, "", string(server.Spec.Site)); err != nil {
		return nil, err
	}
	at, _, err := f.contexts.Open(ctx, hub, &site)
	if err != nil {
		return nil, err
	}
	return f.atServer(at, site.Name, server.Namespace, server.Name)
}

// atServer are the containers of one server, as the flags say.
func (f *flags) atServer(at join.Cluster, site, namespace, server string) ([]source, error) {
	if f.manager {
		return nil, cli.Usage(errors.New("a server has no manager: --manager is for a site, or the operator"))
	}
	return f.containers(at, site, namespace, []string{server}, f.engine || !f.agent, f.agent || !f.engine)
}

// ofSite are the containers of the namespace's servers at a site, and its process.
func (f *flags) ofSite(
	ctx context.Context, hub join.Cluster, namespace string, site *v1alpha1.Site,
) ([]source, []string, error) {
	at, _, err := f.contexts.Open(ctx, hub, site)
	if err != nil {
		return nil, nil, err
	}
	var servers v1alpha1.SQLServerList
	reading, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	if err := hub.Client.List(reading, &servers, client.InNamespace(namespace)); err != nil {
		return nil, nil, fmt.Errorf("list SQLServers in the hub: %w", err)
	}
	var names []string
	for _, s := range servers.Items {
		if string(s.Spec.Site) == site.Name {
			names = append(names, s.Name)
		}
	}
	return f.atSite(ctx, at, site.Name, namespace, names)
}

// atSite are the containers of servers at a site, and its process, as the flags say.
func (f *flags) atSite(
	ctx context.Context, at join.Cluster, site, namespace string, servers []string,
) ([]source, []string, error) {
	all := !f.engine && !f.agent && !f.manager
	found, err := f.containers(at, site, namespace, servers, f.engine, f.agent || all)
	if err != nil {
		return nil, nil, err
	}
	var unknown []string
	if f.manager || all {
		of, err := processes(ctx, at, site, f.operatorNamespace, processPods, processContainer)
		if err != nil {
			unknown = append(unknown, err.Error())
		}
		found = append(found, of...)
	}
	if len(found)+len(unknown) == 0 {
		return nil, nil, fmt.Errorf("site %s has no servers of namespace %s, and no pods of its own process in namespace "+
			"%s (label %s=%s)", site, namespace, f.operatorNamespace, labelName, processPods)
	}
	return found, unknown, nil
}

// containers are those of servers.
func (f *flags) containers(
	at join.Cluster, site, namespace string, servers []string, engines, agents bool,
) ([]source, error) {
	cluster, err := kubernetes.NewForConfig(at.Config)
	if err != nil {
		return nil, fmt.Errorf("make a client for site %s: %w", site, err)
	}
	slices.Sort(servers)
	var found []source
	for _, server := range servers {
		s := source{site: site, namespace: namespace, cluster: cluster,
			pod: credentials.HostName(v1alpha1.ServerName(server))}
		if engines {
			s.container = sqlserver.ContainerEngine
			found = append(found, s)
		}
		if agents {
			s.container = sqlserver.ContainerAgent
			found = append(found, s)
		}
	}
	return found, nil
}

// processes are the containers of one of the chart's programs.
func processes(ctx context.Context, at join.Cluster, site, namespace, name, container string) ([]source, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	cluster, err := kubernetes.NewForConfig(at.Config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", site, err)
	}
	var pods corev1.PodList
	err = at.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{labelName: name})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s in namespace %s at %s: %w", name, namespace, site, err)
	}
	var found []source
	for _, p := range pods.Items {
		found = append(found, source{site: site, namespace: namespace, pod: p.Name, container: container, cluster: cluster})
	}
	return found, nil
}

// findAtSite looks at a site whose hub is away.
func (f *flags) findAtSite(
	ctx context.Context, at join.Cluster, namespace, text string,
) ([]source, []string, error) {
	reading, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	servers, err := cli.ServersHere(reading, at.Client, namespace)
	if err != nil {
		return nil, nil, err
	}
	site := siteName(reading, at.Client, namespace)
	if name, err := cli.ObjectName(text, "SQLServer"); err == nil {
		if server := string(cli.ServerName(name)); slices.Contains(servers, server) {
			found, err := f.atServer(at, orHere(site), namespace, server)
			return found, nil, err
		}
	}
	if name, err := cli.ObjectName(text, "Site"); err == nil && name == site {
		return f.atSite(ctx, at, site, namespace, servers)
	}
	there := slices.Clone(servers)
	if site != "" {
		there = append(there, "gsite/"+site)
	}
	return nil, nil, fmt.Errorf("this cluster is not the hub, and as a site has no %s in namespace %s; there are: %s; "+
		"name another site or the hub in --context", text, namespace, strings.Join(there, ", "))
}

// siteName is the name of the site that a cluster is, as its own process says; empty where it does not.
func siteName(ctx context.Context, at client.Reader, namespace string) string {
	var presence coordinationv1.Lease
	if err := at.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.PresenceLease}, &presence); err != nil {
		return ""
	}
	return presence.Labels[v1alpha1.LabelSite]
}

func orHere(site string) string {
	if site == "" {
		return "here"
	}
	return site
}
