// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"errors"
	"testing"
	"time"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func set(id string, kind backup.Kind, files ...string) backup.Description {
	d := backup.Description{Set: backup.Set{ID: id, Kind: kind, Database: "Content", Finished: noon},
		Files: []backup.File{{Name: "1.bak", Bytes: 10}}}
	for _, f := range files {
		d.DatabaseFiles = append(d.DatabaseFiles, backup.DatabaseFile{Name: f, Log: f == "log"})
	}
	return d
}

// known is a restore of three sets of which everything is downloaded.
func known() *observed {
	return &observed{Order: orders.Restore{Name: "one", UID: "u1"}, Now: noon, Record: record{UID: "u1", Started: noon,
		Database: "Content", Downloaded: 3, Plan: backup.Plan{Until: noon, Sets: []backup.Description{
			set("f", backup.Full, "data", "log"), set("l1", backup.Log, "data", "log"),
			set("l2", backup.Log, "data", "log", "more")}}}}
}

func places(state string) *mssql.DatabasePlaces {
	return &mssql.DatabasePlaces{State: state, Files: []string{"/var/opt/mssql/data/Content-u1.mdf",
		`C:\log\Content-u1.ldf`}}
}

// gathering is a restore from two files, of which the first was looked into, and the second downloaded.
func gathering(o *observed) {
	o.Order.Import = &orders.Import{}
	o.Record.Plan, o.Record.Downloaded = backup.Plan{}, 0
	o.Record.Files = []gathered{{Whole: true, Read: true}, {Whole: true}}
}

