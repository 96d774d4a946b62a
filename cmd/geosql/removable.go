// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// askWithin bounds how long the hub is asked what is left.
const askWithin = time.Minute

// removal is the release that is to be deleted, for the commands that people are shown.
type removal struct{ namespace, release, revision string }

func newRemovableCommand() *cobra.Command {
	r := removal{}
	cmd := &cobra.Command{
		Use:   "removable",
		Short: "Fail, and say what to do, while the hub has objects that only a manager ends",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("finding the hub's API server (in-cluster, or KUBECONFIG): %w", err)
			}
			hub, err := client.New(cfg, client.Options{Scheme: hubScheme()})
			if err != nil {
				return fmt.Errorf("making a client of the hub's API server: %w", err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), askWithin)
			defer cancel()
			return r.judge(ctx, hub, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the operator")
	flags.StringVar(&r.release, "release", "geosql-operator", "Helm's release of the operator")
	flags.StringVar(&r.revision, "revision", "1", "the release's revision")
	return cmd
}

// judge is an error while objects are left that only a manager ends, or nobody can say; out has what to do then.
func (r removal) judge(ctx context.Context, hub client.Client, out io.Writer) error {
	left, err := waiting(ctx, hub)
	if err != nil {
		return fmt.Errorf("finding out whether the operator may be removed: %w", err)
	}
	if len(left) == 0 {
		return nil
	}
	r.explain(out, left)
	return fmt.Errorf("%d objects are left that only a manager ends", len(left))
}

// held is an object with a finalizer of the operator's.
type held struct {
	kind, namespace, name string
	// topology that declares it, if one does.
	topology string
	// hub says of a Site that it is the hub's own.
	hub bool
}

// waiting lists what has a finalizer of the operator's, of all its kinds that the hub has.
func waiting(ctx context.Context, hub client.Client) ([]held, error) {
	var left []held
	for _, kind := range slices.Sorted(maps.Keys(hub.Scheme().KnownTypes(v1alpha1.GroupVersion))) {
		list, err := hub.Scheme().New(v1alpha1.GroupVersion.WithKind(kind))
		objects, is := list.(client.ObjectList)
		if err != nil || !is {
			continue
		}
		err = hub.List(ctx, objects)
		if meta.IsNoMatchError(err) {
			continue // the definition is gone, and with it all objects
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		err = meta.EachListItem(objects, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err != nil || !slices.ContainsFunc(object.GetFinalizers(), ours) {
				return err
			}
			site, _ := item.(*v1alpha1.Site)
			left = append(left, held{kind: strings.TrimSuffix(kind, "List"), namespace: object.GetNamespace(),
				name: object.GetName(), topology: object.GetLabels()[v1alpha1.LabelTopology],
				hub: site != nil && site.Spec.KubeconfigSecretRef == nil})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", kind, err)
		}
	}
	slices.SortFunc(left, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	return left, nil
}

// ours tells of a finalizer whether it is the operator's.
func ours(finalizer string) bool {
	return strings.HasPrefix(finalizer, v1alpha1.GroupVersion.Group+"/")
}

// explain names what is left, and the commands to go on, in their order.
func (r removal) explain(out io.Writer, left []held) {
	fmt.Fprint(out, "The operator is not removed. It alone ends what stands behind these objects: without it they, and "+
		"their\nnamespaces, would wait for ever to be gone.\n\n")
	named := map[string][]string{}
	for _, o := range left {
		named[o.namespace] = append(named[o.namespace], strings.ToLower(o.kind)+"/"+o.name)
	}
	for _, namespace := range slices.Sorted(maps.Keys(named)) {
		where := "in namespace " + namespace
		if namespace == "" {
			where = "in no namespace"
		}
		fmt.Fprintf(out, "  %s: %s\n", where, some(named[namespace]))
	}
	fmt.Fprint(out, "\nDelete them, one command after the other. Data stays unless a reclaimPolicy is Delete.\n\n")
	for _, command := range r.commands(left) {
		fmt.Fprintf(out, "  %s\n", command)
	}
	fmt.Fprintf(out, "\nTo keep the operator, which Helm takes for half uninstalled now:\n\n"+
		"  helm rollback %s %s -n %s\n\n", r.release, r.revision, r.namespace)
	fmt.Fprint(out, "To remove it all the same, helm uninstall --no-hooks: docs/uninstall.md says what is to be done then.\n")
}

// commands end what is left: of each namespace the Topologies, which take their objects away in good order, and what
// none of them declares; then the sites. A namespace has one command, which asks for all deletions before it waits: a
// server that a Topology declares stays until a group or a store that none declares is gone, and the other way round.
func (r removal) commands(left []held) (all []string) {
	topologies := map[string][]string{}
	for _, o := range left {
		if o.kind == "Topology" {
			topologies[o.namespace] = append(topologies[o.namespace], o.name)
		}
	}
	kinds := map[string][]string{}
	for namespace := range topologies {
		kinds[namespace] = []string{resource("Topology")}
	}
	for _, o := range left {
		kind := resource(o.kind)
		if o.namespace != "" && !slices.Contains(kinds[o.namespace], kind) &&
			!slices.Contains(topologies[o.namespace], o.topology) {
			kinds[o.namespace] = append(kinds[o.namespace], kind)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, fmt.Sprintf("kubectl delete %s --all -n %s", strings.Join(kinds[namespace], ","), namespace))
	}
	for _, o := range left {
		if o.kind != "Site" {
			continue
		}
		helm, geosql := " --kube-context CONTEXT", " --context CONTEXT"
		if o.hub {
			helm, geosql = "", ""
		}
		all = append(all, "helm uninstall geosql-site -n "+r.namespace+helm, "kubectl geosql site leave "+o.name+geosql)
	}
	return append(all, fmt.Sprintf("helm uninstall %s -n %s", r.release, r.namespace))
}

// resource is how kubectl is told of a kind. Others have Backups and Subscriptions, too, and kubectl would take theirs.
func resource(kind string) string {
	return strings.ToLower(kind) + "." + v1alpha1.GroupVersion.Group
}

// most is how many objects of a namespace are named.
const most = 20

// some names so many objects, and how many there are besides.
func some(names []string) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
