// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

func described(database string) backup.Description {
	return backup.Description{
		Set: backup.Set{ID: "6f9619ff-8b86-d011-b42d-00c04fc964ff", Kind: backup.Log, Database: database,
			Family: "f", FirstLSN: "34000000012800001", LastLSN: "34000000015200001", Fork: "a",
			Begun: start, Finished: start.Add(2 * time.Second), Until: start.Add(time.Second)},
		Namespace: "web", Target: "group/content", Policy: "nightly", Server: "tukpub-0", Build: "16.0.4135.4",
		Files: []backup.File{{Name: "1.trn", Bytes: 4, SHA256: "00"}}, Bytes: 10,
	}
}

func TestDescriptionsAreReadAsTheyWereWritten(t *testing.T) {
	g := NewWithT(t)
	d := described("Content")
	content, err := d.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	read, err := backup.Decode(content)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Sum).NotTo(BeEmpty())
	read.Sum, read.Format = "", 0
	g.Expect(read).To(Equal(d))
	for what, change := range map[string]func(string) string{
		"another position": func(s string) string { return strings.Replace(s, "34000000015200001", "34000000015200003", 1) },
		"another file":     func(s string) string { return strings.Replace(s, `"bytes": 4`, `"bytes": 5`, 1) },
		"a newer form":     func(s string) string { return strings.Replace(s, `"format": 1`, `"format": 3`, 1) },
		"cut off":          func(s string) string { return s[:len(s)/2] },
		"nothing":          func(string) string { return "{}" },
	} {
		_, err := backup.Decode([]byte(change(string(content))))
		g.Expect(err).To(HaveOccurred(), what)
	}
	elsewhere := described("Content")
	elsewhere.Files[0].Name = "../../other/1.trn"
	content, err = elsewhere.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = backup.Decode(content)
	g.Expect(err).To(MatchError(ContainSubstring("names the file")))
}

// A set that is encrypted has a form that earlier releases refuse, and says of each file what it is decrypted to.
func TestEncryptedSetsAreDescribed(t *testing.T) {
	g := NewWithT(t)
	plain := described("Content")
	content, err := plain.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(ContainSubstring(`"format": 1`), "every release reads it")
	encrypted := func() backup.Description {
		d := described("Content")
		d.Encryption = &backup.Encryption{Scheme: backup.SchemeAge, Recipient: "age1somebody"}
		d.Files = []backup.File{{Name: "1.trn.age", Bytes: 220, SHA256: "01", Plain: &plain.Files[0]}}
		return d
	}
	content, err = encrypted().Encode()
	g.Expect(err).NotTo(HaveOccurred())
	read, err := backup.Decode(content)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Format).To(Equal(2))
	g.Expect(read.Files[0].Written()).To(Equal(plain.Files[0]))
	g.Expect(read.Stored()).To(BeEquivalentTo(220))
	g.Expect(plain.Files[0].Written()).To(Equal(plain.Files[0]))
	for what, change := range map[string]func(*backup.Description){
		"another scheme": func(d *backup.Description) { d.Encryption.Scheme = "rot13" },
		"for nobody":     func(d *backup.Description) { d.Encryption.Recipient = "" },
		"to nothing":     func(d *backup.Description) { d.Files[0].Plain = nil },
		"of nothing":     func(d *backup.Description) { d.Encryption = nil },
		"to itself":      func(d *backup.Description) { d.Files[0].Plain = &backup.File{Name: "1.trn.age"} },
		"to elsewhere":   func(d *backup.Description) { d.Files[0].Plain = &backup.File{Name: "../1.trn"} },
	} {
		d := encrypted()
		change(&d)
		content, err := d.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		_, err = backup.Decode(content)
		g.Expect(err).To(HaveOccurred(), what)
	}
}

// What the first form does not know is said in the second alone: by its sum an earlier release would take the set for
// damaged.
func TestWhatTheFirstFormDoesNotKnowIsSaidInTheSecond(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*backup.Description)
		format int
	}{
		"nothing":               {func(*backup.Description) {}, 1},
		"an encrypted database": {func(d *backup.Description) { d.EncryptedBy = "0a0b" }, 2},
		"changes in bulk":       {func(d *backup.Description) { d.BulkLogged = true }, 2},
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			d := described("Content")
			row.change(&d)
			content, err := d.Encode()
			g.Expect(err).NotTo(HaveOccurred())
			read, err := backup.Decode(content)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read.Format).To(Equal(row.format))
			read.Sum, read.Format = "", 0
			g.Expect(read).To(Equal(d))
		})
	}
}

func TestFoldersAreInTheOrderOfTheirSets(t *testing.T) {
	g := NewWithT(t)
	g.Expect(described("Content").Key()).To(Equal(
		"web/group/content/Content/20260301T000002Z-log-6f9619ff-8b86-d011-b42d-00c04fc964ff/set.json"))
	g.Expect(described("a/b é..").Folder()).To(HavePrefix("web/group/content/a%2Fb%20%C3%A9../2026"))
	for _, name := range []string{".", "..", ".archive"} {
		g.Expect(described(name).Folder()).To(HavePrefix("web/group/content/%2E"))
	}
	at, ok := backup.FolderTime(described("x").Folder())
	g.Expect(ok).To(BeTrue())
	g.Expect(at).To(Equal(start.Add(2 * time.Second)))
	_, ok = backup.FolderTime("web/group/content/notes")
	g.Expect(ok).To(BeFalse())
}
