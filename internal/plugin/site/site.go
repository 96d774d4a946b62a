// SPDX-License-Identifier: Apache-2.0

// Package site has the commands that join clusters to the hub and take them out.
package site

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/check"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
)

// siteFlags are what join and leave have in common, and what join adds.
type siteFlags struct {
	cli.MemberFlags
	output, of                 string
	hub                        bool
	operatorNamespace, server  string
	namespaces, addNamespaces  []string
	sourceRanges               []string
	storageClasses, links      []string
	region, zone, exposure     string
	tokenLife, wait            time.Duration
	dryRun, drills, newCluster bool
	takeOver                   bool
}

// NewCommand makes `kubectl geosql site`.
func NewCommand() *cobra.Command {
	cmd := cli.Family(&cobra.Command{Use: "site", Short: "Join clusters to the hub and take them out"})
	cmd.AddCommand(newJoinCommand(), newLeaveCommand(), newPruneCommand())
	return cmd
}

func (f *siteFlags) common(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.Add(flags)
	flags.StringVar(&f.operatorNamespace, "operator-namespace", sites.OperatorNamespace,
		"namespace of the operator in the hub, and of its account at the member")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would be done and do nothing")
}

func newJoinCommand() *cobra.Command {
	f := &siteFlags{}
	cmd := &cobra.Command{
		Use:   "join NAME (--context CONTEXT | --kubeconfig FILE --hub-kubeconfig FILE | --hub) --namespaces NAMESPACE,...",
		Short: "Make a cluster a site of the hub, or renew its credentials",
		Long: `Creates an account at the member with exactly the rights that the manager needs: in the given namespaces, and
to read nodes, volumes and storage classes, and has the member's API server keep the renewal of votes apart from other
requests. Creates a Site with that account's credentials in the hub.

It can be run again: to renew the credentials before they end, to add a namespace, or after an interruption. What is not
given again is kept.

One hub writes at a site: Lease hub.geosql.dev in each of its namespaces names it. A site that is another hub's is refused.
After the hub was made anew, or restored beside one that still runs, --take-over makes the site this hub's.

Drills need further rights: to start pods in these namespaces, to run commands in pods, also in engines, to create
objects of Chaos Mesh, and to see whether its daemons are ready. --drills grants them, --drills=false takes them away. A
new site is joined without them.

With --dry-run -o yaml it prints what it would apply, for a repository from which the clusters are kept: in a comment
before each object stands in which of the two it belongs, and --of shows those of one alone. Namespaces and Secrets are
not among them. Run it without --dry-run, too, to make the credentials.`,
		Example: `  kubectl geosql site join dublin --hub --namespaces web
  kubectl geosql site join tukwila --context tukwila-admin --namespaces web --region us-west \
    --source-ranges 10.101.0.0/16 --storage-class all=fast --storage-class backup=capacity \
    --link quincy=4ms/1Gbit --link dublin=150ms/1Gbit
  kubectl geosql site join quincy --kubeconfig quincy.yaml --hub-kubeconfig hub.yaml --namespaces web
  kubectl geosql site join quincy --kubeconfig quincy.yaml --hub-kubeconfig hub.yaml --namespaces web \
    --dry-run -o yaml --of site`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkOutput(); err != nil {
				return err
			}
			r, err := f.request(cmd, args[0])
			if err != nil {
				return err
			}
			if f.output != "" {
				return f.printManifests(cmd, r)
			}
			expires, err := join.Join(cmd.Context(), r)
			if err != nil {
				return err
			}
			f.sayDone(cmd, args[0], expires)
			if !f.dryRun {
				check.Joined(cmd.Context(), cmd.OutOrStdout(), check.Request{Hub: r.Hub, Member: r.Member,
					HubSite: r.Member == nil, Names: args, OperatorNamespace: f.operatorNamespace})
			}
			return nil
		},
	}
	f.common(cmd)
	flags := cmd.Flags()
	f.addOutput(flags)
	flags.BoolVar(&f.hub, "hub", false, "the site is the hub itself")
	flags.StringSliceVar(&f.namespaces, "namespaces", nil,
		"namespaces in which servers may run; made if they do not exist, at the member and in the hub")
	flags.StringSliceVar(&f.addNamespaces, "add-namespaces", nil,
		"namespaces besides those that the site has already; --namespaces replaces them and revokes rights in the others")
	flags.StringVar(
		&f.server,
		"kubeconfig-server",
		"",
		"URL at which the hub reaches the member's API server; unless given the one that it has, for a new site the "+
			"context's; with "+
			"--hub, the URL at which the other sites reach the hub's",
	)
	flags.StringArrayVar(&f.storageClasses, "storage-class", nil,
		"ROLE=CLASS, with a role of data, log, tempdb, backup, agent or all; repeatable, the last one wins")
	flags.StringArrayVar(&f.links, "link", nil, "SITE=ROUNDTRIP[/BANDWIDTH], such as dublin=150ms/1Gbit; repeatable")
	flags.StringVar(&f.region, "region", "", "region of the site")
	flags.StringVar(&f.zone, "zone", "", "zone within the region")
	flags.StringVar(&f.exposure, "exposure", "",
		"how pods are reached from other sites: FlatNetwork (default), NodePort or LoadBalancer; what load balancers are to "+
			"be like stands in the Site")
	flags.StringSliceVar(&f.sourceRanges, "source-ranges", nil,
		"ranges of the addresses by which other sites see connections from this site's pods, such as 10.101.0.0/16: those "+
			"of its pods, or of its nodes where they translate; they replace those that the site has")
	flags.BoolVar(&f.drills, "drills", false,
		"grant what drills need beyond that: pods, commands in pods, objects of Chaos Mesh; kept as it is unless given")
	flags.BoolVar(&f.newCluster, "new-cluster", false,
		"the site's cluster was made anew: another one than the Site's is refused unless given")
	flags.BoolVar(&f.takeOver, "take-over", false,
		"make the site this hub's, where another hub, or another copy of this one, writes there: that one writes nothing "+
			"more; such a site is refused unless given")
	flags.DurationVar(
		&f.tokenLife,
		"token-life",
		0,
		"how long the credentials shall last, 30 days at most, which is what they do unless given, or as long as those that "+
			"the site has; the API server may grant less. The manager renews them",
	)
	return cmd
}

