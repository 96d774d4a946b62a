// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/files"
)

// silent is a source of orders that has none.
type silent struct{ watched chan struct{} }

func (s silent) Watch(ctx context.Context, _ func(map[string][]byte)) error {
	close(s.watched)
	<-ctx.Done()
	return ctx.Err()
}

// The snapshot folder has another name, at which subscribers have its mirror. What is there already stays.
func TestOtherNameOfTheSnapshotFolder(t *testing.T) {
	g := NewWithT(t)
	volume := t.TempDir()
	folder, source := filepath.Join(volume, "ReplData"), silent{make(chan struct{})}
	link := filepath.Join(volume, "mirror", "dist-0")
	g.Expect(os.MkdirAll(link, 0o770)).To(Succeed())
	part := files.NewPart(source, "web", folder, filepath.Dir(link), slog.New(slog.DiscardHandler))
	part.Link(link)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- part.Run(ctx) }()
	g.Eventually(folder, patient).Should(BeADirectory())
	g.Expect(os.Remove(link)).To(Succeed(), "nothing was put in its place")
	g.Eventually(func() (string, error) { return os.Readlink(link) }, patient).Should(Equal(folder))
	g.Expect(os.WriteFile(filepath.Join(link, "article.bcp"), nil, 0o600)).To(Succeed())
	g.Expect(filepath.Join(folder, "article.bcp")).To(BeARegularFile())
	cancel()
	g.Eventually(ended, patient).Should(Receive(MatchError(context.Canceled)))
}

// An engine admits no publisher without the snapshot folder and never makes it. While the volume takes no folder, the
// sidecar goes on with what else it does.
func TestSidecarMakesTheSnapshotFolder(t *testing.T) {
	g := NewWithT(t)
	volume := filepath.Join(t.TempDir(), "volume")
	g.Expect(os.WriteFile(volume, nil, 0o600)).To(Succeed())
	folder, source := filepath.Join(volume, "ReplData"), silent{make(chan struct{})}
	part := files.NewPart(source, "web", folder, t.TempDir(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- part.Run(ctx) }()
	g.Eventually(source.watched, patient).Should(BeClosed())
	g.Consistently(ended, "100ms").ShouldNot(Receive())
	g.Expect(os.Remove(volume)).To(Succeed())
	g.Eventually(folder, patient).Should(BeADirectory())
	info, err := os.Stat(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()&0o700).To(BeEquivalentTo(0o700), "the engine has the sidecar's user")
	g.Expect(os.Remove(folder)).To(Succeed())
	g.Eventually(folder, patient).Should(BeADirectory(), "somebody has removed it")
	cancel()
	g.Eventually(ended, patient).Should(Receive(MatchError(context.Canceled)))
}

// An engine writes below the folder of its distributor's mirror when it publishes, whether a mirror was ever asked for
// or not: the sidecar makes those that mssql.conf maps, and no other. One that is made anew comes back.
func TestSidecarMakesTheFoldersOfMirrors(t *testing.T) {
	g := NewWithT(t)
	volume := t.TempDir()
	mirrors, file := filepath.Join(volume, "mirror"), filepath.Join(volume, "mssql.conf")
	dist, own, outside := filepath.Join(mirrors, "dist-0"), filepath.Join(volume, "ReplData"), filepath.Join(volume, "x")
	source := silent{make(chan struct{})}
	part := files.NewPart(source, "web", own, mirrors, slog.New(slog.DiscardHandler))
	part.Maps(filepath.Join(volume, "conf", "mssql.conf"), file)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- part.Run(ctx) }()
	g.Eventually(own, patient).Should(BeADirectory(), "also without the file")
	g.Expect(os.WriteFile(file, []byte("[network]\ntcpport = 1433\n[uncmapping]\n//dist-0/ReplData = "+dist+
		"\n//tukpub-0/ReplData = "+own+"\n//other/share = "+outside+"\n//up/share = "+mirrors+"/../y\n"), 0o600)).
		To(Succeed())
	g.Eventually(dist, patient).Should(BeADirectory())
	g.Expect(os.Remove(dist)).To(Succeed())
	g.Eventually(dist, patient).Should(BeADirectory(), "somebody has removed it")
	// A pod that an earlier release has not made has the file in a folder, and at the other place an empty one.
	sub := filepath.Join(mirrors, "sub-0")
	g.Expect(os.Mkdir(filepath.Join(volume, "conf"), 0o700)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(volume, "conf", "mssql.conf"),
		[]byte("[uncmapping]\n//sub-0/ReplData = "+sub+"\n"), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
	g.Eventually(sub, patient).Should(BeADirectory())
	g.Expect(outside).NotTo(BeAnExistingFile())
	g.Expect(filepath.Join(volume, "y")).NotTo(BeAnExistingFile())
	cancel()
	g.Eventually(ended, patient).Should(Receive(MatchError(context.Canceled)))
}
