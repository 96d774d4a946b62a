// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"os"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// backupDevice is a name for the file of a backup.
type backupDevice struct {
	ID             int64
	Name, Physical string
}

// installDevices registers logical backup devices on disk
// (docs/relational-databases/system-stored-procedures/sp-addumpdevice-transact-sql.md, sp-dropdevice-transact-sql.md,
// docs/relational-databases/system-catalog-views/sys-backup-devices-transact-sql.md).
func installDevices(r *engine.Registry) {
	r.Table(engine.InternalTable{Scope: engine.MsdbOnly, Name: "__backupdevices", DDL: []string{
		"CREATE TABLE __backupdevices (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)"}})
	r.View(
		engine.View{
			Schema:  "sys",
			Name:    "backup_devices",
			Columns: engine.ColumnList("name sysname, type tinyint, type_desc nvarchar(60), physical_name nvarchar(260)"),
			Rows: func(ctx context.Context, s *engine.Session) ([][]any, error) {
				list, err := documents[backupDevice](ctx, s, "__backupdevices")
				var rows [][]any
				for _, d := range list {
					rows = append(rows, []any{d.Name, int64(2), "DISK", d.Physical})
				}
				return rows, err
			},
		},
	)
	r.Procedure(engine.Procedure{Name: "sp_addumpdevice", NoTransaction: true, Run: addBackupDevice,
		Parameters: engine.ParameterList(
			"@devtype! varchar(20), @logicalname! nvarchar(128), @physicalname! nvarchar(260), @cntrltype smallint, " +
				"@devstatus varchar(40)",
		)})
	r.Procedure(
		engine.Procedure{
			Name:          "sp_dropdevice",
			NoTransaction: true,
			Run:           dropBackupDevice,
			Parameters:    engine.ParameterList("@logicalname! nvarchar(128), @delfile varchar(7)"),
		},
	)
}

func addBackupDevice(ctx context.Context, c *engine.ProcCall) error {
	if c.Session.Require(ctx, engine.Permission{Name: "ALTER RESOURCES"}) != nil {
		return sqlerr.New(15247, 1)
	}
	if !strings.EqualFold(c.String("@devtype"), "disk") {
		return sqlerr.Unsupported("A backup device other than DISK")
	}
	list, err := documents[backupDevice](ctx, c.Session, "__backupdevices")
	if err != nil {
		return err
	}
	d := backupDevice{Name: c.String("@logicalname"), Physical: c.String("@physicalname")}
	if d.Name == "" {
		return sqlerr.New(15004, 1)
	}
	for _, other := range list {
		switch {
		case strings.EqualFold(other.Name, d.Name):
			return sqlerr.New(15026, 1, d.Name)
		case other.Physical == d.Physical:
			return sqlerr.New(15061, 1, d.Physical)
		}
	}
	return record(ctx, c.Session, "__backupdevices", &d.ID, &d)
}

func dropBackupDevice(ctx context.Context, c *engine.ProcCall) error {
	if c.Session.Require(ctx, engine.Permission{Name: "ALTER RESOURCES"}) != nil {
		return sqlerr.New(15247, 1)
	}
	name := c.String("@logicalname")
	physical, err := logicalDevice(ctx, c.Session, name)
	if err != nil {
		return sqlerr.New(15012, 1, name)
	}
	if err := forget(ctx, c.Session, "__backupdevices",
		func(d backupDevice) (int64, bool) { return d.ID, strings.EqualFold(d.Name, name) }); err != nil {
		return err
	}
	if strings.EqualFold(c.String("@delfile"), "delfile") {
		// The device is gone either way; a file that was never written is none to delete.
		_ = os.Remove(c.Session.Instance().OnDisk(physical))
	}
	return nil
}

// logicalDevice is the path that a device's name stands for: 3206 where there is none.
func logicalDevice(ctx context.Context, s *engine.Session, name string) (string, error) {
	list, err := documents[backupDevice](ctx, s, "__backupdevices")
	if err != nil {
		return "", err
	}
	for _, d := range list {
		if strings.EqualFold(d.Name, name) {
			return d.Physical, nil
		}
	}
	return "", sqlerr.New(3206, 1, name)
}

// noDevice ends a statement whose device is not there, or that has too many, as SQL Server does (3013), and leaves
// other errors as they are.
func noDevice(s *engine.Session, w tds.Writer, verb string, err error) error {
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) && (e.Number == 3206 || e.Number == 3205) {
		return terminated(s, w, verb, err)
	}
	return err
}
