// SPDX-License-Identifier: Apache-2.0

package security

import (
	"slices"

	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// change carries out one permission's change.
func change(tx *storage.Tx, table string, n *syntax.PermissionStatement, p *permission) error {
	if n.Action != "GRANT" {
		if err := withdraw(tx, table, p, n.Cascade); err != nil {
			return err
		}
	}
	switch {
	case n.Action == "DENY":
		p.State = denied
	case n.Action == "REVOKE" && n.GrantOptionFor:
		return dropGrantOption(tx, table, p)
	case n.Action == "REVOKE":
		return revoke(tx, table, *p)
	case n.WithGrantOption:
		p.State = withGrant
	default:
		p.State = granted
	}
	return grant(tx, table, p)
}

// withdraw takes what a principal with the grant option gave on, which has to be asked for: 4611.
func withdraw(tx *storage.Tx, table string, p *permission, cascade bool) error {
	all, err := readAll[permission](tx.Conn(), table)
	if err != nil {
		return err
	}
	option := slices.ContainsFunc(
		all,
		func(row *permission) bool { return row.same(p) && row.Grantee == p.Grantee && row.State == withGrant },
	)
	if !option {
		return nil
	}
	if !cascade {
		return failure(4611, 1)
	}
	for _, row := range all {
		if !row.same(p) || row.Grantor != p.Grantee || row.Grantee == p.Grantee {
			continue
		}
		if err := withdraw(tx, table, row, true); err != nil {
			return err
		}
		if err := remove(tx, table, row.ID); err != nil {
			return err
		}
	}
	return nil
}

// dropGrantOption turns GRANT WITH GRANT OPTION into GRANT.
func dropGrantOption(tx *storage.Tx, table string, p *permission) error {
	all, err := readAll[permission](tx.Conn(), table)
	if err != nil {
		return err
	}
	for _, row := range all {
		if row.same(p) && row.Grantee == p.Grantee && row.State == withGrant {
			row.State = granted
			return put(tx, table, row)
		}
	}
	return nil
}
