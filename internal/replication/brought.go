// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
)

// BroughtTo is the folder of the subscriber's pod into which a person brings the files of a Subscription's snapshots;
// empty where they are fetched.
func BroughtTo(p *v1alpha1.Publication, s *v1alpha1.Subscription) string {
	folder := p.Brought(s)
	if folder == "" {
		return ""
	}
	return conf.BroughtDir + "/" + folder
}

// PriceTo says what a copy of articles to a Subscription costs: what Price says, with how it is sent, or what a person
// brings.
func PriceTo(
	p *v1alpha1.Publication,
	s *v1alpha1.Subscription,
	size *v1alpha1.CopySize,
	articles int,
	r Route,
) string {
	to := BroughtTo(p, s)
	switch {
	case to == "" && p.Packs(s):
		return Price(size, articles, r) + " (packed once at the distributor, of which less goes over the link)"
	case to == "":
		return Price(size, articles, r)
	}
	text := "whose size is not measured yet"
	if size != nil {
		text = Cost(size.Rows, size.Bytes)
	}
	return fmt.Sprintf("%s (a person brings its files to %s of %s; over the link goes the list of them alone)", text, to,
		credentials.HostName(s.Spec.Subscriber.Server))
}
