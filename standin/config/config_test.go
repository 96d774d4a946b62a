// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/config"
	"geosql.dev/standin/tds"
)

// load writes mssql.conf into a new root and loads it.
func load(t *testing.T, conf string, environment []string, args ...string) (*config.Settings, error) {
	t.Helper()
	g := NewWithT(t)
	root := t.TempDir()
	if conf != "" {
		g.Expect(os.WriteFile(filepath.Join(root, "mssql.conf"), []byte(conf), 0o600)).To(Succeed())
	}
	a, err := config.ParseArguments(append([]string{"--root", root}, args...))
	g.Expect(err).NotTo(HaveOccurred())
	return config.Load(a, append([]string{"ACCEPT_EULA=Y"}, environment...), "tuk-sql-0.example.net")
}

// Several servers on one machine have the endpoints that the operator declares, which all have one port.
func TestPeers(t *testing.T) {
	g := NewWithT(t)
	a, err := config.ParseArguments(
		[]string{"--peer", "Tukpub-0:5022=127.0.0.1:31001", "--peer=quisec-0:5022=127.0.0.1:31002"},
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Peers).To(Equal(map[string]string{"tukpub-0:5022": "127.0.0.1:31001", "quisec-0:5022": "127.0.0.1:31002"}))
	for _, bad := range []string{"", "tukpub-0", "tukpub-0:5022", "tukpub-0=127.0.0.1:1", "tukpub-0:5022=somewhere:1",
		"tukpub-0:5022=127.0.0.1"} {
		_, err := config.ParseArguments([]string{"--peer", bad})
		g.Expect(err).To(HaveOccurred(), bad)
	}
}

func TestArguments(t *testing.T) {
	g := NewWithT(t)
	a, err := config.ParseArguments(
		[]string{
			"-T1448",
			"-T",
			"9567",
			"-k100",
			"-m\"SQLCMD\"",
			"-c",
			"-e",
			"/e/log",
			"-d/d/master.mdf",
			"--root=/r",
			"--server-name",
			"one",
		},
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.TraceFlags).To(Equal([]int{1448, 9567}))
	g.Expect(a.CheckpointMBPerSecond).To(Equal(100))
	g.Expect(a.SingleUser).To(BeTrue())
	g.Expect(a.SingleUserApp).To(Equal("SQLCMD"))
	g.Expect(a.ErrorLog).To(Equal("/e/log"))
	g.Expect(a.MasterData).To(Equal("/d/master.mdf"))
	g.Expect(a.Root).To(Equal("/r"))
	g.Expect(a.ServerName).To(Equal("one"))
	g.Expect(a.Idle).To(Equal([]string{"-k", "-c"}))
	g.Expect(a.Options).
		To(Equal([]string{"-T1448", "-T9567", "-k100", "-m\"SQLCMD\"", "-c", "-e/e/log", "-d/d/master.mdf"}))
	for _, wrong := range [][]string{{"-T"}, {"-Tx"}, {"-k0"}, {"-q"}, {"--frob"}, {"stray"}, {"--root"}, {"-sX"}, {"-"}} {
		_, err := config.ParseArguments(wrong)
		g.Expect(err).To(HaveOccurred(), "%v", wrong)
	}
}

func TestEnvironmentGoesBeforeTheFile(t *testing.T) {
	g := NewWithT(t)
	conf := "[network]\ntcpport = 1500\nipaddress = 127.0.0.2\nforceencryption = " +
		"1\n[hadr]\nhadrenabled=1\n[sqlagent]\nenabled = false\n" +
		"[filelocation]\ndefaultdatadir = /file/data\ndefaultbackupdir = /file/backup\n[memory]\nmemorylimitmb = 512\n" +
		"# comment\n[traceflag]\ntraceflag0 = 1448\ntraceflag1=9567\n[uncmapping]\n//quincy/ReplData = " +
		"/var/opt/mssql/mirror/quincy\n"
	s, err := load(
		t,
		conf,
		[]string{"MSSQL_TCP_PORT=0", "MSSQL_AGENT_ENABLED=true", "MSSQL_BACKUP_DIR=/env/backup"},
		"-T3604",
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Port).To(Equal(0))
	g.Expect(s.Address).To(Equal("127.0.0.2"))
	g.Expect(s.TLS.ForceEncryption).To(BeTrue())
	g.Expect(s.HADREnabled).To(BeTrue())
	g.Expect(s.AgentEnabled).To(BeTrue())
	g.Expect(s.DataDir).To(Equal("/file/data"))
	g.Expect(s.LogDir).To(Equal("/file/data"))
	g.Expect(s.BackupDir).To(Equal("/env/backup"))
	g.Expect(s.MemoryLimit()).To(Equal(int64(512 << 20)))
	g.Expect(s.TraceFlags).To(Equal([]int{3604, 1448, 9567}))
	g.Expect(s.UNCMapping).To(Equal(map[string]string{"//quincy/ReplData": "/var/opt/mssql/mirror/quincy"}))
	g.Expect(s.ServerName).To(Equal("tuk-sql-0"))
	g.Expect(s.Warnings).To(BeEmpty())
}

