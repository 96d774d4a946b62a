// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/Masterminds/semver/v3"
	. "github.com/onsi/gomega"
)

// asked are options that are good, changed.
func asked(change func(*options)) options {
	o := options{root: ".", out: "dist", version: "0.2.0", images: "linux/amd64", plugins: "darwin/arm64", helm: "helm"}
	if change != nil {
		change(&o)
	}
	return o
}

func TestOptions(t *testing.T) {
	for name, row := range map[string]struct {
		change  func(*options)
		refused string
	}{
		"good":               {nil, ""},
		"before a release":   {func(o *options) { o.version = "1.0.0-rc.1" }, ""},
		"no version":         {func(o *options) { o.version = "" }, "VERSION= is no semantic version"},
		"the build's":        {func(o *options) { o.version = "dev" }, "VERSION=dev is no semantic version"},
		"of a tag":           {func(o *options) { o.version = "v0.2.0" }, "VERSION=v0.2.0 is no semantic version"},
		"too short":          {func(o *options) { o.version = "0.2" }, "VERSION=0.2 is no semantic version"},
		"with metadata":      {func(o *options) { o.version = "0.2.0+1" }, "has build metadata"},
		"a place":            {func(o *options) { o.registry = "registry.example/team/" }, ""},
		"a port":             {func(o *options) { o.registry = "127.0.0.1:5000" }, ""},
		"a scheme":           {func(o *options) { o.registry = "https://registry.example" }, "is no place of an image"},
		"capitals":           {func(o *options) { o.registry = "registry.example/Team" }, "is no place of an image"},
		"no such processor":  {func(o *options) { o.images = "linux/amd64,linux/s390x" }, `"linux/s390x" is no platform`},
		"no engine's system": {func(o *options) { o.images = "windows/amd64" }, `image: "windows/amd64" is no platform`},
		"no platform":        {func(o *options) { o.plugins = "" }, `plugin: "" is no platform`},
		"downloads":          {func(o *options) { o.downloads = "https://downloads.example/0.2.0/" }, ""},
		"downloads in plain": {func(o *options) { o.downloads = "http://downloads.example" }, "is no address"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := asked(row.change).checked()
			if row.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(row.refused)))
			}
		})
	}
}

// Platforms come in one order, each once: what is made does not depend on how somebody asks for it.
func TestPlatformsHaveAnOrder(t *testing.T) {
	g := NewWithT(t)
	one, err := chosen("plugin", "windows/amd64,linux/amd64,linux/amd64", pluginPlatforms)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(one).To(Equal([]platform{{"linux", "amd64"}, {"windows", "amd64"}}))
}

func TestNotes(t *testing.T) {
	const changelog = "# Changelog\n\nWhat users notice.\n\n## Unreleased\n\n### Changed\n\n- new\n\n" +
		"## [0.2.0] - 2027-01-31\n\n- second\n\n## 0.1.0\n\n- first\n\n## 0.0.9\n\n"
	for version, row := range map[string]struct{ says, refused string }{
		"0.2.0":      {says: "- second"},
		"0.1.0":      {says: "- first"},
		"0.3.0-rc.1": {says: "### Changed\n\n- new"},
		"0.3.0":      {refused: "CHANGELOG.md says nothing under ## 0.3.0"},
		"0.0.9":      {refused: "CHANGELOG.md says nothing under ## 0.0.9"},
	} {
		t.Run(version, func(t *testing.T) {
			g := NewWithT(t)
			says, err := section(changelog, semver.MustParse(version))
			if row.refused != "" {
				g.Expect(err).To(MatchError(row.refused))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(says).To(Equal(row.says))
		})
	}
}

// A chart whose lines are others than a release writes is packaged by nobody.
func TestEditsFindTheirLine(t *testing.T) {
	g := NewWithT(t)
	r := &release{version: semver.MustParse("0.2.0"), repository: "registry.example/geosql-operator"}
	for text, says := range map[string]string{
		"version: 0.1.0\nappVersion: 0.1.0\n":                      "",
		"version: 0.1.0\nversion: 0.1.0\nappVersion: 0.1.0\n":      "2 lines of the chart's Chart.yaml",
		"version: 0.1.0\ndependencies: []\n  appVersion: 0.1.0 \n": "0 lines of the chart's Chart.yaml",
	} {
		got, err := edited("Chart.yaml", []byte(text), r.edits())
		if says != "" {
			g.Expect(err).To(MatchError(ContainSubstring(says)))
			continue
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(got)).To(Equal("version: 0.2.0\nappVersion: \"0.2.0\"\n"))
	}
}