// What comes next, in each state in which a life of the sidecar may find a restore.
func TestNext(t *testing.T) {
	for _, row := range []struct {
		why  string
		edit func(*observed)
		step string
		as   Outcome
		says string
	}{
		{why: "the chain is not known", edit: func(o *observed) { o.Record = record{UID: "u1"} }, step: "find the backups"},
		{why: "the engine does not answer", edit: func(o *observed) { o.Err = errors.New("no answer") },
			step: "wait: no answer"},
		{why: "there is a database", edit: func(o *observed) { o.Database = &mssql.DatabasePlaces{State: "ONLINE"} },
			step: "finish", as: Refused, says: "spec.target.database"},
		{why: "there is a database that is RESTORING, and it is not this restore's", edit: func(o *observed) {
			o.Database = &mssql.DatabasePlaces{State: "RESTORING", Files: []string{"/d/Content.mdf"}}
		}, step: "finish", as: Refused, says: "never restored over"},
		{why: "not all is downloaded", edit: func(o *observed) { o.Record.Downloaded = 1 }, step: "download set 2"},
		{why: "all is downloaded", step: "restore set 1"},
		{why: "a certificate is missing", edit: func(o *observed) { o.Lacks, o.Record.Downloaded = []string{"A1", "B2"}, 0 },
			step: "wait: the backups are encrypted, and the server's master lacks the certificate with the thumbprint 0xA1, " +
				"0xB2: nothing is downloaded or restored until it is there"},
		{why: "a dry run, and a certificate is missing", edit: func(o *observed) {
			o.Order.DryRun, o.Lacks = true, []string{"A1"}
		}, step: "finish", as: Succeeded, says: "without dryRun it would wait: the backups are encrypted"},
		{why: "another is primary of the group", edit: func(o *observed) { o.Order.Group, o.Role = "content", "SECONDARY" },
			step: "wait: the server is SECONDARY in availability group content, and not its primary"},
		{why: "the server has left the group", edit: func(o *observed) { o.Order.Group = "content" },
			step: "wait: the server has no availability group content"},
		{why: "the group is yet to be made", edit: func(o *observed) { o.Order.Group, o.Order.Unmade = "content", true },
			step: "restore set 1"},
		{why: "the group has been made meanwhile, with another primary", edit: func(o *observed) {
			o.Order.Group, o.Order.Unmade, o.Role = "content", true, "RESOLVING"
		}, step: "wait: the server is RESOLVING in availability group content, and not its primary"},
		{why: "the server is primary of the group", edit: func(o *observed) {
			o.Order.Group, o.Role = "content", "PRIMARY"
		}, step: "restore set 1"},
		{why: "another has become primary between two sets", edit: func(o *observed) {
			o.Order.Group, o.Role = "content", "SECONDARY"
			o.Record.Begun, o.Record.Restored, o.Database = true, 2, places("RESTORING")
		}, step: "restore set 3"},
		{why: "another has become primary before the end", edit: func(o *observed) {
			o.Order.Group, o.Role = "content", "SECONDARY"
			o.Record.Begun, o.Record.Restored, o.Database = true, 3, places("RESTORING")
		}, step: "wait: the server is SECONDARY in availability group content, and not its primary"},
		{why: "another has become primary behind the end", edit: func(o *observed) {
			o.Order.Group, o.Role = "content", "SECONDARY"
			o.Record.Begun, o.Record.Restored, o.Record.Recovering, o.Database = true, 3, true, places("ONLINE")
		}, step: "finish", as: Succeeded, says: "is restored"},
		{why: "a dry run at a group", edit: func(o *observed) {
			o.Order.DryRun, o.Order.Group, o.Role, o.Record.Downloaded = true, "content", "SECONDARY", 0
		}, step: "finish", as: Succeeded, says: "3 sets would be restored"},
		{why: "a dry run", edit: func(o *observed) { o.Order.DryRun, o.Record.Downloaded = true, 0 }, step: "finish",
			as: Succeeded, says: "3 sets would be restored"},
		{why: "a dry run, and a database", edit: func(o *observed) {
			o.Order.DryRun, o.Database = true, places("ONLINE")
		}, step: "finish", as: Succeeded, says: "it would be refused"},
		{why: "it ended before the engine heard of it", edit: func(o *observed) { o.Record.Begun = true },
			step: "restore set 1"},
		{why: "the engine is at it still", edit: func(o *observed) {
			o.Record.Begun, o.Working, o.Database = true, true, places("RESTORING")
		}, step: "wait: the engine is at what it was told before"},
		{why: "the first set was cut off", edit: func(o *observed) {
			o.Record.Begun, o.Database = true, places("RESTORING")
		}, step: "restore set 1"},
		{why: "between two sets", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored, o.Database = true, 2, places("RESTORING")
		}, step: "restore set 3"},
		{why: "all sets are restored", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored, o.Database = true, 3, places("RESTORING")
		}, step: "recover the database"},
		{why: "it is recovered", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored, o.Record.Recovering, o.Database = true, 3, true, places("ONLINE")
		}, step: "finish", as: Succeeded, says: "is restored"},
		{why: "it is to be checked", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored, o.Record.Recovering, o.Database = true, 3, true, places("ONLINE")
			o.Order.Check = true
		}, step: "check the database"},
		{why: "it ended while the engine was at that", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored, o.Record.Recovering, o.Database = true, 3, true, places("ONLINE")
			o.Order.Check, o.Record.Checking = true, true
		}, step: "check the database"},
		{why: "the check found nothing", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored, o.Record.Recovering, o.Database = true, 3, true, places("ONLINE")
			o.Order.Check, o.Record.Checking, o.Record.Checked = true, true, true
		}, step: "finish", as: Succeeded, says: "DBCC CHECKDB has found nothing"},
		{why: "somebody else recovered it", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored, o.Database = true, 2, places("ONLINE")
		}, step: "finish", as: Failed, says: "somebody recovered"},
		{why: "somebody dropped it", edit: func(o *observed) { o.Record.Begun, o.Record.Restored = true, 2 },
			step: "finish", as: Failed, says: "somebody dropped"},
		{why: "somebody made another", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored = true, 2
			o.Database = &mssql.DatabasePlaces{State: "RESTORING", Files: []string{"/d/Content-u1.mdf", "/d/Content.ldf"}}
		}, step: "finish", as: Failed, says: "was not made by this Restore"},
		{why: "a folder of the name is no evidence", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored = true, 2
			o.Database = &mssql.DatabasePlaces{State: "RESTORING", Files: []string{"/d/u1/Content.mdf"}}
		}, step: "finish", as: Failed, says: "was not made by this Restore"},
		{why: "the engine does not tell whose it is", edit: func(o *observed) {
			o.Record.Begun, o.Database = true, &mssql.DatabasePlaces{State: "RESTORING"}
		}, step: "wait: the engine does not say where the files of Content are, so that nobody knows whose it is"},
		{why: "the engine restarts", edit: func(o *observed) {
			o.Record.Begun, o.Record.Restored, o.Record.Recovering, o.Database = true, 3, true, places("RECOVERING")
		}, step: "wait: database Content is RECOVERING"},
		{why: "it is over, and downloads are left", edit: func(o *observed) { o.Record.Result, o.Left = &Result{}, true },
			step: "remove what was downloaded"},
		{why: "files are not looked for", edit: func(o *observed) { gathering(o); o.Record.Files = nil },
			step: "find the files"},
		{why: "a file is not there", edit: func(o *observed) { gathering(o); o.Record.Files[1].Whole = false },
			step: "download file 2"},
		{why: "nobody knows what is in a file", edit: gathering, step: "look into file 2"},
		{why: "files, and the engine does not answer", edit: func(o *observed) {
			gathering(o)
			o.Err = errors.New("no answer")
		}, step: "wait: no answer"},
		{why: "files, and a database", edit: func(o *observed) {
			gathering(o)
			o.Database = &mssql.DatabasePlaces{State: "ONLINE"}
		}, step: "finish", as: Refused, says: "never restored over"},
		{why: "a look into files, and a database", edit: func(o *observed) {
			gathering(o)
			o.Order.DryRun, o.Database = true, places("ONLINE")
		}, step: "look into file 2"},
		{why: "it is known what is in the files", edit: func(o *observed) { gathering(o); o.Record.Files[1].Read = true },
			step: "find the backups"},
		{why: "it is over", edit: func(o *observed) { o.Record.Result = &Result{} }, step: "<nil>"},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			o := known()
			if row.edit != nil {
				row.edit(o)
			}
			s := next(o)
			if row.step == "<nil>" {
				g.Expect(s).To(BeNil())
				return
			}
			g.Expect(s.String()).To(Equal(row.step))
			if f, is := s.(finish); is {
				g.Expect(f.Result.Outcome).To(Equal(row.as))
				g.Expect(f.Result.Message).To(ContainSubstring(row.says))
			}
		})
	}
}