func newLeaveCommand() *cobra.Command {
	f := &siteFlags{}
	cmd := &cobra.Command{
		Use:   "leave NAME [--context CONTEXT | --kubeconfig FILE --hub-kubeconfig FILE]",
		Short: "Take a site out: its Site, its credentials, its account",
		Long: `Deletes the Site (which waits until no server runs there), its credentials in the hub and, where the member is
named, the account and its rights there. Namespaces and what is in them stay. A cluster that is the hub's own, another
one than the Site's, or another hub's site by now is refused before anything is done.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.request(cmd, args[0])
			if err != nil {
				return err
			}
			return join.Leave(cmd.Context(), r, f.wait)
		},
	}
	f.common(cmd)
	cmd.Flags().DurationVar(&f.wait, "wait", time.Minute, "how long to wait for the Site to go")
	return cmd
}

func newPruneCommand() *cobra.Command {
	f := &siteFlags{}
	var yes bool
	cmd := &cobra.Command{
		Use:   "prune NAME (--context CONTEXT | --kubeconfig FILE --hub-kubeconfig FILE | --hub)",
		Short: "Show and take away names at a site of what the hub does not declare",
		Long: `Shows which names a site keeps of servers, groups and sites that the hub does not declare: what its own process was
told (ConfigMap geosql-names, Secret geosql-peers), Services and EndpointSlices. A hub that was made anew takes none of
them away, since it may not know them yet. Declare first what is to stay.

Takes them away once the site's name is typed. Names of a server whose pod is there, or of a group that has votes there,
stay, and so does everything else: pods, volumes, Secrets.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.request(cmd, args[0])
			if err != nil {
				return err
			}
			err = join.Prune(cmd.Context(), r, func() error {
				if yes {
					return nil
				}
				fmt.Fprintln(cmd.OutOrStdout(), "Type the site's name to take them away (--yes leaves this question out):")
				return cli.Confirmed(cmd.Context(), cmd, args[0])
			})
			if err == nil && f.dryRun {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing was done: --dry-run")
			}
			return err
		},
	}
	f.common(cmd)
	cmd.Flags().BoolVar(&f.hub, "hub", false, "the site is the hub itself")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// request opens the clusters and reads the flags.
func (f *siteFlags) request(cmd *cobra.Command, name string) (join.Request, error) {
	r := join.Request{Name: name, OperatorNamespace: f.operatorNamespace, Server: f.server, TokenLife: f.tokenLife,
		AddNamespaces: f.addNamespaces, NewCluster: f.newCluster, TakeOver: f.takeOver, DryRun: f.dryRun,
		Out: cmd.OutOrStdout()}
	if cmd.Flags().Changed("drills") {
		r.Drills = &f.drills
	}
	if cmd.Name() != "leave" && f.hub == f.Said() {
		return r, fmt.Errorf("say which cluster the site is: --context CONTEXT of another cluster, or --kubeconfig FILE of " +
			"another cluster beside --hub-kubeconfig FILE, or --hub")
	}
	r.Spec = v1alpha1.SiteSpec{Region: f.region, Zone: f.zone, AllowedNamespaces: f.namespaces,
		Exposure: v1alpha1.Exposure{Type: v1alpha1.ExposureType(f.exposure)}, SourceRanges: f.sourceRanges}
	for _, text := range f.storageClasses {
		if err := join.ParseStorageClass(&r.Spec.StorageClasses, text); err != nil {
			return r, err
		}
	}
	for _, text := range f.links {
		link, err := join.ParseLink(text)
		if err != nil {
			return r, err
		}
		r.Spec.Links = append(r.Spec.Links, link)
	}
	var err error
	r.Hub, r.Member, err = f.Open()
	return r, err
}

func (f *siteFlags) sayDone(cmd *cobra.Command, name string, expires time.Time) {
	out := cmd.OutOrStdout()
	switch {
	case f.dryRun:
		fmt.Fprintln(out, "nothing was done: --dry-run")
	case expires.IsZero():
		fmt.Fprintf(out, "site %s is joined; see it answer: kubectl get site %s\n", name, name)
	default:
		fmt.Fprintf(out, "site %s is joined until %s, when its credentials end; run the same command again before that "+
			"(the Site's condition CredentialsValid warns a week ahead). Whether the hub reaches it says: kubectl get site %s\n",
			name, expires.UTC().Format(time.RFC3339), name)
	}
}
