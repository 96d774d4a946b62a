// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io"

	"geosql.dev/standin/datafile"
	"geosql.dev/standin/sqltype"
)

// installBulkFiles registers BULK INSERT and what OPENROWSET (BULK) reads with.
func installBulkFiles(r *Registry) {
	on(r, (*Session).bulkInsertStatement)
	for kind, column := range map[string]string{"singleblob": "BulkColumn varbinary(max)",
		"singleclob": "BulkColumn varchar(max)", "singlenclob": "BulkColumn nvarchar(max)"} {
		r.TableFunction(
			TableFunction{Schema: "sys", Name: "openrowset " + kind, Parameters: []sqltype.Type{nmax}, Columns: columns(column),
				Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
					path, _ := args[0].(string)
					return s.wholeFile(ctx, path, kind)
				}},
		)
	}
}

func tooLarge() error { return unsupported("OPENROWSET (BULK) of a file of more than 64 MB") }

// wholeFile is a file as one value.
func (s *Session) wholeFile(ctx context.Context, path, kind string) ([][]any, error) {
	in, err := s.openDataFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if kind == "singleblob" {
		raw, err := io.ReadAll(io.LimitReader(in, datafile.MaxField+1))
		if len(raw) > datafile.MaxField {
			err = tooLarge()
		}
		return [][]any{{raw}}, err
	}
	text, err := datafile.NewReader(in, datafile.Format{Wide: kind == "singlenclob"}).Text()
	if errors.Is(err, datafile.ErrTooLarge) {
		err = tooLarge()
	}
	if err != nil {
		return nil, err
	}
	return [][]any{{text}}, nil
}
