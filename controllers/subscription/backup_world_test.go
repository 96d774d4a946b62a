// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	driver "github.com/microsoft/go-mssqldb"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// backupWorld is a world whose subscriber begins with a backup, with the sidecars' and the engines' part in that.
type backupWorld struct {
	*world
	// sets are the backup sets of the files at the publisher's servers, in their order, by server and stamp.
	sets map[v1alpha1.ServerName]map[string][]string
	// brought are the first sets of the files at the subscriber, by stamp, and restored is what its database is of.
	brought  map[string]string
	restored string
	// made are how many sets there were, sent the stamps for which a backup was ever sent.
	made int
	sent []string
	// aside are databases that were renamed, and databaseDropped tells that the subscriber's was dropped.
	aside           []string
	databaseDropped bool
	// refuses are how many more registrations the publisher's engine refuses for their backup.
	refuses int
	// silent tells that the publisher's engine does not say now what a file has.
	silent func() bool
	// objects are what people have made in the subscriber's database beside its tables, and restoring tells that a restore
	// goes on there.
	objects   []mssql.UserObject
	restoring bool
	// log is how much the log of the subscriber's database has, and lifted tells that it took writes since its restore.
	log    int
	lifted bool
}

// look is what is read, with what stands where a backup is to be restored.
func (w *backupWorld) look() Observed {
	o := w.world.look()
	o.Backup.Restoring = reconcile.Read(w.restoring)
	objects := slices.Clone(w.objects)
	for _, t := range w.o.Here.Tables {
		objects = append(objects, mssql.UserObject{Kind: "user_table", Name: t.Schema + "." + t.Name})
	}
	o.Backup.Objects = reconcile.Read(objects)
	if o.sealed(w.d) && o.restoredOf(w.d, "") {
		o.Backup.LogEnd = reconcile.Read(fmt.Sprintf("log-%d", w.log))
	}
	places, whole := o.asksOfBackup(w.d)
	if !w.d.looksForBackup(&o) {
		o.Backup = Backup{}
	} else if !places {
		o.Backup.Places, o.Backup.Restoring = reconcile.Reading[*mssql.DatabasePlaces]{}, reconcile.Reading[bool]{}
	}
	if !whole {
		// What is in the way is looked for before a restore alone.
		o.Backup.Objects, o.Backup.LogEnd = reconcile.Reading[[]mssql.UserObject]{}, reconcile.Reading[string]{}
	}
	return o
}

func newBackupWorld(d Desired) *backupWorld {
	d.Subscription.UID = "6f9619ff"
	d.Subscription.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeBackup}
	d.System.Retention = 72
	d.Senders = map[v1alpha1.ServerName]Sender{
		publisher: {Source: "tukpub-0.web.svc:8443", CA: []byte("ca"), Token: "backup-secret"},
		secondary: {Source: "quisec-0.web.svc:8443", CA: []byte("ca"), Token: "other-secret"}}
	w := &backupWorld{world: newWorld(d), sets: map[v1alpha1.ServerName]map[string][]string{publisher: {}, secondary: {}},
		brought: map[string]string{}, silent: func() bool { return false }}
	w.o.Backup = Backup{Looked: true, Readers: map[v1alpha1.ServerName]*orders.Reader{},
		Sent:   map[v1alpha1.ServerName]*files.Status{},
		From:   reconcile.Read(mssql.FromBackup{ImmediateSync: true, Family: "family", Fork: "fork", Major: 16}),
		At:     reconcile.Read(mssql.RestoreTarget{Major: 16}),
		Places: reconcile.Read[*mssql.DatabasePlaces](nil)}
	// The log reader sets subscribers up already.
	w.o.LogReaderJob = &mssql.Job{Enabled: true, Running: true, Description: "somebody's"}
	return w
}

// from changes what the publication is for backups, at what the subscriber's instance is.
func (w *backupWorld) from(change func(*mssql.FromBackup)) {
	from, _ := w.o.Backup.From.Get()
	change(&from)
	w.o.Backup.From = reconcile.Read(from)
}