func TestDefaults(t *testing.T) {
	g := NewWithT(t)
	s, err := load(t, "", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Port).To(Equal(1433))
	g.Expect(s.DataDir).To(Equal(filepath.Join(s.Root, "data")))
	g.Expect(s.ErrorLog).To(Equal(filepath.Join(s.Root, "log", "errorlog")))
	g.Expect(s.Edition).To(Equal("Developer Edition (64-bit)"))
	g.Expect(s.MemoryLimit()).To(BeNumerically(">", 0))
}

// An image may stand for another update of the program.
func TestAnotherBuild(t *testing.T) {
	g := NewWithT(t)
	s, err := load(t, "", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Version).To(BeEmpty())
	s, err = load(t, "", []string{"STANDIN_VERSION=16.0.4135.4"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Version).To(Equal("16.0.4135.4"))
	for _, wrong := range []string{"16", "16.0.4135", "latest", "13.0.1.1", "16.0.70000.0"} {
		_, err = load(t, "", []string{"STANDIN_VERSION=" + wrong})
		g.Expect(err).To(MatchError(ContainSubstring("STANDIN_VERSION must be a build")), wrong)
	}
}

func TestNothingIsIgnoredSilently(t *testing.T) {
	g := NewWithT(t)
	s, err := load(
		t,
		"[network]\nfrobnicate = 1\n[control]\nwritethrough = 1\n[telemetry]\ncustomerfeedback = false\n",
		[]string{"MSSQL_FROB=1", "MSSQL_DUMP_DIR=/d", "OTHER=1"},
		"-x",
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Warnings).To(ConsistOf(
		ContainSubstring("network.frobnicate is unknown"),
		ContainSubstring("control.writethrough has no effect"),
		ContainSubstring("telemetry.customerfeedback has no effect"),
		ContainSubstring("MSSQL_FROB is unknown"),
		ContainSubstring("MSSQL_DUMP_DIR has no effect"),
		ContainSubstring("-x has no effect"),
	))
}

func TestWhatCannotBeStartedWith(t *testing.T) {
	for name, c := range map[string]struct {
		conf        string
		environment []string
		args        []string
		names       string
	}{
		"licence":            {environment: []string{"ACCEPT_EULA="}, names: "ACCEPT_EULA"},
		"port":               {environment: []string{"MSSQL_TCP_PORT=x"}, names: "MSSQL_TCP_PORT"},
		"port in file":       {conf: "[network]\ntcpport = 70000", names: "network.tcpport"},
		"trailing letters":   {environment: []string{"MSSQL_TCP_PORT=1433x"}, names: "MSSQL_TCP_PORT"},
		"flag":               {environment: []string{"MSSQL_ENABLE_HADR=perhaps"}, names: "MSSQL_ENABLE_HADR"},
		"edition":            {environment: []string{"MSSQL_PID=AAAAA-BBBBB-CCCCC-DDDDD-EEEEE"}, names: "MSSQL_PID"},
		"collation":          {environment: []string{"MSSQL_COLLATION=Turkish_CI_AS"}, names: "MSSQL_COLLATION"},
		"relative directory": {environment: []string{"MSSQL_DATA_DIR=data"}, names: "MSSQL_DATA_DIR"},
		"broken line":        {conf: "[network]\nnonsense\n", names: "line 2"},
		"no section":         {conf: "tcpport = 1\n", names: "line 1"},
		"uncmapping":         {conf: "[uncmapping]\nhost = /x\n", names: "uncmapping"},
		"trace flag":         {conf: "[traceflag]\ntraceflag0 = x\n", names: "traceflag0"},
		"long name":          {args: []string{"--server-name", "a-name-beyond-15-characters"}, names: "15"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := load(t, c.conf, c.environment, c.args...)
			var refused *config.RefusedError
			g.Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
			g.Expect(refused.Text).To(ContainSubstring(c.names))
		})
	}
}

