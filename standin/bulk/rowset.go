// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"context"
	"errors"
	"io"

	"geosql.dev/standin/datafile"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// tooLarge is the error of a file that is no value.
func tooLarge() error { return sqlerr.Unsupported("OPENROWSET (BULK) of a file of more than 64 MB") }

// wholeFile is a file as one value.
func wholeFile(ctx context.Context, s *engine.Session, path, kind string) ([][]any, error) {
	in, err := openDataFile(ctx, s, path)
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
