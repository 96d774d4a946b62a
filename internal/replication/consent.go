// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
)

// Request is the open request for a new copy of a Subscription's tables, empty when there is none: it names the object
// itself, not one from which this was restored, and the articles as they are declared now; and neither the Subscription
// nor its Publication has carried it out.
func Request(p *v1alpha1.Publication, s *v1alpha1.Subscription) string {
	request := s.Annotations[v1alpha1.ReinitializeAnnotation]
	uid, which, _ := strings.Cut(request, "/")
	switch {
	case which == "" || uid != string(s.UID):
		return ""
	case Void(p, request):
		return ""
	case s.Status.Reinitialization != nil && s.Status.Reinitialization.Request == request:
		return ""
	case p.Status.Reinitialized != nil && slices.Contains(p.Status.Reinitialized.Requests, request):
		return ""
	}
	return request
}

// NewRequest is a request for a new copy of a Subscription's tables, with a word that tells it from others: for the
// articles as the Publication declares them now.
func NewRequest(p *v1alpha1.Publication, s *v1alpha1.Subscription, which string) string {
	return string(s.UID) + "/" + which + "/" + ArticlesDeclared(p)
}

// Void tells of a request that it was made when other articles were declared: it has agreed to what those cost. One
// that does not say what was declared is for whatever is.
func Void(p *v1alpha1.Publication, request string) bool {
	parts := strings.SplitN(request, "/", 3)
	return len(parts) == 3 && parts[2] != ArticlesDeclared(p)
}

// ArticleDeclared is a digest of what is declared of an article that reaches subscribers with a new copy. Another one
// is another change. What is not declared has no part in it: a field that the API gets later leaves the digests of all
// articles without it as they are.
func ArticleDeclared(p *v1alpha1.Publication, a v1alpha1.Article) string {
	var parts []string
	add := func(field, value string) {
		if value != "" {
			parts = append(parts, field+"="+value)
		}
	}
	add("table", strings.ToLower(a.Table))
	for _, c := range a.Columns {
		add("column", strings.ToLower(c))
	}
	add("filter", a.Filter)
	add("dataCompression", string(a.DataCompression))
	if p.Spec.SchemaOptions != v1alpha1.SchemaDefault {
		add("schemaOptions", string(p.Spec.SchemaOptions))
	}
	slices.Sort(parts)
	return digest(parts)
}

// ArticlesDeclared is a digest of what is declared of all articles, in whatever order.
func ArticlesDeclared(p *v1alpha1.Publication) string {
	all := make([]string, len(p.Spec.Articles))
	for i, a := range p.Spec.Articles {
		all[i] = ArticleDeclared(p, a)
	}
	slices.Sort(all)
	return digest(all)
}

// digestVersion says how a digest is made, by which a release that makes it otherwise knows those that were made so.
const digestVersion = "1-"

// digest of parts: its version and 32 hexadecimal digits.
func digest(parts []string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return digestVersion + hex.EncodeToString(sum[:16])
}

// Consents tells whether tables that a subscriber has may be replaced by a new copy now: it is declared so, or a person
// has asked for it. A subscription that nobody declares (nil) has only its publication's word.
func Consents(p *v1alpha1.Publication, s *v1alpha1.Subscription) bool {
	if s == nil {
		return p.Spec.Reinitialization == v1alpha1.ReinitializeAutomatic
	}
	return cmp.Or(s.Spec.Reinitialization, p.Spec.Reinitialization) == v1alpha1.ReinitializeAutomatic ||
		Request(p, s) != ""
}

// ReceiverName is how the record of a schedule's copies names a subscriber: server, in lower case, and database.
func ReceiverName(server, database string) string { return strings.ToLower(server) + "/" + database }

// AgreedBySchedule tells that a subscriber's table is a copy which a schedule has brought and will replace: its article
// was dropped to be added again.
func AgreedBySchedule(copies []v1alpha1.RequestedCopy, server, database, table string) bool {
	return slices.ContainsFunc(copies, func(c v1alpha1.RequestedCopy) bool {
		return strings.EqualFold(c.Table, table) && Contains(c.Subscribers, ReceiverName(server, database))
	})
}

// NameUndeclared is how messages and status name a subscriber that no Subscription declares.
func NameUndeclared(server, database string) string {
	return fmt.Sprintf("%s on %s, which no Subscription declares", database, server)
}

// WaysOut says what can be done when a new copy waits for subscribers that no Subscription declares, since nobody can
// ask for one there; empty when it waits for none of them.
func WaysOut(p *v1alpha1.Publication, undeclared []v1alpha1.Undeclared, waitingFor []string) string {
	var names, ends []string
	for _, u := range undeclared {
		if strings.EqualFold(u.Publication, p.Name) && Contains(waitingFor, NameUndeclared(u.Subscriber, u.Database)) {
			names = append(names, u.Database+" on "+u.Subscriber)
			ends = append(ends, fmt.Sprintf("EXEC sp_dropsubscription @publication = N'%s', @article = N'all', "+
				"@subscriber = N'%s', @destination_db = N'%s'", p.Name, u.Subscriber, u.Database))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Nobody can ask for %s: declare a Subscription of it and ask there; or end it at the publisher, "+
		"in database %s, if nobody needs it (%s); or set spec.reinitialization of Publication %s to Automatic, which agrees "+
		"for every subscriber that says nothing else",
		strings.Join(names, ", "), p.Spec.Database, strings.Join(ends, "; "), p.Name)
}

// Cost says what a copy costs.
func Cost(rows, bytes int64) string { return fmt.Sprintf("%d rows, %s", rows, Size(bytes)) }

// Size of something in bytes, as people are told.
func Size(bytes int64) string {
	size, unit := float64(bytes), "bytes"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, larger
	}
	if unit == "bytes" {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}