// A refusal begins the restore anew with the first set; the third ends it.
func TestRefusals(t *testing.T) {
	g := NewWithT(t)
	o := known()
	o.Record.Begun, o.Record.Restored, o.Database = true, 2, places("RESTORING")
	for n := 1; n < refusalsMost; n++ {
		o.Record = refused(o, restore{2}, errors.New("3241: the media family is incorrectly formed"))
		o.Now = o.Now.Add(refusalPause)
		g.Expect(next(o)).To(Equal(restore{0}))
	}
	o.Record = refused(o, restore{2}, errors.New("3241: the media family is incorrectly formed"))
	f, ends := next(o).(finish)
	g.Expect(ends).To(BeTrue())
	g.Expect(f.Result.Outcome).To(Equal(Failed))
	g.Expect(f.Result.Message).To(And(HavePrefix("restore set 3: 3241"), ContainSubstring("is left RESTORING")))
}

// What a check finds ends the restore; one that could not be carried out is tried again, three times in all.
func TestChecks(t *testing.T) {
	g := NewWithT(t)
	answer := func(numbers ...int32) error {
		all := driver.Error{Number: numbers[0], Message: "words"}
		for _, n := range numbers {
			all.All = append(all.All, driver.Error{Number: n})
		}
		return &mssql.Error{Server: "quisec-0", Doing: "check database Content", Class: mssql.Refused, Err: all}
	}
	o := known()
	o.Record.Begun, o.Record.Restored, o.Record.Recovering, o.Database = true, 3, true, places("ONLINE")
	o.Record.Refusals, o.Order.Check = refusalsMost-1, true
	o.Record = began(o.Record)
	g.Expect(checked(o, nil)).To(And(HaveField("Checked", true), HaveField("Result", BeNil())))
	g.Expect(checked(o, answer(8928, 8939, 8990)).Result).To(And(HaveField("Outcome", Failed),
		HaveField("Reason", "CheckFailed"), HaveField("Message", ContainSubstring("found errors [8928 8939 8990]"))))
	for range refusalsMost {
		g.Expect(next(o)).To(Equal(check{}))
		o.Record = checked(o, answer(8921))
		g.Expect(o.Record.Result).To(BeNil())
		if o.Record.Refusals < refusalsMost {
			g.Expect(next(o)).To(BeAssignableToTypeOf(wait{}))
		}
		o.Now = o.Now.Add(refusalPause)
	}
	f, ends := next(o).(finish)
	g.Expect(ends).To(BeTrue())
	g.Expect(f.Result).To(And(HaveField("Outcome", Failed), HaveField("Reason", "CheckFailed"),
		HaveField("Message", ContainSubstring("could not be checked: check the database"))))
}

func TestStatements(t *testing.T) {
	g := NewWithT(t)
	r := known().Record
	r.Database = "Co/ntent"
	r.Plan.Sets[2].ClockOffset = 60
	r.Plan.StopAt = noon.Add(1500 * time.Millisecond)
	g.Expect(statement(r, 0, "/b/0").String()).To(HaveSuffix("\nRESTORE DATABASE [Co/ntent] FROM DISK = N'/b/0/1.bak' " +
		"WITH NORECOVERY, MOVE N'data' TO N'/var/opt/mssql/data/Co_ntent-u1.mdf', MOVE N'log' TO " +
		"N'/var/opt/mssql-log/Co_ntent-u1.ldf'"))
	g.Expect(statement(r, 1, "/b/1").String()).To(Equal("RESTORE LOG [Co/ntent] FROM DISK = N'/b/1/1.bak' WITH "+
		"NORECOVERY, STOPAT = N'2026-03-01T13:00:01.500'"), "in the same words as the last")
	g.Expect(statement(r, 2, "/b/2").String()).To(Equal("RESTORE LOG [Co/ntent] FROM DISK = N'/b/2/1.bak' WITH " +
		"NORECOVERY, MOVE N'more' TO N'/var/opt/mssql/data/Co_ntent-u1-2.ndf', STOPAT = N'2026-03-01T13:00:01.500'"))
	r.Plan.Sets[1].BulkLogged = true
	g.Expect(statement(r, 1, "/b/1").String()).To(Equal("RESTORE LOG [Co/ntent] FROM DISK = N'/b/1/1.bak' WITH "+
		"NORECOVERY"), "changes in bulk within the chain")
	g.Expect(statement(r, 2, "/b/2").String()).To(HaveSuffix("STOPAT = N'2026-03-01T13:00:01.500'"))
	r.Plan.StopAt, r.Plan.StopBefore = time.Time{}, "34000000012300001"
	g.Expect(statement(r, 1, "/b/1").String()).To(HaveSuffix("WITH NORECOVERY"))
	g.Expect(statement(r, 2, "/b/2").String()).To(HaveSuffix("STOPBEFOREMARK = N'lsn:34000000012300001'"))
}
