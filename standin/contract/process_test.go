// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
)

// refused starts a process that must not start and gives its output.
func refused(t *testing.T, i *instance) string {
	t.Helper()
	g := NewWithT(t)
	g.Expect(i.begin()).To(Succeed())
	g.Eventually(i.exited, patient).Should(BeClosed())
	g.Expect(i.cmd.ProcessState.ExitCode()).To(Equal(1))
	text := i.output.String()
	i.cmd = nil
	return text
}

func TestWhatItDoesNotStartWith(t *testing.T) {
	ownProcess(t)
	for name, c := range map[string]struct{ option, text string }{
		"no licence":        {"ACCEPT_EULA=", "ACCEPT_EULA"},
		"no password":       {"MSSQL_SA_PASSWORD=", "MSSQL_SA_PASSWORD"},
		"short password":    {"MSSQL_SA_PASSWORD=Sh0rt!", "too short"},
		"weak password":     {"MSSQL_SA_PASSWORD=allthesame", "complex"},
		"wrong port":        {"MSSQL_TCP_PORT=99999", "MSSQL_TCP_PORT"},
		"unknown argument":  {"-z", "-z"},
		"unknown edition":   {"MSSQL_PID=Gold", "MSSQL_PID"},
		"address not local": {"MSSQL_IP_ADDRESS=192.0.2.1", "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			i := prepareInstance(t, c.option)
			text := refused(t, i)
			g.Expect(text).To(ContainSubstring(c.text))
			for _, entry := range i.env {
				if password, ok := strings.CutPrefix(entry, "MSSQL_SA_PASSWORD="); ok && password != "" {
					g.Expect(text).NotTo(ContainSubstring(password))
				}
			}
		})
	}
}

func TestStopsOrderlyAndStartsAgain(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t, "-T1448", "-T9567", "-k50", "MSSQL_FROB=1")
	db := i.newDatabase(t, "kept")
	mustExec(t, db, "CREATE TABLE t (id int)")
	mustExec(t, db, "INSERT t VALUES (1)")
	g.Expect(i.stop(t)).To(Equal(0))
	g.Expect(i.output.String()).To(And(
		ContainSubstring("Trace flag 1448"), ContainSubstring("Trace flag 9567"), ContainSubstring("option -k has no effect"),
		ContainSubstring("MSSQL_FROB is unknown"), ContainSubstring("The server has stopped.")))
	log, err := os.ReadFile(filepath.Join(i.root, "log", "errorlog"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(log)).To(Equal(i.output.String()))

	i.env = append(i.env, "MSSQL_SA_PASSWORD=", "MSSQL_PID=Standard")
	g.Expect(i.launch()).To(Succeed(), "the password is needed at the first start only")
	again := i.open(t, "kept")
	g.Expect(value(t, again, "SELECT COUNT(*) FROM t")).To(Equal(int64(1)))
	g.Expect(value(t, again, "SELECT CAST(SERVERPROPERTY('Edition') AS nvarchar(60))")).To(HavePrefix("Standard Edition"))
	g.Expect(value(t, again, "SELECT @@SERVERNAME")).To(Equal(i.name))
	g.Expect(filepath.Join(i.root, "log", "errorlog.1")).To(BeAnExistingFile())
}

func TestASecondProcessOnTheSameFilesIsRefused(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t)
	second := prepareInstance(t)
	second.root = i.root
	g.Expect(refused(t, second)).To(ContainSubstring("in use by another instance"))
	g.Expect(i.open(t, "").Ping()).To(Succeed())
}

func TestConfigurationFile(t *testing.T) {
	g := NewWithT(t)
	i := prepareInstance(t)
	data := filepath.Join(t.TempDir(), "elsewhere")
	conf := fmt.Sprintf(
		"[network]\nforceencryption = 1\nunheard = 1\n[filelocation]\ndefaultdatadir = %s\n[hadr]\nhadrenabled = 1\n",
		data,
	)
	g.Expect(os.WriteFile(filepath.Join(i.root, "mssql.conf"), []byte(conf), 0o600)).To(Succeed())
	g.Expect(i.launch()).To(Succeed())
	g.Expect(i.output.String()).To(ContainSubstring("network.unheard is unknown"))
	db := i.newDatabase(t, "placed")
	g.Expect(value(t, db, "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID")).
		To(Equal("TRUE"))
	g.Expect(value(t, db, "SELECT physical_name FROM sys.master_files WHERE database_id = DB_ID() AND type = 0")).
		To(HavePrefix(data))
	g.Expect(value(t, db, "SELECT CAST(SERVERPROPERTY('IsHadrEnabled') AS int)")).To(Equal(int64(1)))
}

func TestSingleUser(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t, "-mcontract")
	first := i.open(t, "")
	first.SetMaxOpenConns(1)
	g.Expect(first.Ping()).To(Succeed())
	second := i.open(t, "")
	g.Expect(second.Ping()).To(MatchError(ContainSubstring("single user mode")))
	g.Expect(first.Close()).To(Succeed())
	g.Eventually(second.Ping, patient).Should(Succeed())
}

func TestRunsAsAnOrdinaryUser(t *testing.T) {
	ownProcess(t)
	if os.Getuid() != 0 {
		t.Skip("only root can start a process as another user")
	}
	g := NewWithT(t)
	root, err := os.MkdirTemp("", "mssql")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { os.RemoveAll(root) })
	g.Expect(os.Chown(root, 10001, 0)).To(Succeed())
	g.Expect(os.Chmod(filepath.Dir(binary), 0o755)).To(Succeed())
	i := prepareInstance(t)
	i.root = root
	i.credential = &syscall.Credential{Uid: 10001, Gid: 0}
	g.Expect(i.launch()).To(Succeed())
	g.Expect(i.open(t, "").Ping()).To(Succeed())
}

func TestShutdownStatement(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "kept")
	mustExec(t, db, "CREATE TABLE t (id int)")
	_, _ = i.open(t, "").Exec("SHUTDOWN")
	g.Eventually(i.exited, patient).Should(BeClosed())
	g.Expect(i.cmd.ProcessState.ExitCode()).To(Equal(0))
	g.Expect(i.launch()).To(Succeed())
	g.Expect(value(t, i.open(t, "kept"), "SELECT COUNT(*) FROM t")).To(Equal(int64(0)))
}

func TestStopsWhileClientsAreBusy(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t)
	db := i.open(t, "")
	waiting := make(chan error, 1)
	go func() {
		_, err := db.Exec("WAITFOR DELAY '00:01:00'")
		waiting <- err
	}()
	observer := i.open(t, "")
	g.Eventually(func() any {
		return value(t, observer, "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command = 'WAITFOR'")
	}, patient).Should(Equal(int64(1)))
	silent, err := net.Dial("tcp", i.address)
	g.Expect(err).NotTo(HaveOccurred())
	defer silent.Close()
	g.Expect(i.stop(t)).To(Equal(0))
	g.Expect(<-waiting).To(HaveOccurred())
}
