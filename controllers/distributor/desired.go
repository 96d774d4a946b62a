// SPDX-License-Identifier: Apache-2.0

// Package distributor reconciles Distributors: the distribution database, the servers that may publish through it, and
// the link from each of them.
package distributor

import (
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/replication"
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

// linked are the publishers that are declared and those that the distributor admits, beside itself: a Publication that is
// gone leaves its servers linked. Sorted.
func (o Observed) linked(d Desired) []v1alpha1.ServerName {
	names := d.others()
	if at := o.distributor(d); at != nil {
		for _, p := range at.Publishers {
			name := v1alpha1.ServerName(strings.TrimSuffix(strings.ToLower(p.Name), "-0"))
			if credentials.HostName(name) == strings.ToLower(p.Name) && name != d.System.Server {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
