// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"encoding/json"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// backupOptions puts the values of variables into the options, and gives the time when the set expires
// (docs/t-sql/statements/backup-transact-sql.md, Backup Set Options: RETAINDAYS goes before EXPIREDATE).
func backupOptions(s *engine.Session, o *syntax.BackupOptions) (expires time.Time, err error) {
	texts := map[string]*string{
		"NAME":             &o.Name,
		"DESCRIPTION":      &o.Description,
		"MEDIANAME":        &o.MediaName,
		"MEDIADESCRIPTION": &o.MediaDescription,
	}
	for option, variable := range o.Variables {
		if text := texts[option]; text != nil {
			if *text, err = nameOr(s, "", variable); err != nil {
				return expires, err
			}
		}
	}
	now := time.Now().UTC()
	if days, given, err := integerOr(s, o.RetainDays, o.Variables["RETAINDAYS"]); err != nil || given {
		return now.AddDate(0, 0, int(days)), err
	}
	if variable := o.Variables["EXPIREDATE"]; variable != "" || o.ExpireDate != "" {
		return timeOr(s, o.ExpireDate, variable)
	}
	if days, _ := s.Instance().Configuration("media retention"); days > 0 {
		return now.AddDate(0, 0, int(days)), nil
	}
	return expires, nil
}

// judgeTransfer judges BLOCKSIZE, BUFFERCOUNT and MAXTRANSFERSIZE, which change nothing else here
// (docs/t-sql/statements/backup-transact-sql.md, Media Set Options and Data Transfer Options).
func judgeTransfer(s *engine.Session, o syntax.TransferOptions, variables map[string]string) error {
	const leastBlock, greatestBlock, leastTransfer, greatestTransfer = 512, 64 << 10, 64 << 10, 4 << 20
	block, given, err := integerOr(s, o.BlockSize, variables["BLOCKSIZE"])
	switch {
	case err != nil:
		return err
	case given && block&(block-1) != 0:
		return sqlerr.New(3253, 1)
	case given && (block < leastBlock || block > greatestBlock):
		return sqlerr.New(3250, 1, block, "BLOCKSIZE")
	}
	buffers, given, err := integerOr(s, o.BufferCount, variables["BUFFERCOUNT"])
	switch {
	case err != nil:
		return err
	case given && buffers < 1:
		return sqlerr.New(3250, 1, buffers, "BUFFERCOUNT")
	}
	transfer, given, err := integerOr(s, o.MaxTransferSize, variables["MAXTRANSFERSIZE"])
	switch {
	case err != nil:
		return err
	case given && (transfer < leastTransfer || transfer > greatestTransfer):
		return sqlerr.New(3250, 1, transfer, "MAXTRANSFERSIZE")
	case given && transfer%leastTransfer != 0:
		return sqlerr.New(3217, 1, "MAXTRANSFERSIZE")
	}
	return nil
}

// integerOr is an option's number, or the value of the variable that has it; given is false when there is neither.
func integerOr(s *engine.Session, n *int64, variable string) (value int64, given bool, err error) {
	switch {
	case variable != "":
		v, err := s.VariableAs(variable, sqltype.IntType)
		value, _ := v.(int64)
		return value, true, err
	case n != nil:
		return *n, true, nil
	}
	return 0, false, nil
}

// timeOr is an option's time, or the value of the variable that has it.
func timeOr(s *engine.Session, text, variable string) (time.Time, error) {
	if variable != "" {
		v, err := s.VariableAs(variable, sqltype.DateTimeType)
		t, _ := v.(time.Time)
		return t, err
	}
	v, e := s.Convert(text, sqltype.VarCharMax, sqltype.DateTimeType, sqltype.Implicit)
	if e != nil {
		return time.Time{}, e
	}
	t, _ := v.(time.Time)
	return t, nil
}

// noteOf is what the engine wrote into a set's header.
func noteOf(h storage.BackupHeader, path string) (note backupNote, err error) {
	if len(h.Note) > 0 && json.Unmarshal(h.Note, &note) != nil {
		err = sqlerr.New(3241, 0, path)
	}
	return note, err
}