func (w *backupWorld) at(change func(*mssql.RestoreTarget)) {
	at, _ := w.o.Backup.At.Get()
	change(&at)
	w.o.Backup.At = reconcile.Read(at)
}

// taken tells that there is any backup at the publisher.
func (w *backupWorld) taken() bool {
	return len(w.sets[publisher])+len(w.sets[secondary]) > 0
}

// happens is what the sidecars do by themselves, and what is read then.
func (w *backupWorld) happens() {
	b := &w.o.Backup
	for server, r := range b.Readers {
		for stamp := range w.sets[server] {
			if r.Ended || stamp != r.Backup {
				delete(w.sets[server], stamp)
			}
		}
		b.Sent[server] = &files.Status{State: files.Removed}
		if !r.Ended {
			b.Sent[server] = &files.Status{State: files.Made, Snapshot: r.Backup, Total: int64(len(w.sets[server][r.Backup]))}
		}
	}
	w.mirrors()
	w.reads()
}

// mirrors is what the subscriber's sidecar does. It gets nothing that is not known to be whole.
func (w *backupWorld) mirrors() {
	b := &w.o.Backup
	switch {
	case b.Told == nil:
		b.Mirror = nil
		return
	case b.Told.Ended:
		b.Mirror = &files.Status{State: files.Removed}
		clear(w.brought)
		return
	}
	for server, r := range b.Readers {
		sets := w.sets[server][r.Backup]
		if credentials.HostName(server) == b.Told.Host && b.Told.Generation == generation(r.Backup) && !r.Ended &&
			r.Attempt.Set != "" && r.Token == b.Told.Token && len(sets) > 0 {
			w.brought[r.Backup] = sets[0]
			b.Mirror = &files.Status{State: files.Verified, Generation: b.Told.Generation, Snapshot: r.Backup, Total: 10,
				Bytes: 10}
		}
	}
}

// header is that of a backup set.
func header(set string) *mssql.BackupHeader {
	return &mssql.BackupHeader{Type: fullBackup, Position: 1, ID: set, CopyOnly: true, Checksum: true,
		Database: "Content", Family: "family", Fork: "fork", FirstLSN: "33" + set, LastLSN: "34" + set}
}

func (w *backupWorld) reads() {
	b, primary := &w.o.Backup, w.o.primary(w.d)
	b.Taken, b.Brought = reconcile.Reading[FoundBackup]{}, reconcile.Reading[FoundBackup]{}
	b.Files = reconcile.Read([]mssql.BackupFileEntry{{DatabaseFile: mssql.DatabaseFile{Name: "Content"}},
		{DatabaseFile: mssql.DatabaseFile{Name: "More"}}, {DatabaseFile: mssql.DatabaseFile{Name: "Log", Log: true}}})
	r := w.o.order(w.d)
	if r == nil {
		return
	}
	sets := w.sets[primary][r.Backup]
	switch {
	case w.silent():
		b.Taken = reconcile.NotRead[FoundBackup](errors.New("refused for now"))
	case len(sets) == 0:
		b.Taken = reconcile.Read(FoundBackup{Missing: errors.New("3201")})
	default:
		b.Taken = reconcile.Read(FoundBackup{Header: header(sets[0])})
	}
	if w.o.toRestore(w.d, r) {
		b.Brought = reconcile.Read(FoundBackup{Header: header(w.brought[r.Backup])})
	}
}

func (w *backupWorld) does(t fatal, step replication.Step) (failed error) {
	t.Helper()
	b := &w.o.Backup
	switch s := step.(type) {
	case TellBackup:
		if s.Server == subscriber {
			b.Told = s.Mirror
		} else if b.Readers[s.Server] = s.Reader; s.Reader == nil {
			delete(b.Readers, s.Server)
		}
	case replication.Execute:
		failed = w.executes(t, s)
	default:
		w.do(t, step)
	}
	w.reads()
	return failed
}

