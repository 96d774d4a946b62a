// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"encoding/binary"
	"math/big"

	"geosql.dev/operator/internal/tsql"
)

// FromBackup is what a publication is for subscribers that begin with a backup.
type FromBackup struct {
	// Allowed tells that they may, with backups that were taken since.
	Allowed bool
	// Oldest is the position in the log that a backup must have come to, as xact_seqno has it; nil while none is known.
	Oldest []byte
	// RowVersions are its articles with a column of type timestamp, by name.
	RowVersions []string
}

// ReadFromBackup reads that of a publication of the connection's database, which must be published.
func ReadFromBackup(ctx context.Context, q Querier, publication string) (f FromBackup, err error) {
	err = readAll(ctx, q, "read whether publication "+publication+" allows backups to begin with", []read{
		{tsql.BackupsAllowed(publication), func(r Row) error { return r.Scan(&f.Allowed, &f.Oldest) }},
		{tsql.RowVersionArticles(publication), func(r Row) error {
			var name string
			err := r.Scan(&name)
			f.RowVersions = append(f.RowVersions, name)
			return err
		}},
	}...)
	return f, err
}

// PositionOf is a position in the log as xact_seqno has it, of numeric(25,0) as backups have it: 10 digits of the
// virtual log file, 10 of the block and 5 of the record, without zeros before them. Nil of what has another form.
// Source: docs/relational-databases/sql-server-transaction-log-architecture-and-management-guide.md (log sequence
// numbers).
func PositionOf(numeric string) []byte {
	n, ok := new(big.Int).SetString(numeric, 10)
	if !ok || n.Sign() < 0 || len(n.String()) > 25 {
		return nil
	}
	rest, slot := new(big.Int).QuoRem(n, big.NewInt(100_000), new(big.Int))
	file, block := new(big.Int).QuoRem(rest, big.NewInt(10_000_000_000), new(big.Int))
	if file.BitLen() > 32 || block.BitLen() > 32 || slot.BitLen() > 16 {
		return nil
	}
	position := binary.BigEndian.AppendUint32(nil, uint32(file.Uint64()))      //nolint:gosec // 32 bits
	position = binary.BigEndian.AppendUint32(position, uint32(block.Uint64())) //nolint:gosec // 32 bits
	return binary.BigEndian.AppendUint16(position, uint16(slot.Uint64()))      //nolint:gosec // 16 bits
}
