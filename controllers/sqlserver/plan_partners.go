// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// formerPartners are the servers, sorted, whose certificates the engine trusts by a login of the operator's, and that
// no declared group has beside this one.
func formerPartners(d Desired, e Engine) []v1alpha1.ServerName {
	var former []v1alpha1.ServerName
	for name, login := range e.Logins {
		server, is := credentials.PartnerOf(name)
		if is && !slices.Contains(d.Partners, server) &&
			bytes.Equal(login.SID, credentials.SID(d.Server.Namespace, name)) {
			former = append(former, server)
		}
	}
	slices.Sort(former)
	return former
}

// planFormerPartners takes from servers that share no group with this one any more what let them connect to its
// endpoint: a replica that left a group, also on that replica itself, and all of a group that is gone.
// AvailabilityGroups make it, and make it again where one is declared meanwhile. A group that the engine hosts and
// nobody declares keeps all of its partners: it was kept, or is yet to be dropped. Nothing depends on it, so that it
// stands beside all else.
func planFormerPartners(d Desired, o Observed, p *reconcile.Plan) bool {
	e := o.Engine
	former := formerPartners(d, e)
	partners, err := e.Partners.Get()
	switch {
	case len(former) == 0 || administrator(d, o) != "" || err != nil || !e.GroupsKnown || partners.Distributed:
		return true
	case slices.ContainsFunc(e.Groups, func(group string) bool { return !contains(d.Groups, group) }):
		return true
	}
	for _, server := range former {
		host, login := credentials.HostName(server), credentials.PartnerLogin(server)
		if contains(partners.Hosts, host) {
			continue
		}
		seen := reconcile.Seen(
			fmt.Sprintf("no group that is declared or that the engine hosts has %s", host), e.Partners.Err())
		rest := len(p.Aside)
		if partners.Connectors[login] && partners.Endpoint != "" {
			distrust(p, seen, tsql.RevokeConnectOnEndpoint(partners.Endpoint, login, host))
		}
		for _, certificate := range partners.Certificates[login] {
			distrust(p, seen, tsql.DropPartnerCertificate(certificate, host))
		}
		if partners.Users[login] == login {
			distrust(p, seen, tsql.DropPartnerUser(login, host))
		}
		if len(p.Aside) == rest {
			// Only once all else was seen to be gone: it is by the login that the rest is found.
			distrust(p, seen, tsql.DropPartnerLogin(login, host))
		}
	}
	return true
}

// distrust adds a statement beside the others, as sa, which owns what it takes away.
func distrust(p *reconcile.Plan, seen reconcile.Evidence, s tsql.Statement) {
	p.DestroyBeside(seen, mssql.Execute{Role: credentials.RoleSA, Database: "master", Statement: s},
		v1alpha1.ReasonPartnerTrusted)
}

// contains compares names as the server's default collation does.
func contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
