// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/gomega"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"sigs.k8s.io/yaml"
)

var (
	helm = flag.String("helm", "helm", "the program helm")
	warm = flag.Bool("warm", false,
		"let the second release use what was compiled for the first: quicker, and no proof that compiling repeats")
)

// tried is the version of releases in tests. The changelog's next section is its own.
const tried = "0.0.1-rc.1"

// run runs a program in a folder and returns what it says.
func run(t *testing.T, dir, program string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s %s: %s", program, strings.Join(arguments, " "), said)
	return string(said)
}

// helmProgram is where helm is.
func helmProgram() (string, error) {
	path, err := exec.LookPath(*helm)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// head is the commit that is checked out.
func head(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(run(t, ".", "git", "rev-parse", "HEAD"))
}

// cloned is a commit in a folder of its own.
func cloned(t *testing.T, commit, clone string) {
	t.Helper()
	run(t, ".", "git", "clone", "--quiet", "--shared", "--no-checkout", filepath.Join("..", ".."), clone)
	run(t, clone, "git", "checkout", "--quiet", "--detach", commit)
}

// released makes a release of a commit at a path, for this machine's processor alone.
func released(t *testing.T, commit, clone, registry string) (dir, said string) {
	t.Helper()
	g := NewWithT(t)
	cloned(t, commit, clone)
	program, err := helmProgram()
	g.Expect(err).NotTo(HaveOccurred())
	here := "linux/" + runtime.GOARCH
	var out strings.Builder
	o := options{root: clone, out: filepath.Join(clone, "dist"), version: tried, registry: registry, images: here,
		plugins: here, helm: program}
	g.Expect(o.run(t.Context(), io.MultiWriter(&out, os.Stderr))).To(Succeed())
	return filepath.Join(clone, "dist", tried), out.String()
}

// sums are the checksums of the files of a folder, by their names.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	files, err := os.ReadDir(dir)
	g.Expect(err).NotTo(HaveOccurred())
	all := map[string]string{}
	for _, file := range files {
		all[file.Name()], err = sha256Of(filepath.Join(dir, file.Name()))
		g.Expect(err).NotTo(HaveOccurred())
	}
	return all
}

// read is a file of a folder.
func read(t *testing.T, dir, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return data
}

