// SPDX-License-Identifier: Apache-2.0

// Package distributor reconciles Distributors: the distribution database, the servers that may publish through it, and
// the link from each of them.
package distributor

import (
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
)

// Desired is what a Distributor asks for.
type Desired struct {
	Distributor *v1alpha1.Distributor
	System      replication.System
	// Publishers are the servers that publish or may: every data replica of a group. Sorted.
	Publishers []v1alpha1.ServerName
	// Missing are objects that are named and do not exist (yet).
	Missing []string
	// Publications that use the distributor, by name.
	Publications []string
	// Ending are those of them that are being deleted, and the Subscriptions to them that are with reclaimPolicy Delete:
	// each with its kind.
	Ending []string
	// Gone are servers that nobody expects back; read for a deletion alone.
	Gone sites.Gone
}

// adopts says whether what somebody else made may be taken over.
func (d Desired) adopts() bool { return d.Distributor.Annotations[v1alpha1.AdoptAnnotation] == "true" }

// others are the publishers beside the distributor itself.
func (d Desired) others() []v1alpha1.ServerName {
	return slices.DeleteFunc(slices.Clone(d.Publishers), func(s v1alpha1.ServerName) bool { return s == d.System.Server })
}

// Observed is the world around a distributor as it was read, without any decision.
type Observed struct {
	// Servers are the distributor and its publishers.
	Servers map[v1alpha1.ServerName]replication.Server
	// Owner is the agents' user in the distribution database, when there is one.
	Owner replication.Owner
	// OwnerErr is why that is not known.
	OwnerErr error
}

// gone says why a server does not answer and is not expected to any more, as a clause; empty when it may answer.
func (o Observed) gone(d Desired, server v1alpha1.ServerName) string {
	return replication.GoneWhy(d.Gone, o.Servers, server)
}

// linked are the publishers that are declared and those that the distributor admits, beside itself: a Publication that
// is gone leaves its servers linked. Where nobody expects the distributor's server back, which alone knows whom it
// admits, they are all servers of the namespace but those that say that they have nothing of it. Sorted.
func (o Observed) linked(d Desired) []v1alpha1.ServerName {
	names := d.others()
	if o.gone(d, d.System.Server) != "" {
		names = append(names, slices.DeleteFunc(d.Gone.Servers(), func(name v1alpha1.ServerName) bool {
			return name == d.System.Server || o.apart(d, name)
		})...)
	}
	if at := o.distributor(d); at != nil {
		for _, p := range at.Publishers {
			if name, ours := replication.ServerOf(p.Name); ours && name != d.System.Server &&
				strings.EqualFold(p.Database, d.System.Database) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// apart tells that a server says that it has another distributor, or none. One that may not tell says nothing.
func (o Observed) apart(d Desired, server v1alpha1.ServerName) bool {
	if _, ok := replication.Usable(server, o.Servers[server]); !ok {
		return false
	}
	have := o.Servers[server].State
	return !have.HasDistributor || have.Distributor != "" && !strings.EqualFold(have.Distributor, d.System.Host())
}

// foreign are the instances that the distributor admits and the operator cannot ask, sorted.
func (o Observed) foreign(d Desired) []string {
	at := o.distributor(d)
	if at == nil {
		return nil
	}
	var names []string
	for _, p := range at.Publishers {
		if _, ours := replication.ServerOf(p.Name); !ours && strings.EqualFold(p.Database, d.System.Database) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// published are the databases that a server publishes through the distributor, sorted. That of a database that is not
// ONLINE is known too: sys.databases has it.
func (o Observed) published(d Desired, server v1alpha1.ServerName) []string {
	have := o.Servers[server].State
	if have == nil || have.Distributor != "" && !strings.EqualFold(have.Distributor, d.System.Host()) {
		return nil
	}
	var names []string
	for _, database := range have.Databases {
		if database.Published || database.MergePublished {
			names = append(names, database.Name)
		}
	}
	slices.Sort(names)
	return names
}