func (w *backupWorld) executes(t fatal, s replication.Execute) error {
	t.Helper()
	text := s.Statement.Text
	if s.Server == subscriber && s.Database != replication.Master && w.o.sealed(w.d) {
		t.Fatalf("written while it takes no writes: %s", text)
	}
	switch {
	case strings.Contains(text, "SET READ_WRITE"):
		if !w.o.restoredOf(w.d, "") || !strings.Contains(text, w.d.mark("")) {
			t.Fatalf("somebody else's is made writable: %s", text)
		}
		if w.o.online() {
			w.seal(false)
		}
	case strings.Contains(text, "allow_initialize_from_backup"):
		w.from(func(f *mssql.FromBackup) { f.Allowed = true })
	case strings.HasPrefix(text, "BACKUP DATABASE"):
		w.backup(t, s)
	case strings.Contains(text, "RESTORE DATABASE"):
		w.restore(t, text)
	case strings.Contains(text, "MODIFY NAME"):
		w.aside = append(w.aside, text)
		w.unplace()
	case strings.Contains(text, "DROP DATABASE"):
		places, err := w.o.Backup.Places.Get()
		if err != nil || w.restoring || !strings.Contains(text, "N'"+places.State+"'") ||
			!strings.Contains(text, w.d.mark("")) || places.State == "ONLINE" && (!w.o.sealed(w.d) || w.lifted ||
			!strings.Contains(text, fmt.Sprintf("'log-%d'", w.log))) {
			t.Fatalf("dropped by an earlier look alone, while it is restored, or with what people wrote: %+v %s", places, text)
		}
		w.databaseDropped = true
		w.unplace()
	case strings.Contains(text, "sp_addsubscription") && w.refuses > 0:
		w.refuses--
		failed := &mssql.Error{Server: "tukpub-0", Class: mssql.Refused, Number: tsql.BackupTooOld,
			Err: driver.Error{Number: tsql.BackupTooOld}}
		return giveUpRefused(context.Background(), told{w}, w.d, w.o, failed)
	default:
		if strings.Contains(text, "sp_addsubscription") && w.d.fromBackup() {
			w.registers(t, s)
		}
		w.do(t, s)
		for i := range w.o.Publication.Subscriptions {
			if !w.d.fromBackup() {
				break
			}
			w.o.Publication.Subscriptions[i].DataWasThere, w.o.Publication.Subscriptions[i].Status = true, 2
		}
	}
	return nil
}

// backup adds a set to the file, whatever it has.
func (w *backupWorld) backup(t fatal, s replication.Execute) {
	t.Helper()
	from, _ := w.o.Backup.From.Get()
	r, text := w.o.order(w.d), s.Statement.Text
	if r == nil || !from.Allowed || !from.ImmediateSync || len(from.Inactive) > 0 || r.Attempt.Set != "" ||
		!w.o.Backup.made(s.Server, r.Backup) {
		t.Fatalf("a backup is taken too early, or again: %+v %s", r, text)
	}
	for _, word := range []string{w.d.taken(r.Backup), "COPY_ONLY", "CHECKSUM", "NOFORMAT, NOINIT"} {
		if !strings.Contains(text, word) {
			t.Fatalf("a backup without %s: %s", word, text)
		}
	}
	w.sent = append(w.sent, r.Backup)
	w.adds(s.Server, r.Backup)
}

func (w *backupWorld) adds(server v1alpha1.ServerName, stamp string) {
	w.made++
	w.sets[server][stamp] = append(w.sets[server][stamp], fmt.Sprintf("set-%d", w.made))
}

func (w *backupWorld) restore(t fatal, text string) {
	t.Helper()
	r := w.o.order(w.d)
	if r == nil || !w.o.Backup.arrived(r.Backup) || !strings.Contains(text, w.d.arrived(w.o.primary(w.d), r.Backup)) {
		t.Fatalf("restored before it was there: %s", text)
	}
	w.restored = w.brought[r.Backup]
	mark := w.d.mark(r.Backup + "-" + w.restored)
	if !strings.Contains(text, mark+"-1.mdf") || !strings.Contains(text, "FILE = 1") {
		t.Fatalf("restored of %s: %s", w.restored, text)
	}
	w.place("ONLINE", mark+"-1.mdf")
	w.log, w.lifted = w.log+1, false
	w.seal(strings.Contains(text, "IF @@ERROR = 0") && strings.Contains(text, "SET READ_ONLY WITH ROLLBACK IMMEDIATE"))
	for key, a := range w.o.Publication.Articles {
		w.o.Here.Tables[key] = mssql.Table{Schema: a.Schema, Name: a.Table}
	}
}