// unpack are the files of an archive by their names.
func unpack(t *testing.T, archive io.Reader) map[string][]byte {
	t.Helper()
	g := NewWithT(t)
	files := map[string][]byte{}
	for from := tar.NewReader(archive); ; {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		g.Expect(err).NotTo(HaveOccurred())
		files[header.Name], err = io.ReadAll(from)
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// unpackFile are those of a file that is compressed.
func unpackFile(t *testing.T, dir, file string) map[string][]byte {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(read(t, dir, file)))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return unpack(t, compressed)
}

// execute runs a program that was in an archive.
func execute(t *testing.T, data []byte, arguments ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	NewWithT(t).Expect(os.WriteFile(path, data, 0o700)).To(Succeed())
	return run(t, ".", path, arguments...)
}

// Two releases of one commit, made in two places, are the same to the byte. What is pushed can be pulled, and is what
// chart and manifest install.
func TestRelease(t *testing.T) {
	g := NewWithT(t)
	// Somebody may commit meanwhile.
	registry, commit := serve(t), head(t)
	first, said := released(t, commit, filepath.Join(t.TempDir(), "one"), registry)
	g.Expect(said).To(ContainSubstring("pushed " + registry + "/geosql-operator:" + tried))
	t.Run("Repeats", func(t *testing.T) {
		if !*warm {
			t.Setenv("GOCACHE", t.TempDir())
		}
		g := NewWithT(t)
		second, said := released(t, commit, filepath.Join(t.TempDir(), "a longer way", "to another"), registry)
		g.Expect(sums(t, second)).To(Equal(sums(t, first)))
		g.Expect(said).To(ContainSubstring("is there already"))
	})
	tag, err := name.NewTag(registry + "/geosql-operator:" + tried)
	g.Expect(err).NotTo(HaveOccurred())
	index, err := remote.Index(tag)
	g.Expect(err).NotTo(HaveOccurred())
	digest, err := index.Digest()
	g.Expect(err).NotTo(HaveOccurred())
	image := tag.Repository.String() + ":" + tried + "@" + digest.String()

	t.Run("Image", func(t *testing.T) { imageIsTheOperator(t, commit, index, first) })
	t.Run("Chart", func(t *testing.T) { chartInstalls(t, first, image) })
	t.Run("Plugin", func(t *testing.T) { pluginsAreThere(t, first) })
	t.Run("Checksums", func(t *testing.T) {
		g := NewWithT(t)
		checked := run(t, first, "sha256sum", "--check", "--strict", "checksums.txt")
		for file := range maps.Keys(sums(t, first)) {
			if file != "checksums.txt" {
				g.Expect(checked).To(ContainSubstring(file + ": OK"))
			}
		}
	})
	t.Run("Notes", func(t *testing.T) {
		NewWithT(t).Expect(string(read(t, first, "NOTES.md"))).To(And(HavePrefix("# geosql-operator "+tried+"\n"),
			ContainSubstring("`"+image+"`")))
	})
	t.Run("Materials", func(t *testing.T) { materialsAreNamed(t, first) })
}

// What was pulled runs the operator of that version, as images/operator.Dockerfile says, and the archive has the same.
func imageIsTheOperator(t *testing.T, commit string, index v1.ImageIndex, dir string) {
	g := NewWithT(t)
	manifest, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(1))
	g.Expect(manifest.Annotations).To(HaveKeyWithValue("org.opencontainers.image.version", tried))
	g.Expect(manifest.Manifests[0].Platform.String()).To(Equal("linux/" + runtime.GOARCH))
	image, err := index.Image(manifest.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	config, err := image.ConfigFile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Config.Labels).To(HaveKeyWithValue("org.opencontainers.image.revision", commit))

	dockerfile := string(read(t, filepath.Join("..", "..", "images"), "operator.Dockerfile"))
	g.Expect(dockerfile).To(ContainSubstring("\nFROM scratch\n"))
	for line, is := range map[string]string{"USER": config.Config.User, "ENTRYPOINT": `["` + config.Config.Entrypoint[0] + `"]`} {
		g.Expect(dockerfile).To(ContainSubstring("\n" + line + " " + is + "\n"))
	}
	g.Expect(config.Config.Entrypoint).To(HaveLen(1))
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }()
	inside := unpack(t, files)
	g.Expect(inside).To(HaveLen(1))
	entry := strings.TrimPrefix(config.Config.Entrypoint[0], "/")
	g.Expect(execute(t, inside[entry], "--version")).To(Equal("geosql version " + tried + "\n"))

	unpacked := t.TempDir()
	for name, data := range unpack(t, bytes.NewReader(read(t, dir, "geosql-operator-"+tried+"-image.tar"))) {
		g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(unpacked, name)), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(unpacked, name), data, 0o600)).To(Succeed())
	}
	archived, err := layout.ImageIndexFromPath(unpacked)
	g.Expect(err).NotTo(HaveOccurred())
	listed, err := archived.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	digest, err := index.Digest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listed.Manifests).To(HaveLen(1))
	g.Expect(listed.Manifests[0].Digest).To(Equal(digest))
	_, err = archived.ImageIndex(digest)
	g.Expect(err).NotTo(HaveOccurred())
}

