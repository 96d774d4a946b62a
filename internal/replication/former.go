// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// AgentsLogin is the login of the agents of everything that publishes through a Distributor.
func AgentsLogin(distributor string) string {
	return credentials.RoleReplication.Login() + "_" + distributor
}

// FormerLogin is the login with which agents of a publication's former Distributor could still come to a server: a
// distributor that was lost and returns has their jobs, and delivers what it had. Empty when the publication kept its
// Distributor, or when something else at the server needs the login.
func FormerLogin(
	ctx context.Context,
	reader client.Reader,
	p *v1alpha1.Publication,
	former v1alpha1.ObjectName,
	server v1alpha1.ServerName,
) (string, error) {
	if former == "" || former == p.Spec.Distributor {
		return "", nil
	}
	var distributors v1alpha1.DistributorList
	var publications v1alpha1.PublicationList
	var subscriptions v1alpha1.SubscriptionList
	for _, list := range []client.ObjectList{&distributors, &publications, &subscriptions} {
		if err := reader.List(ctx, list, client.InNamespace(p.Namespace)); err != nil {
			return "", fmt.Errorf("list the objects of kind %s of namespace %s: %w", v1alpha1.ListedKind(list), p.Namespace, err)
		}
	}
	for _, d := range distributors.Items {
		if d.Name == string(former) && d.Spec.Server == server {
			return "", nil
		}
	}
	through := map[string]bool{}
	for _, x := range publications.Items {
		if x.Spec.Distributor != former || x.Name == p.Name {
			continue
		}
		through[x.Name] = true
		party, err := Resolve(ctx, reader, x.Namespace, x.Spec.Publisher)
		if err != nil {
			return "", err
		}
		if party.Has(credentials.HostName(server)) {
			return "", nil
		}
	}
	for _, s := range subscriptions.Items {
		if through[string(s.Spec.Publication)] && s.Spec.Subscriber.Server == server {
			return "", nil
		}
	}
	return AgentsLogin(string(former)), nil
}

// HasLogin tells whether a server has a SQL login.
func (e Engines) HasLogin(ctx context.Context, server v1alpha1.ServerName, login string) (bool, error) {
	has := false
	err := e.Read(ctx, server, Master, func(ctx context.Context, db *mssql.DB) error {
		return db.Query(ctx, tsql.ReplicationLogin(login, ""), func(r mssql.Row) error {
			var sid []byte
			var right bool
			has = true
			return r.Scan(&sid, &right)
		})
	})
	return has, err
}

// LoginSessions are the sessions of a login on a server. Those of a site that was cut off stay until the network's own
// time-outs end them.
func (e Engines) LoginSessions(ctx context.Context, server v1alpha1.ServerName, login string) ([]int, error) {
	var sessions []int
	err := e.Read(ctx, server, Master, func(ctx context.Context, db *mssql.DB) (err error) {
		sessions, err = mssql.ReadSessions(ctx, db, tsql.LoginSessions(login))
		return err
	})
	return sessions, err
}

// EndLogin ends a login's sessions and drops the login. A new session keeps the login until the next reconciliation.
func (p *Plan) EndLogin(server v1alpha1.ServerName, login string, sessions []int) {
	for _, id := range sessions {
		p.Add(mssql.EndLoginSession(server, login, id))
	}
	p.Execute(server, Master, tsql.DropLogin(login))
}