func TestLicenceInTheFile(t *testing.T) {
	_, err := load(t, "[EULA]\naccepteula = Y\n", []string{"ACCEPT_EULA="})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func TestPasswordPolicy(t *testing.T) {
	g := NewWithT(t)
	for _, good := range []string{"Passw0rd", "pass-w0rd", "PASS-w0rd", "ÄÖÜäöü12", "Password!"} {
		g.Expect(config.CheckPassword(good)).To(Succeed(), good)
	}
	for bad, why := range map[string]string{"": "MSSQL_SA_PASSWORD", "Pw0rd!x": "too short", "password1": "complex",
		"PASSWORD": "complex"} {
		err := config.CheckPassword(bad)
		g.Expect(err).To(MatchError(ContainSubstring(why)), bad)
		if bad != "" {
			g.Expect(err.Error()).NotTo(ContainSubstring(bad))
		}
	}
}

// A key that is not the engine's own is taken, unless the engine answers the other way: then it does not start.
func TestAKeyThatIsNotTheEnginesOwn(t *testing.T) {
	g := NewWithT(t)
	key := filepath.Join(t.TempDir(), "tls.key")
	g.Expect(os.WriteFile(key, []byte("key"), 0o440)).To(Succeed())
	conf := "[network]\ntlscert = /no\ntlskey = " + key + "\n"
	start := func(conf string) error {
		s, err := load(t, conf, nil)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = s.TLS.Config(nil)
		return err
	}
	own := conf + "[standin]\nanswers = network.key-is-own\n"
	g.Expect(start(own)).To(MatchError(ContainSubstring("must belong to the server's user, with mode 400 or 600")))
	g.Expect(start(conf)).To(MatchError(ContainSubstring("load certificate /no")), "the key is none of its questions")
	g.Expect(os.Chmod(key, 0o400)).To(Succeed())
	g.Expect(start(own)).To(MatchError(ContainSubstring("load certificate /no")))
}

func TestTLSProtocols(t *testing.T) {
	g := NewWithT(t)
	signed := func() (tls.Certificate, error) { return tds.SelfSigned("x") }
	c, err := config.TLSSettings{}.Config(signed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.MinVersion).To(Equal(uint16(tls.VersionTLS12)))
	c, err = config.TLSSettings{Protocols: []string{"1.2", "1.1"}}.Config(signed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.MinVersion).To(Equal(uint16(tls.VersionTLS11)))
	g.Expect(c.MaxVersion).To(Equal(uint16(tls.VersionTLS12)))
	_, err = config.TLSSettings{Protocols: []string{"9"}}.Config(signed)
	g.Expect(err).To(HaveOccurred())
	_, err = config.TLSSettings{Certificate: "/only"}.Config(signed)
	g.Expect(err).To(MatchError(ContainSubstring("network.tlskey")))
	_, err = config.TLSSettings{Certificate: "/no", Key: "/such"}.Config(signed)
	g.Expect(err).To(MatchError(ContainSubstring("/no")))
}

func TestErrorLogIsKeptAndRotated(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "log", "errorlog")
	for i := range 5 {
		also := &bytes.Buffer{}
		log, err := config.OpenErrorLog(path, 2, also)
		g.Expect(err).NotTo(HaveOccurred())
		log.Printf("start %d", i)
		slog.New(log).With("database", "sales").Warn("slow", "source", "spid51s", "ms", 5)
		g.Expect(log.Close()).To(Succeed())
		text, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(also.String()).To(Equal(string(text)))
		g.Expect(string(text)).
			To(MatchRegexp(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d\d Server      start %d\n.{22} spid51s     Warning: slow database=sales ms=5\n$`, i))
	}
	old, err := os.ReadFile(path + ".2")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(old)).To(ContainSubstring("start 2"))
	g.Expect(path + ".3").NotTo(BeAnExistingFile())

	log, err := config.OpenErrorLog(path, 2, nil)
	g.Expect(err).NotTo(HaveOccurred())
	log.Printf("before")
	g.Expect(log.Cycle()).To(Succeed())
	log.From("spid51").Printf("after")
	g.Expect(log.Close()).To(Succeed())
	for name, text := range map[string]string{path: "after", path + ".1": "before", path + ".2": "start 4"} {
		content, err := os.ReadFile(name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(content)).To(And(ContainSubstring(text), HaveSuffix("\n")))
		g.Expect(bytes.Count(content, []byte("\n"))).To(BeNumerically("<", 3), name)
	}
}

func TestADirectoryHasOneInstance(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "data")
	lock, err := config.LockDirectory(dir)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = config.LockDirectory(dir)
	g.Expect(err).To(MatchError(ContainSubstring("in use by another instance")))
	g.Expect(lock.Release()).To(Succeed())
	again, err := config.LockDirectory(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Release()).To(Succeed())
}

// The image ends at once where it sees less than 2000 MB of memory.
func TestMemoryIsWhatTheImageAsksFor(t *testing.T) {
	g := NewWithT(t)
	g.Expect(config.CheckMemory(1999 << 20)).To(Succeed())
	g.Expect(config.CheckMemory(2000*1000*1000-2048)).To(Succeed(), "2000M in whole pages")
	g.Expect(config.CheckMemory(0)).To(Succeed(), "it cannot be told")
	g.Expect(config.CheckMemory(1 << 30)).
		To(MatchError("This program requires a machine with at least 2000 megabytes of memory."))
	g.Expect(config.AvailableMemory()).To(BeNumerically(">", 0))
}
