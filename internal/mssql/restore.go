// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"

	"geosql.dev/operator/internal/tsql"
)

// DatabasePlaces is where a database is.
type DatabasePlaces struct {
	// State as sys.databases has it, such as ONLINE and RESTORING.
	State string
	// Files are the paths of its files.
	Files []string
}

// ReadDatabasePlaces reads where a database is; nil where there is none of the name.
func ReadDatabasePlaces(ctx context.Context, q Querier, name string) (*DatabasePlaces, error) {
	var found *DatabasePlaces
	if err := q.Query(ctx, tsql.DatabasePlaces(name), placesInto(&found)); err != nil {
		return nil, err
	}
	return found, nil
}

func placesInto(found **DatabasePlaces) func(Row) error {
	return func(r Row) error {
		if *found == nil {
			*found = &DatabasePlaces{}
		}
		var file string
		err := r.Scan(&(*found).State, &file)
		if file != "" {
			(*found).Files = append((*found).Files, file)
		}
		return err
	}
}

// RestoreTarget is an instance on which a backup is to be restored, as far as that depends on it.
type RestoreTarget struct {
	// Major is its version: 15 is SQL Server 2019.
	Major int
	// Certificates are the thumbprints, in hexadecimal digits, of those of master with a private key that its master key
	// opens.
	Certificates []string
	// Places are the database's of the name, nil where there is none; InGroup tells that a group has it, Group which one,
	// as far as the instance knows.
	Places  *DatabasePlaces
	InGroup bool
	Group   string
}

// ReadRestoreTarget reads what an instance is for the restore of a database of a name. The connection is to master.
func ReadRestoreTarget(ctx context.Context, q Querier, name string) (t RestoreTarget, err error) {
	err = readAll(ctx, q, "ask what there is for the restore of "+name, []read{
		{tsql.ProductVersion(), majorInto(q, &t.Major)},
		{tsql.Certificates(), func(r Row) error {
			c, err := scanCertificate(r)
			if c.PrivateKey {
				t.Certificates = append(t.Certificates, c.Thumbprint)
			}
			return err
		}},
		{tsql.DatabasePlaces(name), placesInto(&t.Places)},
		{tsql.DatabaseStandings("", name), func(r Row) error {
			s, err := scanStanding(r)
			t.Group, t.InGroup = s.Group, s.InGroup
			return err
		}},
	}...)
	return t, err
}