// registers demands that the set with which the subscription is registered is the one that was restored.
func (w *backupWorld) registers(t fatal, s replication.Execute) {
	t.Helper()
	for stamp, sets := range w.sets[s.Server] {
		text := s.Statement.Text
		if strings.Contains(text, w.d.taken(stamp)) && strings.Contains(text, "initialize with backup") &&
			strings.Contains(text, "@fileidhint = 1") && sets[0] == w.restored {
			return
		}
	}
	t.Fatalf("registered without the backup %s that was restored: %v: %s", w.restored, w.sets, s.Statement.Text)
}

// place has the subscriber have the database, with a file.
func (w *backupWorld) place(state, file string) {
	places := &mssql.DatabasePlaces{State: state, Files: []string{path.Join("/var/opt/mssql/data", file)}}
	w.o.Backup.Places = reconcile.Read(places)
	w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: state}
}

// seal has the subscriber's database take writes no more, or again.
func (w *backupWorld) seal(sealed bool) {
	all := w.o.Servers[subscriber].State.Databases
	database := all["content"]
	if w.lifted = w.lifted || !sealed; database.ReadOnly && !sealed {
		w.log++
	}
	database.ReadOnly = sealed
	all["content"] = database
}

func (w *backupWorld) unplace() {
	w.o.Backup.Places = reconcile.Read[*mssql.DatabasePlaces](nil)
	w.o.Here, w.objects, w.restored = Here{Tables: map[string]mssql.Table{}}, nil, ""
	delete(w.o.Servers[subscriber].State.Databases, "content")
}

// settles is settle with the backup's part.
func (w *backupWorld) settles(t fatal, most func() int) (reconcile.Plan, []string) {
	t.Helper()
	var done []string
	idle := 0
	for range 400 {
		w.o.Now = w.o.Now.Add(time.Second)
		o := w.look()
		p := plan(w.d, o)
		status := &w.d.Subscription.Status
		before := status.Initialization
		status.Initialization, status.Copy = initialization(w.d, o, p), progress(w.d, o)
		if len(p.All()) == 0 {
			if idle++; idle > 12 {
				return p, done
			}
			w.happens()
			w.run()
			continue
		}
		idle = 0
		n := most()
		for i, s := range p.All() {
			if i == n {
				break
			}
			done = append(done, s.Describe())
			if failed := w.does(t, s); failed != nil {
				if refusedBackup(failed) {
					status.Initialization = before
				}
				break
			}
		}
	}
	t.Fatalf("the plan does not come to an end: %q", done[len(done)-5:])
	return reconcile.Plan{}, nil
}

// until plans and does until something is so.
func (w *backupWorld) until(t fatal, so func() bool) {
	t.Helper()
	for range 100 {
		if so() {
			return
		}
		w.o.Now = w.o.Now.Add(time.Second)
		for _, s := range plan(w.d, w.look()).All() {
			_ = w.does(t, s)
		}
		w.happens()
	}
	t.Fatalf("it never was so: %+v", w.o.Backup)
}

// told are the sidecars of a world.
type told struct{ w *backupWorld }

func (told) Orders(
	context.Context, string, v1alpha1.ServerName, string,
) (*orders.Mirror, *orders.Reader, error) {
	return nil, nil, errors.New("nobody asks")
}

func (told) Mirroring(context.Context, string, v1alpha1.ServerName, string) ([]string, error) {
	return nil, errors.New("nobody asks")
}

// Write takes an order over.
func (s told) Write(
	_ context.Context, _ string, server v1alpha1.ServerName, subscription string, data map[string][]byte,
) error {
	_, s.w.o.Backup.Readers[server] = orders.Of(data, subscription)
	return nil
}

func (told) Mirror(context.Context, string, v1alpha1.ServerName, string) (*files.Status, error) {
	return nil, errors.New("nobody asks")
}
