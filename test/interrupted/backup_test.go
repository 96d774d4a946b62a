// SPDX-License-Identifier: Apache-2.0

//go:build integration

package interrupted_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/test/support/stage"
)

// backupSteps are the writes on the way to a first copy by a backup: statements, the orders of sidecars, and the status
// that tells of the registration.
const backupSteps = "allow_initialize_from_backup|BACKUP DATABASE|" + restores + "|sp_addsubscription|" +
	writable + "|sp_addpullsubscription| backup |/subscriptions/dublin/status"

// restores is in the beginning of the statement that restores the backup, which names are made of.
const restores = "JOIN sys.master_files"

// writable is in that of the one that lets the restored database be written.
const writable = "N'ONLINE' AND d.is_read_only"

// setUp ends the name of the login that the distributor has while a log reader sets subscribers up, and for a while
// after that: a manager that has brought everything about may have dropped it, or not yet.
const setUp = "_setup"

// ofBackup names what an order of a backup says, after a blank; empty of all other writes. The same Secret is written
// at several steps.
func ofBackup(r *http.Request) string {
	if !strings.Contains(r.URL.RawQuery, "dublin_backup") || r.GetBody == nil {
		return ""
	}
	body, err := r.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	var secret struct {
		Data map[string][]byte `json:"data"`
	}
	if err != nil || json.Unmarshal(content, &secret) != nil {
		return ""
	}
	mirror, reader := orders.Of(secret.Data, "dublin_backup")
	switch {
	case mirror != nil && mirror.Ended, reader != nil && reader.Ended:
		return " backup ends"
	case mirror != nil:
		return " backup is brought"
	case reader != nil && reader.Attempt.Set != "":
		return " backup is served"
	case reader != nil:
		return " backup is begun"
	}
	return " backup is gone"
}

// A manager that dies at any step of the way to a first copy by a backup ends where one ends that lives: the subscriber
// has every row once, also those that were written meanwhile, and nothing of the backup is left.
func TestAFirstCopyByABackupWhereverTheManagerDies(t *testing.T) {
	g := NewWithT(t)
	chosen, seed := each, os.Getenv(seedVariable)
	if os.Getenv(soakVariable) != "" {
		chosen = always
	}
	if seed == "" {
		seed = strconv.FormatUint(rand.Uint64(), 36)
	}
	t.Cleanup(func() { t.Logf("%s with %s=%s", chosen, seedVariable, seed) })
	calm := stage.NewOnVolumes(t)
	g.Expect(run(t, calm, never, seed, byBackup(t, calm))).To(BeZero())
	var want []string
	g.Eventually(func() []string { want = backupState(t, calm); return want }, patient, time.Second).
		Should(ContainElement(ContainSubstring(fmt.Sprintf("dubsub has rows: [%d ", filled+written))),
			func() string { return calm.Logged(t) })
	killed := stage.NewOnVolumes(t)
	deaths := run(t, killed, chosen, seed, byBackup(t, killed))
	g.Eventually(func() []string { return difference(want, backupState(t, killed)) }, patient, time.Second).
		Should(BeEmpty(), func() string { return killed.Logged(t) })

	var died []string
	for _, m := range moments {
		for _, write := range lines(t, killed, m) {
			died = append(died, string(m)+" "+write)
		}
	}
	t.Logf("the manager died %d times: %q", deaths, died)
	for _, step := range []string{"BACKUP DATABASE", restores, "sp_addsubscription", writable, "backup is begun",
		"backup is served", "backup is brought", "backup ends"} {
		g.Expect(died).To(ContainElement(ContainSubstring(step)))
	}
}

// filled are the rows that fill writes, and written those that come while a subscriber begins.
const filled, written = 500, 100

// byBackup is the scene in which the subscription begins with a backup, while rows are written.
func byBackup(t *testing.T, b *stage.Stage) scene {
	s := scene{declared: declared(), of: backupSteps}
	i := slices.IndexFunc(s.declared, func(o client.Object) bool { _, is := o.(*v1alpha1.Subscription); return is })
	s.declared[i].(*v1alpha1.Subscription).Spec.Initialization = &v1alpha1.Initialization{
		Method: v1alpha1.InitializeBackup}
	next := filled
	s.meanwhile = func() string {
		if next < filled+written {
			// The primary may be on its way: then the next look writes it.
			if b.Try(t, "tukpub", "Content", fmt.Sprintf("IF NOT EXISTS (SELECT 1 FROM dbo.Article WHERE Id = %[1]d) "+
				"INSERT dbo.Article (Id, Body) VALUES (%[1]d, N'meanwhile')", next)) == nil {
				next++
			}
			return fmt.Sprintf("\n%d of %d rows are written", next-filled, written)
		}
		return leftOfBackups(t, b)
	}
	return s
}

// leftOfBackups says what is there still of a backup with which a subscriber began: files, orders, databases that made
// way.
func leftOfBackups(t *testing.T, b *stage.Stage) (left string) {
	t.Helper()
	for _, file := range b.Files(t, "full.bak") {
		left += "\nfile " + file
	}
	for _, server := range stage.Servers {
		for _, key := range b.Orders(t, server) {
			if strings.Contains(key, "_backup") {
				left += fmt.Sprintf("\norder %s of %s", key, server)
			}
		}
	}
	for _, name := range b.Query(t, "dubsub", "master",
		"SELECT name FROM sys.databases WHERE name LIKE N'Content[_]%'", 1) {
		left += "\ndatabase " + name
	}
	return left
}

// backupState is what both stages are compared by, with the method that the status tells, and what is left.
func backupState(t *testing.T, b *stage.Stage) []string {
	t.Helper()
	var s v1alpha1.Subscription
	NewWithT(t).Expect(b.Hub.Client.Get(t.Context(),
		client.ObjectKey{Namespace: stage.Namespace, Name: "dublin"}, &s)).To(Succeed())
	method := v1alpha1.InitializationMethod("")
	if s.Status.Initialization != nil {
		method = s.Status.Initialization.Method
	}
	others := slices.DeleteFunc(state(t, b), func(l string) bool { return strings.Contains(l, setUp) })
	return append(others, "it began by "+string(method), "left: "+leftOfBackups(t, b))
}
