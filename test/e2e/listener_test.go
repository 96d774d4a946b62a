// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// roleClient is the role of a login that is the same on every replica.
const roleClient credentials.Role = "client"

// wherever connects to the database through the listener, whichever server is primary: the login is the same on all,
// and the certificate is verified for the listener's name.
func (gt *groupTest) wherever(shell *bed.Shell) *mssql.DB {
	t, g := gt.t, NewWithT(gt.t)
	t.Helper()
	login := gt.has.login
	if login == nil {
		login = gt.makeClient()
	}
	var certificate corev1.Secret
	key := client.ObjectKey{Namespace: namespace, Name: credentials.CertificateName(gt.server("tukwila"))}
	g.Expect(gt.b.Hub().Client.Get(t.Context(), key, &certificate)).To(Succeed())
	access := mssql.Access{
		CA:        certificate.Data[credentials.KeyCA],
		Passwords: credentials.Passwords{roleClient.Key(): []byte(login.Password)},
	}
	c := mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(
			func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) { return access, nil },
		),
		Dial:            dialFrom(shell),
		Address:         func(mssql.Target) string { return gt.group.Name + ":1433" },
		CertificateName: func(mssql.Target) string { return gt.group.Name },
		Program:         "e2e through the listener",
	})
	t.Cleanup(func() { _ = c.Close() })
	return open(t, c, gt.servers["tukwila"], roleClient, "Content")
}

// makeClient makes the login on all servers, and its user in the database.
func (gt *groupTest) makeClient() *tsql.Login {
	t, g := gt.t, NewWithT(gt.t)
	t.Helper()
	login := tsql.Login{
		Name:     roleClient.Login(),
		SID:      credentials.SID(namespace, roleClient.Login()),
		Password: newPassword(),
	}
	for site, server := range gt.servers {
		connector := connectorFrom(t, gt.b, shellAt(t, gt.b.Site(site), namespace))
		g.Expect(open(t, connector, server, credentials.RoleSA, "master").Exec(t.Context(), tsql.CreateLogin(login))).
			To(Succeed())
		if gt.group.Status.Primary == credentials.HostName(gt.server(site)) {
			database := open(t, connector, server, credentials.RoleSA, "Content")
			g.Expect(database.Exec(t.Context(), tsql.CreateUser(login.Name, login.Name))).To(Succeed())
			g.Expect(database.Exec(t.Context(), tsql.AddRoleMember("db_owner", login.Name))).To(Succeed())
		}
	}
	gt.has.login = &login
	return &login
}
