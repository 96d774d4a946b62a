// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
)

type checkFlags struct {
	cli.MemberFlags
	operatorNamespace        string
	namespaces, sourceRanges []string
	storageClasses           []string
	exposure, output         string
	hub, strict, probe       bool
	probeImage               string
	otherConfig, otherName   string
}

// NewCommand makes `kubectl geosql check`.
func NewCommand() *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check [SITE...]",
		Short: "Look whether clusters are fit for servers, before and after they are joined",
		Long: `Looks at the hub and at what it says of its sites and, where a member cluster is named, as its administrator at
that: versions, rights, clocks, nodes, storage classes, namespaces with their quotas, webhooks, whether NetworkPolicies
are enforced, addresses of pods, and Chaos Mesh where drills are granted. Each finding says what to change. Nothing is
written, unless with --probe.

With --probe a small pod is made at the site and one at the hub's, or at that of --other-context, in a namespace that the
sites allow, reached as servers are: by its address, or by ports of its node. They resolve names, connect to each other at
the ports of servers, measure the round trip, send what fills packets, and connect to the other site's API server. It
takes about half a minute, some more where nothing answers. All that was made is taken away again; what an interrupted
check leaves ends after five minutes, and the next one takes it away. What could not be probed is not known, and never
ok.

The flags that site join has, too, say what a site is to declare; what is not given is as its Site has it. For a cluster
that is not joined yet name its context, and its namespaces.

Exit status: 0; 1 when there is a problem, with --strict also when there are warnings or something is not known; 2
when the command is not understood.`,
		Example: `  kubectl geosql check
  kubectl geosql check quincy --context quincy-admin --namespaces web --storage-class all=fast
  kubectl geosql check quincy --kubeconfig quincy.yaml --hub-kubeconfig hub.yaml -o json
  kubectl geosql check quincy --context quincy-admin --probe
  kubectl geosql check quincy --context quincy-admin --probe --other-context tukwila-admin`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	f.Add(flags)
	flags.StringVar(&f.operatorNamespace, "operator-namespace", sites.OperatorNamespace,
		"namespace of the operator in the hub, and of its account at the member")
	flags.BoolVar(&f.hub, "hub", false, "the site is the hub itself")
	flags.StringSliceVar(&f.namespaces, "namespaces", nil, "namespaces in which servers are to run")
	flags.StringArrayVar(&f.storageClasses, "storage-class", nil,
		"ROLE=CLASS, with a role of data, log, tempdb, backup, agent or all; repeatable, the last one wins")
	flags.StringSliceVar(&f.sourceRanges, "source-ranges", nil,
		"ranges of the addresses by which other sites see connections from this site's pods")
	flags.StringVar(&f.exposure, "exposure", "",
		"how pods are reached from other sites: FlatNetwork (default), NodePort or LoadBalancer")
	flags.StringVarP(&f.output, "output", "o", "text", "text, or json")
	flags.BoolVar(&f.strict, "strict", false, "fail also when there are warnings or something is not known")
	flags.BoolVar(&f.probe, "probe", false,
		"make a pod at the site and one at another, and look how they reach each other; they are taken away again")
	flags.StringVar(&f.probeImage, "probe-image", "", "image of these pods; that of the hub's manager unless given")
	flags.StringVar(&f.otherName, "other-context", "",
		"context of the other site's cluster, as its administrator; the hub's unless given")
	flags.StringVar(&f.otherConfig, "other-kubeconfig", "",
		"kubeconfig file of the other site's cluster; that of --kubeconfig unless given")
	return cli.UsageIsTwo(cmd)
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) error {
	r, err := f.request(args)
	if err != nil {
		return cli.Usage(err)
	}
	if r.Hub, r.Member, err = f.Open(); err != nil {
		return err
	}
	if f.otherConfig != "" || f.otherName != "" {
		other, err := cli.OpenCluster(cmp.Or(f.otherConfig, f.Kubeconfig()), f.otherName)
		if err != nil {
			return fmt.Errorf("the other site: %w", err)
		}
		r.Probe.Other = &other
	}
	o, err := r.observe(cmd.Context())
	if err != nil {
		return err
	}
	found, unseen := o.judge(), notSeen
	if r.Probe != nil {
		found, unseen = append(found, r.probe(cmd.Context(), o)...), notProbed
	}
	if f.output == "json" {
		err = writeJSON(cmd.OutOrStdout(), found)
	} else {
		err = write(cmd.OutOrStdout(), found, unseen)
	}
	if err != nil {
		return err
	}
	return verdict(found, f.strict)
}

// request reads the flags.
func (f *checkFlags) request(names []string) (Request, error) {
	r := Request{OperatorNamespace: f.operatorNamespace, Names: names, HubSite: f.hub, Said: v1alpha1.SiteSpec{
		AllowedNamespaces: f.namespaces, SourceRanges: f.sourceRanges,
		Exposure: v1alpha1.Exposure{Type: v1alpha1.ExposureType(f.exposure)}}}
	for _, text := range f.storageClasses {
		if err := join.ParseStorageClass(&r.Said.StorageClasses, text); err != nil {
			return r, err
		}
	}
	if f.probe {
		r.Probe = &Probe{Image: f.probeImage}
	}
	says := len(f.namespaces)+len(f.sourceRanges)+len(f.storageClasses) > 0 || f.exposure != ""
	switch {
	case f.output != "text" && f.output != "json":
		return r, fmt.Errorf("%q is no output: use text or json", f.output)
	case f.exposure != "" && !slices.Contains(v1alpha1.Exposures(), r.Said.Exposure.Type):
		return r, fmt.Errorf("%q is no exposure: use one of %v", f.exposure, v1alpha1.Exposures())
	case !f.probe && (f.probeImage != "" || f.otherConfig != "" || f.otherName != ""):
		return r, errors.New("--probe-image, --other-context and --other-kubeconfig go with --probe")
	case f.probe && !f.Said():
		return r, errors.New("--probe needs the cluster of a site: name it (--context), and the SITE")
	case f.hub && f.Said():
		return r, errors.New("say which cluster the site is: --hub, or another one")
	case (f.hub || f.Said() || says) && len(names) != 1:
		return r, errors.New("name the one SITE that the cluster is, or is to be, and what is said of it")
	}
	return r, nil
}
