// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// Feeder is another subscription of the database, with its agent's jobs by server.
type Feeder struct {
	Former
	// Publication that feeds it; not read unless it is of the same published database.
	Publication reconcile.Reading[*mssql.Publication]
	// Mirrored are the Subscriptions for which the subscriber's sidecar mirrors that publication's snapshots, whether they
	// are declared still or not.
	Mirrored reconcile.Reading[[]string]
}

// Declarations are the other Subscriptions of the database, and the names of those of the namespace, as Desired has
// them.
type Declarations struct {
	Beside []Beside
	Names  []string
}

// name of a feeder, as messages say it.
func (f Feeder) name() string {
	return fmt.Sprintf("publication %s of %s at %s", f.Here.Publication, f.Here.PublisherDatabase, f.Here.Publisher)
}

// declares finds the Subscription that declares a feeder, nil when none does. Another publisher's publication of the
// same name is not what it declares; of a group the name of a replica that has left it may be known here still.
func (d Desired) declares(f Feeder) *Beside {
	for i := range d.Beside {
		b := &d.Beside[i]
		may := b.Publishers == nil || slices.ContainsFunc(b.Publishers, func(p replication.PublishedFrom) bool {
			return p.Feeds(f.Here) || p.Party.Group != "" && strings.EqualFold(p.Database, f.Here.PublisherDatabase)
		})
		if may && strings.EqualFold(b.Publication, f.Here.Publication) {
			return b
		}
	}
	return nil
}

// mirroredFor are those of the Subscriptions for which a sidecar mirrors a feeder's publication whose mirror is the
// feeder's: the one that its agent's job is marked with, or, where no mark says it, those that nobody declares. The
// orders for another database of the server go on.
func (d Desired) mirroredFor(f Feeder, mirrored []string) []string {
	marked := func(name string) bool {
		for _, j := range f.Jobs {
			if j != nil && j.Description == replication.Description(d.Subscription.Namespace, name) {
				return true
			}
		}
		return false
	}
	said := slices.ContainsFunc(mirrored, marked)
	return slices.DeleteFunc(slices.Clone(mirrored), func(name string) bool {
		return slices.Contains(d.Declared, name) || said && !marked(name)
	})
}

// others are tables that a feeder delivers and this subscription does not.
func (o Observed) others(p *mssql.Publication) (feeds bool, others []string) {
	for _, a := range p.Articles {
		if table := a.Schema + "." + a.Table; o.publishes(table) {
			feeds = true
		} else {
			others = append(others, table)
		}
	}
	slices.Sort(others)
	return feeds, others
}

// feeding are the feeders that deliver tables of the articles, or may: what one delivers whose publication was not read
// is not known.
func (o Observed) feeding(d Desired) []Feeder {
	if !d.snapshots() || len(o.registrations(d)) > 0 || o.here(d) != nil || len(o.tables(o.publishes)) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(o.Feeders), func(f Feeder) bool {
		if by := d.declares(f); by != nil && by.Tables != nil {
			return !slices.ContainsFunc(by.Tables, o.publishes)
		}
		p, err := f.Publication.Get()
		if err != nil {
			return false
		}
		feeds := false
		if p != nil {
			feeds, _ = o.others(p)
		}
		return !feeds
	})
}

