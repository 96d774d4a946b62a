// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
)

// tempDBFiles are the files that tempdb is made of at this start: a place that MODIFY FILE has set since the last one
// takes effect now. What lies at the former place stays there
// (docs/relational-databases/databases/move-system-databases.md, "Move the tempdb database": delete them by hand).
func (inst *Instance) tempDBFiles(ctx context.Context) ([]metadata.File, error) {
	infos, err := inst.readDatabases(ctx)
	if err != nil {
		return nil, fmt.Errorf("read where the files of tempdb are: %w", err)
	}
	for _, info := range infos {
		if info.ID != 2 || len(info.Files) == 0 {
			continue
		}
		for i := range info.Files {
			info.Files[i].Effective = ""
		}
		return info.Files, nil
	}
	return inst.systemFiles("tempdb"), nil
}

// msdbFiles are the files of msdb: those to which a restore has moved it, or was moving it when the server ended. It
// took the first ones away; where these are there, they count, wherever the folder was when master noted its place.
func (inst *Instance) msdbFiles(ctx context.Context) ([]metadata.File, error) {
	infos, err := inst.readDatabases(ctx)
	if err != nil {
		return nil, fmt.Errorf("read where the files of msdb are: %w", err)
	}
	first := inst.systemFiles("msdb")
	for _, info := range infos {
		if info.ID != 4 {
			continue
		}
		moved := inst.filesOnDisk(info.Files)
		switch {
		case len(info.Replaced) > 0:
			return info.Files, storage.TakePlace(moved)
		case !disk.Exists(inst.filesOnDisk(first).Data) && disk.Exists(moved.Data):
			return info.Files, nil
		}
	}
	return first, nil
}

func (inst *Instance) openSystem(ctx context.Context, id int32, name string) error {
	placed, err := inst.systemFiles(name), error(nil)
	switch name {
	case "tempdb":
		placed, err = inst.tempDBFiles(ctx)
	case "msdb":
		placed, err = inst.msdbFiles(ctx)
	}
	if err != nil {
		return err
	}
	info := inst.newInfo(id, name, placed)
	opts := inst.storageOptions(name)
	opts.SegmentBytes, opts.MaxLogBytes = 0, 0
	opts.RecoveryModel = storage.Simple
	if name == "model" {
		opts.RecoveryModel = storage.Full
	}
	files, err := inst.place(info.Files)
	if err != nil {
		return err
	}
	if name == "tempdb" {
		opts.Logless = true
		if err := storage.Remove(files); err != nil {
			return err
		}
	}
	var st *storage.Database
	if _, e := os.Stat(files.Data); errors.Is(e, os.ErrNotExist) {
		if err := storage.Remove(files); err != nil {
			return err
		}
		st, err = storage.Create(ctx, files, opts)
	} else {
		st, err = storage.Open(ctx, files, opts)
	}
	if err != nil {
		return err
	}
	if st.Mode() == storage.Restoring {
		// The server ended while msdb was restored; there is no server without it.
		if err := st.Recover(ctx); err != nil {
			return err
		}
	}
	info.RecoveryModel = st.RecoveryModel()
	db := &Database{inst: inst, id: info.ID, info: info, state: Online, storage: st}
	inst.addDatabase(db)
	return inst.PrepareTables(ctx, db)
}
