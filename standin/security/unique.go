// SPDX-License-Identifier: Apache-2.0

package security

import (
	"strings"

	"geosql.dev/standin/storage"
)

// unique is a row of whose name, or of what it maps, a table has one only. The catalog by which a statement was checked
// is one of a moment before: another session may have taken the name since. So it is looked at again in the transaction
// that writes, in which nobody else does.
type unique interface {
	document
	// taken is the error of a row that has what this one is to have alone, nil when there is none.
	taken(tx *storage.Tx, table string) error
}

func (u *user) taken(tx *storage.Tx, table string) error {
	all, err := readAll[user](tx.Conn(), table)
	if err != nil {
		return err
	}
	for _, other := range all {
		switch {
		case other.ID == u.ID:
		case strings.EqualFold(other.Name, u.Name):
			return failure(15023, 1, u.Name)
		case u.Type != rolePrincipal && len(u.SID) > 0 && string(other.SID) == string(u.SID):
			return failure(15063, 1)
		}
	}
	return nil
}

func (l *login) taken(tx *storage.Tx, table string) error {
	all, err := readAll[login](tx.Conn(), table)
	if err != nil {
		return err
	}
	for _, other := range all {
		switch {
		case other.ID == l.ID:
		case strings.EqualFold(other.Name, l.Name):
			return failure(15025, 1, l.Name)
		case len(l.SID) > 0 && string(other.SID) == string(l.SID):
			return failure(15433, 1)
		}
	}
	return nil
}

func (s *server) taken(tx *storage.Tx, table string) error {
	all, err := readAll[server](tx.Conn(), table)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ID != s.ID && strings.EqualFold(other.Name, s.Name) {
			return failure(15028, 1, s.Name)
		}
	}
	return nil
}

func (c *certificate) taken(tx *storage.Tx, table string) error {
	all, err := readAll[certificate](tx.Conn(), table)
	if err != nil {
		return err
	}
	for _, other := range all {
		switch {
		case other.ID == c.ID:
		case strings.EqualFold(other.Name, c.Name):
			return failure(15232, 1, c.Name)
		case string(other.Thumbprint) == string(c.Thumbprint):
			return failure(15232, 2, c.Name)
		}
	}
	return nil
}

func (ep *endpoint) taken(tx *storage.Tx, table string) error {
	all, err := readAll[endpoint](tx.Conn(), table)
	if err != nil {
		return err
	}
	for _, other := range all {
		switch {
		case other.ID == ep.ID:
		case strings.EqualFold(other.Name, ep.Name):
			return failure(15530, 1, "endpoint", ep.Name)
		default:
			return failure(7862, 1)
		}
	}
	return nil
}