// planFeeders does not let two agents deliver one table: the first row that both bring is a race, and the one that
// comes second fails for ever. A subscription that nobody declares any more is ended, its agent first and what proves
// it last, when the new one is to adopt; others refuse.
func planFeeders(d Desired, o Observed, p *replication.Plan) bool {
	if now := o.Declared; now != nil {
		d.Beside, d.Declared = now.Beside, now.Names
	}
	feeding := o.feeding(d)
	if len(feeding) > 0 && o.JobsErr != nil {
		return jobsUnknown(o, p)
	}
	for _, f := range feeding {
		if !d.adopts() {
			return p.Settle(
				conditions.Stalled(
					v1alpha1.ReasonSubscriberNotEmpty,
					fmt.Sprintf("tables of the articles in database %s on %s %s. %s",
						d.database(), d.host(), who(d, f), remedy(d, o, f)),
				),
			)
		}
		if reason := stays(d, o, f); reason != "" {
			return p.Settle(
				conditions.Stalled(
					v1alpha1.ReasonSubscriberNotEmpty,
					fmt.Sprintf("%s=true cannot be done: tables of the articles in database %s on %s %s. %s",
						v1alpha1.AdoptAnnotation, d.database(), d.host(), who(d, f), reason),
				),
			)
		}
		mirrored, err := f.Mirrored.Get()
		if err != nil {
			return p.Settle(conditions.Unknown(v1alpha1.ReasonSiteUnreachable, err.Error()))
		}
		for _, name := range d.mirroredFor(f, mirrored) {
			// Before what shows that there is a feeder: nobody would look for the orders of a Subscription that is gone.
			p.Add(TakeMirror{Subscriber: d.Subscriber, Distributor: d.System.Server, Subscription: name})
		}
		for _, server := range slices.Compact([]v1alpha1.ServerName{d.Subscriber, d.System.Server}) {
			p.RemoveJob(server, f.job(d), f.Jobs[server])
		}
		s := d.subscription()
		s.Publication, s.Pull = f.Here.Publication, f.Here.Pull
		p.Execute(o.primary(d), d.publisherDatabase(), tsql.DropSubscription(s))
		f.end(d, p)
	}
	return p.Proceed("the subscription that nobody declares any more is being ended")
}

// who says who feeds.
func who(d Desired, f Feeder) string {
	by := d.declares(f)
	_, err := f.Publication.Get()
	switch {
	case by != nil:
		return fmt.Sprintf("are fed by %s, as Subscription %s declares", f.name(), by.Name)
	case err != nil:
		return fmt.Sprintf("may be fed by %s, which no Subscription declares: what it delivers is not known", f.name())
	}
	return fmt.Sprintf("are still fed by %s, which no Subscription declares any more", f.name())
}

// stays says why a feeder is not ended, and what to do about it; empty when it may be.
func stays(d Desired, o Observed, f Feeder) string {
	if by := d.declares(f); by != nil {
		return fmt.Sprintf("Delete Subscription %s first, with reclaimPolicy Delete, or name another database", by.Name)
	}
	p, err := f.Publication.Get()
	switch {
	case err != nil:
		return byHand(d, f)
	case !strings.HasPrefix(p.Description, replication.Description(d.Subscription.Namespace, "")):
		return "Somebody else made that publication. " + byHand(d, f)
	}
	if _, others := o.others(p); len(others) > 0 {
		return fmt.Sprintf(
			"It delivers other tables, too (%s), which would stand still: declare its Subscription again, or name another "+
				"database",
			strings.Join(others[:min(len(others), 3)], ", "),
		)
	}
	return ""
}

func byHand(d Desired, f Feeder) string {
	return fmt.Sprintf(
		"End it at its publisher: EXEC sp_dropsubscription @publication = N'%s', @article = N'all', @subscriber = N'%s', "+
			"@destination_db = N'%s', "+
			"and at the subscriber with sp_droppullsubscription or sp_subscription_cleanup; or name another database",
		f.Here.Publication,
		d.host(),
		d.database(),
	)
}

// remedy says what to do without adoption.
func remedy(d Desired, o Observed, f Feeder) string {
	if reason := stays(d, o, f); reason != "" {
		return reason
	}
	return fmt.Sprintf(
		"Declare it again to keep it; or let this one take its place: kubectl annotate subscription %s -n %s %s=true ends "+
			"the former agent and subscription, and then gives a new copy",
		d.name(),
		d.Subscription.Namespace,
		v1alpha1.AdoptAnnotation,
	)
}
