// SPDX-License-Identifier: Apache-2.0

// Package plan prints what applying Topologies would do, by the controllers' own plans.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/availabilitygroup"
	"geosql.dev/operator/controllers/backuppolicy"
	"geosql.dev/operator/controllers/backupstore"
	"geosql.dev/operator/controllers/distributor"
	"geosql.dev/operator/controllers/publication"
	"geosql.dev/operator/controllers/sqlserver"
	topologies "geosql.dev/operator/controllers/topology"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/plugin/overview"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/topology"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/tsql/ledger"
)

type planFlags struct {
	cli.HubFlags
	files      []string
	offline    bool
	agentImage string
}

// NewCommand makes `kubectl geosql plan`.
func NewCommand() *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Print what applying Topologies would do, T-SQL included, and change nothing",
		Long: `Compares the Topologies of files with the hub and prints which objects would be created, changed and removed,
why, and for new objects every step until they serve, with the T-SQL; secrets are shown as asterisks. The API server is
asked to check the manifest without keeping it. With --offline no cluster is asked: everything is new.
Of subscriptions it says what a copy costs, until when tables are kept, and how many rows a second their link lets
through. The steps are those of the controllers' own plans. A certificate's bytes, the listener's address and moments are
placeholders, and tables are taken to be there. What changes in an object that exists, and what a subscription needs,
depends on what the engines answer: the controllers plan that when they have asked, and only the fields that differ are
shown here. At the end of a Topology stand the statements that nobody has tried on SQL Server and that are in doubt, with
the IDs by which docs/certification.md explains them. The files may have objects of every kind, of geosql.dev and of other APIs: those that are not of a Topology
are named at the end and passed over.`,
		Example: `  kubectl geosql plan -f examples/msdn.yaml
  kubectl geosql plan -f examples/sites.yaml -f examples/msdn.yaml --offline`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.files) == 0 {
				return fmt.Errorf("say with -f which manifests to plan")
			}
			snapshot, err := cli.DecodeFiles(cmd, f.files)
			if err != nil {
				return err
			}
			if len(snapshot.Topologies) == 0 {
				return fmt.Errorf("there is no Topology in %s", strings.Join(f.files, ", "))
			}
			return f.run(cmd, snapshot)
		},
	}
	f.Add(cmd)
	cmd.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "file with manifests, - for standard input; repeatable")
	cmd.Flags().BoolVar(&f.offline, "offline", false, "ask no cluster: plan against an empty world")
	cmd.Flags().StringVar(&f.agentImage, "agent-image", "geosql-operator",
		"image of the operator, for the sidecar in the printed steps")
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command, snapshot *overview.Snapshot) error {
	var hub client.Client
	namespace := "default"
	if !f.offline {
		var err error
		if hub, namespace, err = f.Open(); err != nil {
			return fmt.Errorf("%w; or say --offline", err)
		}
	} else if f.Namespace != "" {
		namespace = f.Namespace
	}
	for i := range snapshot.Topologies {
		t := &snapshot.Topologies[i]
		if t.Namespace == "" {
			t.Namespace = namespace
		}
		p := planner{out: cmd.OutOrStdout(), topology: t, sites: snapshot.Sites, agentImage: f.agentImage, now: time.Now()}
		if err := p.observe(cmd.Context(), hub); err != nil {
			return err
		}
		if err := p.print(); err != nil {
			return err
		}
	}
	passOver(cmd.OutOrStdout(), snapshot.Declared, namespace)
	return nil
}

// passOver says which objects of the manifests have no plan: applying the files would make them, too.
func passOver(out io.Writer, declared []overview.Declared, namespace string) {
	head := "\n"
	for _, x := range declared {
		name, why := cmp.Or(x.Namespace, namespace)+"/"+x.Name, "only what Topologies declare is planned"
		switch {
		case x.Other != "":
			// Whether its kind has namespaces is not known here.
			name, why = path.Join(x.Namespace, x.Name), "it is of "+x.Other+", which is not the operator's"
		case x.Kind == "Topology":
			continue
		case x.Kind == "Site":
			name, why = x.Name, "it is taken as it is declared here, and not compared with the hub"
		}
		fmt.Fprintf(out, "%sPassed over %s %s: %s\n", head, x.Kind, name, why)
		head = ""
	}
}

