// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// planEndpoints gives every replica that answers a master key, a certificate of its own and the mirroring endpoint.
// sa does it: CREATE MASTER KEY and CREATE CERTIFICATE in master take CONTROL there. An endpoint that is there is
// started by the operator's login, which may alter it.
func planEndpoints(d Desired, o Observed, p *reconcile.Plan) bool {
	for _, s := range o.answering(d) {
		m := o.Instances[s].Mirroring
		if !m.MasterKey {
			p.Add(CreateMasterKey{Server: s})
		}
		newest, generation := newestCertificate(m, s)
		if newest == nil || newest.Expires.Before(o.Now.Add(certificateRenewal)) {
			name := certificateName(s, generation+1)
			executeAsSA(
				p,
				s,
				tsql.CreateSelfSignedCertificate(
					name,
					"geosql endpoint of "+host(s),
					o.Now.Add(-clockTolerance),
					o.Now.Add(certificateLife),
				),
			)
			continue
		}
		switch {
		case m.Endpoint == nil:
			role := tsql.EndpointRoleAll
			if m.EngineEdition == mssql.EngineEditionExpress || d.Editions[s].WitnessOnly() {
				// Those editions are for configuration-only replicas, and their endpoints take no other role
				// (docs/linux/sql-server-linux-create-availability-group.md).
				role = tsql.EndpointRoleWitness
			}
			executeAsSA(p, s, tsql.CreateMirroringEndpoint(MirroringPort, newest.Name, role))
		case m.Endpoint.Port != MirroringPort:
			return p.Settle(conditions.Stalled(v1alpha1.ReasonEndpointConflict, fmt.Sprintf(
				"%s has the mirroring endpoint %s on port %d; an instance has only one, and this operator's is on %d: "+
					"drop it there",
				host(s),
				m.Endpoint.Name,
				m.Endpoint.Port,
				MirroringPort,
			)))
		}
	}
	if len(p.Steps) > 0 {
		p.Apart = true
		return p.Settle(creating("endpoints and their certificates are being made"))
	}
	return true
}

// clockTolerance is how far a new certificate's start lies in the past: a partner's clock may be behind.
const clockTolerance = 24 * 60 * 60 * 1e9

// newestCertificate is the server's own endpoint certificate of the highest generation, nil and 0 when it has none.
func newestCertificate(m mssql.Mirroring, server v1alpha1.ServerName) (*mssql.Certificate, int) {
	var newest *mssql.Certificate
	highest := 0
	for name, c := range m.Certificates {
		var generation int
		if _, err := fmt.Sscanf(strings.TrimPrefix(name, fmt.Sprintf("geosql_%s_", server)), "%d", &generation); err != nil ||
			name != certificateName(server, generation) {
			continue
		}
		if generation > highest {
			newest, highest = &c, generation
		}
	}
	return newest, highest
}

// planPartners makes every replica that answers trust the certificates of every other one that answers, and shows a
// renewed certificate only when all of them trust it.
func planPartners(d Desired, o Observed, p *reconcile.Plan) bool {
	answering := o.answering(d)
	for _, s := range answering {
		m := o.Instances[s].Mirroring
		for _, partner := range answering {
			if partner == s {
				continue
			}
			login := credentials.PartnerLogin(partner)
			if _, ok := o.Instances[s].Logins[login]; !ok {
				p.Add(CreatePartnerLogin{Server: s, Login: login})
			}
			if _, ok := m.Users[login]; !ok {
				executeAsSA(p, s, tsql.CreateUserForLogin(login, login))
			}
			if !m.Connectors[login] && m.Endpoint != nil {
				executeAsSA(p, s, tsql.GrantConnectOnEndpoint(m.Endpoint.Name, login))
			}
			own, _ := newestCertificate(o.Instances[partner].Mirroring, partner)
			if own == nil {
				continue
			}
			switch known, ok := m.Certificates[own.Name]; {
			case !ok:
				executeAsSA(p, s, tsql.CreatePartnerCertificate(own.Name, login, own.DER))
			case !bytes.Equal(known.DER, own.DER):
				// The partner was made anew with an empty master: its old certificate is worth nothing.
				p.Destroy(reconcile.Seen("the certificate that the partner has now", o.Instances[partner].Err, o.Instances[s].Err),
					mssql.Execute{Server: s, Role: credentials.RoleSA, Database: "master",
						Statement: tsql.DropCertificate(own.Name)})
			}
		}
	}
	if len(p.Steps) > 0 {
		p.Apart = true
		return p.Settle(creating("the replicas are being made to trust each other"))
	}
	return planShow(d, o, answering, p)
}

// planShow puts a renewed certificate on its endpoint, one server at a time and the primary last: only once every
// declared replica answers, hence trusts it, and while the primary says that all of them are well, so that at most one
// replica has to connect anew.
func planShow(d Desired, o Observed, answering []v1alpha1.ServerName, p *reconcile.Plan) bool {
	calm := len(answering) == len(d.servers()) && (!o.exists(d) || allConnected(d, o))
	for _, s := range secondariesFirst(answering, o.primary(d)) {
		m := o.Instances[s].Mirroring
		newest, _ := newestCertificate(m, s)
		if newest == nil || m.Endpoint == nil || m.Endpoint.Certificate == newest.Name {
			continue
		}
		shown, known := m.Certificates[m.Endpoint.Certificate]
		if urgent := !known || shown.Expires.Before(o.Now.Add(certificateUrgency)); calm || urgent {
			executeAsSA(p, s, tsql.SetEndpointCertificate(m.Endpoint.Name, newest.Name))
			return p.Settle(creating("the renewed certificate of %s is being put on its endpoint", host(s)))
		}
	}
	return true
}

func secondariesFirst(servers []v1alpha1.ServerName, primary v1alpha1.ServerName) []v1alpha1.ServerName {
	ordered := slices.DeleteFunc(slices.Clone(servers), func(s v1alpha1.ServerName) bool { return s == primary })
	if len(ordered) < len(servers) {
		ordered = append(ordered, primary)
	}
	return ordered
}

// allConnected says that there is a primary, and that it is connected to every declared replica, whose copies are as
// its mode asks.
func allConnected(d Desired, o Observed) bool {
	primary := o.primary(d)
	if primary == "" {
		return false
	}
	group := o.Instances[primary].Group
	return !slices.ContainsFunc(d.Group.Spec.Replicas, func(r v1alpha1.Replica) bool {
		seen := group.Replica(host(r.Server))
		return seen == nil || seen.Role != string(ballot.RolePrimary) &&
			(seen.Connected != "CONNECTED" ||
				r.AvailabilityMode != v1alpha1.ConfigurationOnly && len(group.Lagging(seen.Server)) > 0)
	})
}
