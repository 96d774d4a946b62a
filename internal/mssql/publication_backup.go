// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"strings"

	"geosql.dev/operator/internal/tsql"
)

// FromBackup is what a publication and its database are for subscribers that begin with a backup.
type FromBackup struct {
	// Allowed tells that they may, with backups that were taken since.
	Allowed bool
	// ImmediateSync has the distributor keep what came after a backup, although nobody subscribes yet.
	ImmediateSync bool
	// Inactive are its articles of which nothing is read from the log, by name.
	Inactive []string
	// RowVersions are its articles with a column of type timestamp, by name.
	RowVersions []string
	// Family of the database, and the recovery Fork on which it is: GUIDs in lower case, empty where the server does not
	// tell.
	Family, Fork string
	// Encryptor is what encrypts the database; its thumbprint is empty where nothing does.
	Encryptor Encryptor
	// Major is the server's version: 15 is SQL Server 2019.
	Major int
}

// ReadFromBackup reads that of a publication of the connection's database, which must be published.
func ReadFromBackup(ctx context.Context, q Querier, publication, database string) (f FromBackup, err error) {
	encryptors := map[string]Encryptor{}
	named := func(into *[]string) func(Row) error {
		return func(r Row) error {
			var name string
			err := r.Scan(&name)
			*into = append(*into, name)
			return err
		}
	}
	err = readAll(ctx, q, "read whether publication "+publication+" allows backups to begin with", []read{
		{tsql.BackupsAllowed(publication), func(r Row) error { return r.Scan(&f.Allowed, &f.ImmediateSync) }},
		{tsql.InactiveArticles(publication), named(&f.Inactive)},
		{tsql.RowVersionArticles(publication), named(&f.RowVersions)},
		{tsql.DatabaseOrigin(), func(r Row) error { return r.Scan(&f.Family, &f.Fork) }},
		readEncryptors(encryptors),
		{tsql.ProductVersion(), majorInto(q, &f.Major)},
	}...)
	f.Family, f.Fork = strings.ToLower(f.Family), strings.ToLower(f.Fork)
	f.Encryptor, _ = Encryption{Encryptors: encryptors}.EncryptorOf(database)
	return f, err
}