// planner prints the plan of one Topology.
type planner struct {
	out        io.Writer
	topology   *v1alpha1.Topology
	sites      []v1alpha1.Site
	agentImage string
	now        time.Time
	observed   topologies.Observed
	objects    *topology.Objects
	// sent are the statements of the steps that were printed.
	sent []tsql.Statement
}

// observe reads the hub, unless there is none, and lets it check the manifest.
func (p *planner) observe(ctx context.Context, hub client.Client) error {
	if hub == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	var err error
	if p.observed, err = topologies.Observe(ctx, hub, p.topology.Namespace); err != nil {
		return err
	}
	var sites v1alpha1.SiteList
	if err := hub.List(ctx, &sites); err != nil {
		return fmt.Errorf("list Sites in the hub: %w", err)
	}
	for _, s := range sites.Items {
		if !slices.ContainsFunc(p.sites, func(x v1alpha1.Site) bool { return x.Name == s.Name }) {
			p.sites = append(p.sites, s)
		}
	}
	return check(ctx, hub, p.topology)
}

// check asks the API server, webhooks included, whether it would take the manifest. Nothing is kept.
func check(ctx context.Context, hub client.Client, t *v1alpha1.Topology) error {
	var existing v1alpha1.Topology
	err := hub.Get(ctx, client.ObjectKeyFromObject(t), &existing)
	trial := t.DeepCopy()
	switch {
	case apierrors.IsNotFound(err):
		err = hub.Create(ctx, trial, client.DryRunAll)
	case err == nil:
		t.UID = existing.UID
		trial.ResourceVersion = existing.ResourceVersion
		err = hub.Update(ctx, trial, client.DryRunAll)
	}
	if err != nil {
		return fmt.Errorf("the hub does not take Topology %s/%s: %w", t.Namespace, t.Name, err)
	}
	return nil
}

func (p *planner) print() error {
	steps, members, err := topologies.Preview(p.topology, p.observed)
	if err != nil {
		return err
	}
	if p.objects, err = topology.Expand(p.topology); err != nil {
		return err
	}
	count := map[topologies.Verb]int{}
	for _, s := range steps {
		count[s.Verb]++
	}
	fmt.Fprintf(
		p.out,
		"Topology %s/%s: %d to create, %d to change, %d to adopt, %d to remove, of %d objects\n",
		p.topology.Namespace,
		p.topology.Name,
		count[topologies.Create],
		count[topologies.Change],
		count[topologies.Adopt],
		count[topologies.Remove],
		members.Declared,
	)
	for _, m := range members.All {
		if m.Reason == "MemberConflict" {
			fmt.Fprintf(p.out, "\n! %s %s is left alone: %s\n", m.Kind, m.Name, m.Message)
		}
	}
	for _, s := range steps {
		mark := map[topologies.Verb]string{
			topologies.Create: "+", topologies.Change: "~", topologies.Adopt: "~", topologies.Remove: "-"}[s.Verb]
		fmt.Fprintf(p.out, "\n%s %s %s: %s\n", mark, s.Verb, s.Key, s.Reason)
		if s.Verb == topologies.Create {
			p.steps(s)
		}
		if s.Verb == topologies.Create || s.Verb == topologies.Change {
			p.copies(s)
			p.forecast(s)
		}
	}
	untried(p.out, ledger.All(), p.sent)
	return nil
}

