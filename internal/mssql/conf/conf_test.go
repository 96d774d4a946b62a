// SPDX-License-Identifier: Apache-2.0

package conf_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"gopkg.in/ini.v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/conf"
)

func TestRender(t *testing.T) {
	g := NewWithT(t)
	file := conf.Render("dubsub", map[string]string{
		"errorlog.numerrorlogs":    "20",
		"network.tlsprotocols":     "1.0",
		"traceflag.traceflag0":     "3226",
		"control.writethrough\n[x": "1",
		"language.lcid":            "1033\n[network]\nforceencryption = 0",
	}, conf.Folders{From: []v1alpha1.ServerName{"dist", "dubsub"}})
	conf, err := ini.Load([]byte(file))
	g.Expect(err).NotTo(HaveOccurred())
	value := func(section, key string) string { return conf.Section(section).Key(key).String() }
	g.Expect(value("errorlog", "numerrorlogs")).To(Equal("20"))
	g.Expect(value("network", "tlsprotocols")).To(Equal("1.2"), "the operator's settings win")
	g.Expect(value("network", "forceencryption")).To(Equal("1"))
	g.Expect(conf.HasSection("traceflag")).To(BeFalse(), "trace flags are arguments")
	g.Expect(conf.HasSection("control")).To(BeFalse(), "a setting that isn't one is left out")
	g.Expect(value("uncmapping", "//dubsub-0/ReplData")).To(Equal("/var/opt/mssql-backup/ReplData"))
	g.Expect(value("uncmapping", "//dist-0/ReplData")).To(Equal("/var/opt/mssql-backup/mirror/dist-0"))
	g.Expect(value("filelocation", "defaultlogdir")).To(Equal("/var/opt/mssql-log"))
	g.Expect(value("hadr", "hadrenabled")).To(Equal("1"))
	g.Expect(value("sqlagent", "enabled")).To(Equal("true"))
	g.Expect(value("sqlagent", "startupwaitforalldb")).To(Equal("0"), "one sick database keeps no job from running")
}

// Whatever a user writes, the operator's settings hold, and the file is the same each time.
func TestManagedSettingsAlwaysHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "settings")
		for _, key := range conf.Managers() {
			user[strings.ToUpper(key)] = "0"
		}
		file := conf.Render("tukpub", user, conf.Folders{})
		if file != conf.Render("tukpub", user, conf.Folders{}) {
			t.Fatal("the file differs from one time to the next")
		}
		conf, err := ini.LoadSources(ini.LoadOptions{Insensitive: true}, []byte(file))
		if err != nil {
			t.Fatalf("%v in\n%s", err, file)
		}
		if got := conf.Section("network").Key("forceencryption").String(); got != "1" {
			t.Fatalf("forceencryption is %q in\n%s", got, file)
		}
	})
}

// Another line here is another restart of every server when somebody upgrades: a new managed setting waits for the next
// start of each engine.
func TestWhatAReleaseRestartsEnginesFor(t *testing.T) {
	g := NewWithT(t)
	user := map[string]string{"errorlog.numerrorlogs": "20"}
	had := conf.RestartsFor("pub", user, nil)
	g.Expect(strings.Fields(had)).To(Equal(strings.Fields(`
		[EULA] accepteula = Y
		[errorlog] numerrorlogs = 20
		[filelocation] defaultbackupdir = /var/opt/mssql-backup defaultdatadir = /var/opt/mssql/data
		defaultlogdir = /var/opt/mssql-log
		[hadr] hadrenabled = 1
		[network] forceencryption = 1 tcpport = 1433 tlscert = /etc/geosql/tls/tls.crt
		tlskey = /etc/geosql/tls/tls.key tlsprotocols = 1.2
		[sqlagent] enabled = true
		[uncmapping] //pub-0/ReplData = /var/opt/mssql-backup/ReplData`)))
	g.Expect(conf.RestartsFor("pub", nil, nil)).NotTo(Equal(had), "what a user changes")
	g.Expect(conf.Render("pub", user, conf.Folders{})).To(ContainSubstring("startupwaitforalldb = 0"))
}

func TestManaged(t *testing.T) {
	g := NewWithT(t)
	for _, key := range []string{"network.tlscert", "Network.TLSCert", "traceflag.traceflag1", "uncmapping.//x/y",
		"memory.memorylimitmb"} {
		g.Expect(conf.Managed(key)).To(BeTrue(), key)
	}
	g.Expect(conf.Managed("errorlog.numerrorlogs")).To(BeFalse())
}

// Whoever publishes through another server writes below the snapshot folder of that into a folder of its own, which is
// there; where it has a mirror, into that. A running engine is not restarted for it.
func TestPublisherMapsTheSnapshotFolder(t *testing.T) {
	g := NewWithT(t)
	folders := conf.Folders{Others: []v1alpha1.ServerName{"dist", "tukpub"}}
	value := func(folders conf.Folders, key string) string {
		file, err := ini.Load([]byte(conf.Render("tukpub", nil, folders)))
		g.Expect(err).NotTo(HaveOccurred())
		return file.Section("uncmapping").Key(key).String()
	}
	g.Expect(value(folders, "//dist-0/ReplData")).To(Equal("/var/opt/mssql-backup/ReplData"))
	g.Expect(value(folders, "//tukpub-0/ReplData")).To(Equal("/var/opt/mssql-backup/ReplData"))
	folders.From = []v1alpha1.ServerName{"dist"}
	g.Expect(value(folders, "//dist-0/ReplData")).To(Equal("/var/opt/mssql-backup/mirror/dist-0"))
	g.Expect(conf.RestartsFor("tukpub", nil, nil)).NotTo(ContainSubstring("dist-0"))
}

// The folders behind the names of shares are read back from the file, and nothing else is.
func TestFoldersThatAFileMaps(t *testing.T) {
	g := NewWithT(t)
	folders := conf.Folders{From: []v1alpha1.ServerName{"dist", "quidist"},
		Others: []v1alpha1.ServerName{"tukpub", "dist"}}
	g.Expect(conf.Mapped(conf.Render("tukpub", map[string]string{"memory.x": "/var/opt/x"}, folders))).To(ConsistOf(
		"/var/opt/mssql-backup/mirror/dist-0", "/var/opt/mssql-backup/mirror/quidist-0", "/var/opt/mssql-backup/ReplData"))
	g.Expect(conf.Mapped("[UncMapping]\r\n//a/b=/x\r\n//c/d =\n[network]\n//e/f = /y\n")).To(Equal([]string{"/x"}))
	g.Expect(conf.Mapped("")).To(BeEmpty())
}