// The packaged chart is one of that version and installs the image without being told; so does the manifest, which has
// nothing that is Helm's alone.
func chartInstalls(t *testing.T, dir, image string) {
	g := NewWithT(t)
	chart := filepath.Join(dir, "geosql-operator-"+tried+".tgz")
	run(t, ".", *helm, "lint", "--strict", "--quiet", chart)
	var meta struct{ Name, Version, AppVersion string }
	g.Expect(yaml.Unmarshal([]byte(run(t, ".", *helm, "show", "chart", chart)), &meta)).To(Succeed())
	g.Expect(meta.Name + " " + meta.Version + " " + meta.AppVersion).To(Equal("geosql-operator " + tried + " " + tried))
	for _, place := range []string{"manager.enabled=true", "manager.enabled=false,site.enabled=true,site.name=quincy"} {
		g.Expect(run(t, ".", *helm, "template", "x", chart, "--kube-version", "1.36.0", "--set", place)).To(
			ContainSubstring(`image: "` + image + `"`))
	}
	manifest := string(read(t, dir, "install.yaml"))
	g.Expect(manifest).To(ContainSubstring(`image: "` + image + `"`))
	g.Expect(manifest).NotTo(MatchRegexp(`helm\.sh/(hook|chart)|managed-by: Helm`))
	kinds := map[string]int{}
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		g.Expect(yaml.Unmarshal([]byte(document), &object)).To(Succeed())
		kinds[object.Kind]++
	}
	bases, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "bases", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kinds).To(And(HaveKeyWithValue("CustomResourceDefinition", len(bases)), HaveKeyWithValue("Namespace", 1),
		HaveKeyWithValue("Deployment", 1), HaveKeyWithValue("ValidatingWebhookConfiguration", 1)))
}

// krew finds each archive with the program that it names, and the program is of that version.
func pluginsAreThere(t *testing.T, dir string) {
	g := NewWithT(t)
	var manifest struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version   string
			Platforms []struct{ URI, SHA256, Bin string }
		}
	}
	g.Expect(yaml.Unmarshal(read(t, dir, "geosql.yaml"), &manifest)).To(Succeed())
	g.Expect(manifest.Metadata.Name + " " + manifest.Spec.Version).To(Equal("geosql v" + tried))
	g.Expect(manifest.Spec.Platforms).To(HaveLen(1))
	p := manifest.Spec.Platforms[0]
	g.Expect(p.SHA256).To(Equal(sums(t, dir)[p.URI]))
	inside := unpackFile(t, dir, p.URI)
	g.Expect(inside).To(And(HaveLen(2), HaveKey("LICENSE")))
	g.Expect(execute(t, inside[p.Bin], "version", "--client")).To(ContainSubstring(tried))
}

// The bill of materials is a document of SPDX, and names image, programs and modules with their versions.
func materialsAreNamed(t *testing.T, dir string) {
	g := NewWithT(t)
	document, err := json.Read(bytes.NewReader(read(t, dir, "geosql-operator-"+tried+".spdx.json")))
	g.Expect(err).NotTo(HaveOccurred())
	versions := map[string]string{}
	for _, p := range document.Packages {
		versions[p.PackageName] = p.PackageVersion
	}
	g.Expect(versions).To(And(HaveKeyWithValue("geosql-operator", tried), HaveKeyWithValue("geosql", tried),
		HaveKeyWithValue("kubectl-geosql", tried)))
	library := versions["stdlib"]
	g.Expect(library).To(Equal(strings.TrimPrefix(runtime.Version(), "go")))
	required := string(read(t, filepath.Join("..", ".."), "go.mod"))
	for _, module := range []string{"k8s.io/client-go", "github.com/microsoft/go-mssqldb"} {
		g.Expect(versions).To(HaveKey(module))
		g.Expect(required).To(ContainSubstring("\t" + module + " " + versions[module] + "\n"))
	}
	ends := map[common.ElementID]bool{"DOCUMENT": true}
	for _, p := range document.Packages {
		g.Expect(ends).NotTo(HaveKey(p.PackageSPDXIdentifier), p.PackageName)
		ends[p.PackageSPDXIdentifier] = true
	}
	for _, r := range document.Relationships {
		g.Expect(ends).To(And(HaveKey(r.RefA.ElementRefID), HaveKey(r.RefB.ElementRefID)))
	}
}

// A release is of a commit: files beside it are named.
func TestReleaseOfAChangedCheckout(t *testing.T) {
	g := NewWithT(t)
	clone := filepath.Join(t.TempDir(), "clone")
	cloned(t, head(t), clone)
	g.Expect(os.WriteFile(filepath.Join(clone, "cmd", "more.go"), nil, 0o600)).To(Succeed())
	o := asked(func(o *options) { o.root, o.version = clone, tried })
	g.Expect(o.run(t.Context(), io.Discard)).To(MatchError(And(ContainSubstring("a release is made of a commit"),
		ContainSubstring("cmd/more.go"))))
}