// steps prints what the object's own controller would do until it serves.
func (p *planner) steps(s topologies.Step) {
	var all []reconcile.Step
	switch object := s.Object.(type) {
	case *v1alpha1.SQLServer:
		d := sqlserver.Desire(object, p.site(object.Spec.Site), p.agentImage, p.surroundings())
		all, _ = sqlserver.Preview(d, sqlserver.Observed{Now: p.now})
		if spread := sqlserver.Spread(d); spread != "" {
			fmt.Fprintf(p.out, "    %s\n", spread)
		}
	case *v1alpha1.AvailabilityGroup:
		d := availabilitygroup.Desired{Group: object, Sites: p.places(), Editions: p.editions(),
			Timings: ballot.NewGroup()}
		all = availabilitygroup.Preview(d, p.now)
	case *v1alpha1.Distributor:
		all = distributor.Preview(distributor.Imagine(object, p.publishers(object)))
	case *v1alpha1.Publication:
		d, primary := p.publication(object)
		all = publication.Preview(d, primary, p.now)
	case *v1alpha1.BackupStore:
		all = backupstore.Preview(object)
	case *v1alpha1.BackupPolicy:
		all = backuppolicy.Preview(p.policy(object))
	case *v1alpha1.Subscription:
		fmt.Fprintln(p.out, "    its steps are planned when its engines have answered; its conditions then say which is next")
	}
	for i, x := range all {
		fmt.Fprintf(p.out, "  %3d. %s\n", i+1, strings.ReplaceAll(x.Describe(), "\n", "\n       "))
		if e, ok := x.(mssql.Execute); ok {
			p.sent = append(p.sent, e.Statement)
		}
	}
}

func (p *planner) site(name v1alpha1.SiteName) v1alpha1.Site {
	for _, s := range p.sites {
		if s.Name == string(name) {
			return s
		}
	}
	return v1alpha1.Site{}
}

// places are the sites of all servers, those that the Topology declares and others.
func (p *planner) places() map[v1alpha1.ServerName]v1alpha1.SiteName {
	places := map[v1alpha1.ServerName]v1alpha1.SiteName{}
	for name, s := range p.servers() {
		places[name] = s.Site
	}
	return places
}

// editions of the servers.
func (p *planner) editions() map[v1alpha1.ServerName]v1alpha1.Edition {
	editions := map[v1alpha1.ServerName]v1alpha1.Edition{}
	for name, s := range p.servers() {
		editions[name] = s.DeclaredEdition()
	}
	return editions
}

// servers are those that are there and those that are declared, the declaration first.
func (p *planner) servers() map[v1alpha1.ServerName]v1alpha1.SQLServerSpec {
	servers := map[v1alpha1.ServerName]v1alpha1.SQLServerSpec{}
	for _, object := range p.observed.Objects {
		if s, ok := object.(*v1alpha1.SQLServer); ok {
			servers[v1alpha1.ServerName(s.Name)] = s.Spec
		}
	}
	for _, s := range p.objects.Servers {
		servers[v1alpha1.ServerName(s.Name)] = s.Spec
	}
	return servers
}

// publishers are the servers that publish through a distributor: those it names and those of the Publications.
func (p *planner) publishers(d *v1alpha1.Distributor) []v1alpha1.ServerName {
	who := slices.Clone(d.Spec.Publishers)
	for _, x := range p.objects.Publications {
		if string(x.Spec.Distributor) == d.Name {
			who = append(who, x.Spec.Publisher)
		}
	}
	var servers []v1alpha1.ServerName
	for _, w := range who {
		if w.Server != "" {
			servers = append(servers, w.Server)
		}
		for _, g := range p.groups() {
			if g.Name == string(w.AvailabilityGroup) {
				servers = append(servers, replication.PartyOf(g).Servers...)
			}
		}
	}
	return servers
}

// publication is what a Publication asks for, once its distributor is configured, with the server that publishes first.
func (p *planner) publication(x *v1alpha1.Publication) (publication.Desired, v1alpha1.ServerName) {
	d := publication.Desired{Publication: x, Subscriptions: p.subscriptions(x.Name)}
	for _, o := range p.distributors() {
		if o.Name == string(x.Spec.Distributor) {
			d.System = distributor.Imagine(o, nil).System
		}
	}
	if name := x.Spec.Publisher.Server; name != "" {
		d.Publisher = replication.Party{Name: "SQLServer " + string(name), Servers: []v1alpha1.ServerName{name},
			Address: string(name) + "-0"}
		return d, name
	}
	for _, g := range p.groups() {
		if g.Name == string(x.Spec.Publisher.AvailabilityGroup) {
			d.Publisher = replication.PartyOf(g)
			return d, p.writes(g)
		}
	}
	return d, ""
}

