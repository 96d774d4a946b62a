// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// unbuilt is a release whose programs are a line each.
func unbuilt(t *testing.T) *release {
	t.Helper()
	g := NewWithT(t)
	r := &release{version: semver.MustParse("0.2.0"), root: filepath.Join("..", ".."), at: time.Unix(1700000000, 0).UTC(),
		digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0123", 16)}}
	dir := t.TempDir()
	add := func(name, file string, p platform) binary {
		path := filepath.Join(dir, p.os+"-"+p.arch, file)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte(name+" for "+p.String()), 0o600)).To(Succeed())
		return binary{name: name, platform: p, path: path}
	}
	for _, p := range imagePlatforms {
		r.operators = append(r.operators, add("geosql", "geosql", p))
	}
	for _, p := range pluginPlatforms {
		file := "kubectl-geosql"
		if p.os == "windows" {
			file += ".exe"
		}
		r.clients = append(r.clients, add("kubectl-geosql", file, p))
	}
	return r
}

// The image of each platform has that platform's program.
func TestImageHasEachPlatformsProgram(t *testing.T) {
	g := NewWithT(t)
	r := unbuilt(t)
	index, err := r.imageIndex()
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(len(imagePlatforms)))
	for i, p := range imagePlatforms {
		g.Expect(manifest.Manifests[i].Platform.String()).To(Equal(p.String()))
		image, err := index.Image(manifest.Manifests[i].Digest)
		g.Expect(err).NotTo(HaveOccurred())
		config, err := image.ConfigFile()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.OS + "/" + config.Architecture).To(Equal(p.String()))
		layers, err := image.Layers()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(layers).To(HaveLen(1))
		files, err := layers[0].Uncompressed()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(unpack(t, files)).To(Equal(map[string][]byte{"geosql": []byte("geosql for " + p.String())}))
		g.Expect(files.Close()).To(Succeed())
	}
}

// Each platform has its archive, which krew finds where it will be served, and by its checksum.
func TestPluginsOfEachPlatform(t *testing.T) {
	g := NewWithT(t)
	r, dir := unbuilt(t), t.TempDir()
	r.downloads = "https://downloads.example/0.2.0"
	g.Expect(r.makePlugins(t.Context(), dir)).To(Succeed())
	var manifest struct {
		Spec struct {
			Platforms []struct {
				Selector         struct{ MatchLabels struct{ OS, Arch string } }
				URI, SHA256, Bin string
			}
		}
	}
	g.Expect(yaml.Unmarshal(read(t, dir, "geosql.yaml"), &manifest)).To(Succeed())
	g.Expect(manifest.Spec.Platforms).To(HaveLen(len(pluginPlatforms)))
	for i, p := range manifest.Spec.Platforms {
		is := platform{p.Selector.MatchLabels.OS, p.Selector.MatchLabels.Arch}
		g.Expect(is).To(Equal(pluginPlatforms[i]))
		file, below := strings.CutPrefix(p.URI, r.downloads+"/")
		g.Expect(below).To(BeTrue(), p.URI)
		g.Expect(p.SHA256).To(Equal(sums(t, dir)[file]))
		unpacked := unpackFile
		if is.os == "windows" {
			unpacked = unzip
		}
		g.Expect(unpacked(t, dir, file)).To(And(HaveLen(2), HaveKey("LICENSE"),
			HaveKeyWithValue(p.Bin, []byte("kubectl-geosql for "+is.String()))))
	}
}

// unzip are the files of an archive by their names.
func unzip(t *testing.T, dir, file string) map[string][]byte {
	t.Helper()
	g := NewWithT(t)
	archive, err := zip.OpenReader(filepath.Join(dir, file))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = archive.Close() }()
	files := map[string][]byte{}
	for _, f := range archive.File {
		content, err := f.Open()
		g.Expect(err).NotTo(HaveOccurred())
		files[f.Name], err = io.ReadAll(content)
		g.Expect(err).NotTo(HaveOccurred())
	}
	return files
}

// Of a release that was pushed nowhere the chart asks where the image is, and the manifest has a word in its place.
func TestChartOfAnImageThatWasPushedNowhere(t *testing.T) {
	g := NewWithT(t)
	r, dir := unbuilt(t), t.TempDir()
	program, err := helmProgram()
	g.Expect(err).NotTo(HaveOccurred())
	r.helm = program
	g.Expect(r.makeChart(t.Context(), dir)).To(Succeed())
	g.Expect(string(read(t, dir, "install.yaml"))).To(And(
		ContainSubstring(`image: "`+r.reference("REGISTRY/geosql-operator")+`"`),
		ContainSubstring("# Write in place of REGISTRY/ where the image was put.\n")))
	chart := filepath.Join(dir, "geosql-operator-0.2.0.tgz")
	_, err = r.output(t.Context(), program, "template", "x", chart, "--kube-version", kubeVersion)
	g.Expect(err).To(MatchError(ContainSubstring("image.repository: name the image")))
	rendered, err := r.output(t.Context(), program, "template", "x", chart, "--kube-version", kubeVersion,
		"--set", "image.repository=registry.within/geosql-operator")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rendered).To(ContainSubstring(`image: "` + r.reference("registry.within/geosql-operator") + `"`))
}
