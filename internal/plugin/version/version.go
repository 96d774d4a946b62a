// SPDX-License-Identifier: Apache-2.0

// Package version has the command that shows which versions of the project, Kubernetes and SQL Server work together.
package version

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	own "geosql.dev/operator/internal/version"
)

// deployments are those that the chart makes, in the hub and at a site.
var deployments = []string{"geosql-operator", "geosql-site"}

type versionFlags struct {
	cli.HubFlags
	operatorNamespace string
	client            bool
}

// NewCommand makes `kubectl geosql version`.
func NewCommand() *cobra.Command {
	f := &versionFlags{}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of plugin, operator, agents, Kubernetes and SQL Server",
		Long: `Shows the plugin's version, what it is made for, and what runs in the context's cluster: Kubernetes, the
operator's images, the images of the agents in the namespace, and the versions that the engines of its SQLServers gave.
What cannot be read is not known, with the reason.`,
		Example: `  kubectl geosql version -A
  kubectl geosql version --client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintf(out, "plugin\t%s\n", own.String())
			fmt.Fprintf(out, "made for\tKubernetes %s or later; SQL Server %s, not yet tried on Microsoft's image\n",
				own.MinKubernetes, own.SQLServer)
			if !f.client {
				f.show(cmd.Context(), out)
			}
			return out.Flush()
		},
	}
	f.Add(cmd)
	f.AddAllNamespaces(cmd)
	cmd.Flags().Lookup("context").Usage = "context of the hub or of a site; the current one unless given"
	cmd.Flags().StringVar(&f.operatorNamespace, "operator-namespace", sites.OperatorNamespace,
		"namespace of the operator in the context's cluster")
	cmd.Flags().BoolVar(&f.client, "client", false, "show the plugin's version and ask no cluster")
	return cmd
}

// show asks the cluster within cli.ReadTimeout.
func (f *versionFlags) show(ctx context.Context, out io.Writer) {
	cluster, namespace, err := f.Open()
	if err != nil {
		fmt.Fprintf(out, "cluster\tnot known: %v\n", err)
		return
	}
	lines(ctx, out, join.Cluster{Config: f.Config, Client: cluster}, namespace, f.operatorNamespace)
}

// Describe shows the versions of what runs in a cluster, a line for each.
func Describe(ctx context.Context, w io.Writer, cluster join.Cluster, namespace, operatorNamespace string) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	lines(ctx, out, cluster, namespace, operatorNamespace)
	_ = out.Flush()
}

func lines(ctx context.Context, out io.Writer, at join.Cluster, namespace, operatorNamespace string) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	line := func(name, text string, err error) {
		if err != nil {
			text = "not known: " + err.Error()
		}
		fmt.Fprintf(out, "%s\t%s\n", name, text)
	}
	text, err := kubernetes(at.Config)
	line("Kubernetes", text, err)
	if cli.Silent(err) {
		return
	}
	text, err = operator(ctx, at.Client, operatorNamespace)
	line("operator", text, err)
	text, err = agents(ctx, at.Client, namespace)
	line("agents", text, err)
	text, err = engines(ctx, at.Client, namespace)
	line("engines", text, err)
}

// kubernetes is the version of the API server.
func kubernetes(config *rest.Config) (string, error) {
	config = rest.CopyConfig(config)
	config.Timeout = cli.ReadTimeout
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", config.Host, err)
	}
	info, err := asking.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", config.Host, err)
	}
	return info.GitVersion, nil
}

// operator is the image of each of the operator's Deployments.
func operator(ctx context.Context, cluster client.Reader, namespace string) (string, error) {
	var found []string
	for _, name := range deployments {
		var d appsv1.Deployment
		err := cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &d)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read Deployment %s/%s: %w", namespace, name, err)
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			found = append(found, name+" "+c.Image)
		}
	}
	if len(found) == 0 {
		return "", errors.New("namespace " + namespace + " has none of the Deployments " + strings.Join(deployments, ", "))
	}
	return strings.Join(found, ", "), nil
}

// agents are the images of the agents beside the servers that have their pods in this cluster.
func agents(ctx context.Context, cluster client.Reader, namespace string) (string, error) {
	var pods corev1.PodList
	if err := cluster.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelServer}); err != nil {
		return "", fmt.Errorf("list the pods of servers: %w", err)
	}
	images := map[string]int{}
	for _, p := range pods.Items {
		for _, c := range p.Spec.Containers {
			if c.Name == sqlserver.ContainerAgent {
				images[c.Image]++
			}
		}
	}
	return counted(images, "agents here"), nil
}

// engines are the versions that the hub has of the engines, of whatever site.
func engines(ctx context.Context, cluster client.Reader, namespace string) (string, error) {
	var servers v1alpha1.SQLServerList
	if err := cluster.List(ctx, &servers, client.InNamespace(namespace)); err != nil {
		return "", fmt.Errorf("list the SQLServers, which the hub has: %w", err)
	}
	versions := map[string]int{}
	for _, s := range servers.Items {
		if s.Status.Version == "" {
			versions["not known"]++
			continue
		}
		versions[s.Status.Version]++
	}
	return counted(versions, "servers"), nil
}

// counted shows how many there are of each.
func counted(of map[string]int, what string) string {
	if len(of) == 0 {
		return "no " + what
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", name, of[name]))
	}
	return strings.Join(parts, ", ")
}