// subscriptions to a Publication, those that the Topology declares and others.
func (p *planner) subscriptions(to string) []v1alpha1.Subscription {
	var all []v1alpha1.Subscription
	for _, s := range p.objects.Subscriptions {
		if string(s.Spec.Publication) == to {
			all = append(all, *s)
		}
	}
	for _, object := range p.observed.Objects {
		s, ok := object.(*v1alpha1.Subscription)
		if ok && string(s.Spec.Publication) == to &&
			!slices.ContainsFunc(all, func(x v1alpha1.Subscription) bool { return x.Name == s.Name }) {
			all = append(all, *s)
		}
	}
	return all
}

// writes is the replica of a group that takes writes: its primary by the hub or, of a group that is yet to be made, the
// initial one, which may be gone afterwards.
func (p *planner) writes(g *v1alpha1.AvailabilityGroup) v1alpha1.ServerName {
	for _, object := range p.observed.Objects {
		if x, ok := object.(*v1alpha1.AvailabilityGroup); ok && x.Name == g.Name && x.Status.Primary != "" {
			return v1alpha1.ServerName(strings.TrimSuffix(x.Status.Primary, "-0"))
		}
	}
	return g.Spec.InitialPrimary
}

// policy is what a BackupPolicy asks for, once its target serves.
func (p *planner) policy(x *v1alpha1.BackupPolicy) backuppolicy.Desired {
	for _, g := range p.groups() {
		if g.Name == string(x.Spec.Target.AvailabilityGroup) {
			return backuppolicy.ImagineGroup(x, g, p.writes(g))
		}
	}
	server := &v1alpha1.SQLServer{}
	if server.Name = string(x.Spec.Target.Server); server.Name == "" {
		return backuppolicy.ImagineGroup(x, &v1alpha1.AvailabilityGroup{}, "") // of a group that no file has
	}
	server.Spec = p.servers()[x.Spec.Target.Server]
	return backuppolicy.ImagineServer(x, server)
}

// distributors that the Topology declares, and others.
func (p *planner) distributors() []*v1alpha1.Distributor {
	distributors := slices.Clone(p.objects.Distributors)
	for _, object := range p.observed.Objects {
		d, ok := object.(*v1alpha1.Distributor)
		if ok && !slices.ContainsFunc(distributors, func(x *v1alpha1.Distributor) bool { return x.Name == d.Name }) {
			distributors = append(distributors, d)
		}
	}
	return distributors
}

// groups that the Topology declares, and others.
func (p *planner) groups() []*v1alpha1.AvailabilityGroup {
	groups := slices.Clone(p.objects.Groups)
	for _, object := range p.observed.Objects {
		g, ok := object.(*v1alpha1.AvailabilityGroup)
		if ok && !slices.ContainsFunc(groups, func(x *v1alpha1.AvailabilityGroup) bool { return x.Name == g.Name }) {
			groups = append(groups, g)
		}
	}
	return groups
}

func (p *planner) surroundings() sqlserver.Surroundings {
	var around sqlserver.Surroundings
	for _, x := range p.objects.Groups {
		around.Groups = append(around.Groups, *x)
	}
	for _, x := range p.objects.Distributors {
		around.Distributors = append(around.Distributors, *x)
	}
	for _, x := range p.objects.Publications {
		around.Publications = append(around.Publications, *x)
	}
	for _, x := range p.objects.Subscriptions {
		around.Subscriptions = append(around.Subscriptions, *x)
	}
	for _, x := range p.objects.Stores {
		around.Stores = append(around.Stores, *x)
	}
	for _, x := range p.objects.Servers {
		around.Servers = append(around.Servers, *x)
	}
	for _, object := range p.observed.Objects {
		switch x := object.(type) {
		case *v1alpha1.SQLServer:
			if !slices.ContainsFunc(around.Servers, func(s v1alpha1.SQLServer) bool { return s.Name == x.Name }) {
				around.Servers = append(around.Servers, *x)
			}
		case *v1alpha1.Site:
			around.Sites = append(around.Sites, *x)
		}
	}
	return around
}
