// SPDX-License-Identifier: Apache-2.0

//go:build integration

package engine

import (
	"context"
	"encoding/hex"
	"fmt"
	"testing"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/ports"
)

// Connect connects to each of these by its server's name.
func Connect(t testing.TB, all ...*Engine) *mssql.Connector {
	t.Helper()
	by := map[v1alpha1.ServerName]*Engine{}
	for _, e := range all {
		by[e.Server] = e
	}
	c := mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(func(_ context.Context, _ string, s v1alpha1.ServerName) (mssql.Access, error) {
			if by[s] == nil {
				return mssql.Access{}, fmt.Errorf("there is no engine of server %s", s)
			}
			return by[s].Access, nil
		}),
		Address: func(target mssql.Target) string { return by[target.Server].Address },
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// SA is the instance's sa.
func (e *Engine) SA(t testing.TB) *mssql.DB {
	t.Helper()
	db, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Execute has sa send these texts.
func (e *Engine) Execute(t testing.TB, texts ...string) {
	t.Helper()
	db := e.SA(t)
	for _, text := range texts {
		if _, err := db.Handle().ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// Partners lets these be replicas of one group: each has an endpoint, which lets the others in by their certificates.
// The endpoints' URLs are in their order.
func Partners(t testing.TB, all ...*Engine) []string {
	t.Helper()
	urls, public := make([]string, len(all)), make([][]byte, len(all))
	for n, e := range all {
		port := ports.Free(t)
		urls[n] = fmt.Sprintf("TCP://127.0.0.1:%d", port)
		e.Execute(t, "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'M4ster-Password'",
			fmt.Sprintf("CREATE CERTIFICATE own%d WITH SUBJECT = N'own', EXPIRY_DATE = N'2099-12-31'", n),
			fmt.Sprintf("CREATE ENDPOINT Hadr STATE = STARTED AS TCP (LISTENER_PORT = %d, LISTENER_IP = (127.0.0.1)) "+
				"FOR DATABASE_MIRRORING (AUTHENTICATION = CERTIFICATE own%d, ENCRYPTION = REQUIRED ALGORITHM AES, ROLE = ALL)",
				port, n))
		ask := fmt.Sprintf("SELECT CERTENCODED(CERT_ID('own%d'))", n)
		if err := e.SA(t).Handle().QueryRowContext(t.Context(), ask).Scan(&public[n]); err != nil {
			t.Fatal(err)
		}
	}
	for n, e := range all {
		for m := range all {
			if n == m {
				continue
			}
			e.Execute(t, fmt.Sprintf("CREATE LOGIN l%d WITH PASSWORD = N'P4rtner-Password'", m),
				fmt.Sprintf("CREATE USER u%[1]d FOR LOGIN l%[1]d", m),
				fmt.Sprintf("CREATE CERTIFICATE own%[1]d AUTHORIZATION u%[1]d FROM BINARY = 0x%[2]s", m,
					hex.EncodeToString(public[m])),
				fmt.Sprintf("GRANT CONNECT ON ENDPOINT::Hadr TO l%d", m))
		}
	}
	return urls
}
