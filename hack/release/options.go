// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
)

// imageName is what the operator's image is called below its registry.
const imageName = "geosql-operator"

// options are what main's flags say.
type options struct {
	root, out, version, registry, downloads, images, plugins, helm string
	changed                                                        bool
}

// platform is an operating system and a processor, as Go names them.
type platform struct{ os, arch string }

// String is os/arch.
func (p platform) String() string { return p.os + "/" + p.arch }

// imagePlatforms and pluginPlatforms are those for which there are an image and a plugin.
var (
	imagePlatforms  = []platform{{"linux", "amd64"}, {"linux", "arm64"}}
	pluginPlatforms = []platform{
		{"linux", "amd64"}, {"linux", "arm64"},
		{"darwin", "amd64"}, {"darwin", "arm64"},
		{"windows", "amd64"}, {"windows", "arm64"},
	}
)

// chosen are the platforms of a list with commas, in the order of those that are known, each once.
func chosen(what, list string, known []platform) ([]platform, error) {
	asked := strings.Split(list, ",")
	for _, one := range asked {
		if !slices.ContainsFunc(known, func(p platform) bool { return p.String() == one }) {
			return nil, fmt.Errorf("%s: %q is no platform of it; there are %v", what, one, known)
		}
	}
	unasked := func(p platform) bool { return !slices.Contains(asked, p.String()) }
	return slices.DeleteFunc(slices.Clone(known), unasked), nil
}

// checked are the options once they are known to be good.
func (o options) checked() (*release, error) {
	version, versionErr := checkVersion(o.version)
	images, imagesErr := chosen("image", o.images, imagePlatforms)
	plugins, pluginsErr := chosen("plugin", o.plugins, pluginPlatforms)
	repository, registryErr := checkRegistry(o.registry)
	downloads, downloadsErr := checkDownloads(o.downloads)
	root, rootErr := filepath.Abs(o.root)
	out, outErr := filepath.Abs(o.out)
	if err := errors.Join(versionErr, imagesErr, pluginsErr, registryErr, downloadsErr, rootErr, outErr); err != nil {
		return nil, err
	}
	return &release{
		version: version, root: root, dir: filepath.Join(out, version.String()), helm: o.helm, changed: o.changed,
		repository: repository, downloads: downloads, images: images, plugins: plugins,
	}, nil
}

// checkVersion takes what is a version of the chart and a tag of the image as it stands.
func checkVersion(text string) (*semver.Version, error) {
	v, err := semver.StrictNewVersion(text)
	if err != nil {
		return nil, fmt.Errorf("VERSION=%s is no semantic version, such as 0.2.0 or 0.2.0-rc.1 (without v): %w", text, err)
	}
	if v.Metadata() != "" {
		return nil, fmt.Errorf("VERSION=%s has build metadata: a tag of an image has no +", text)
	}
	if _, err := name.NewTag(imageName + ":" + text); err != nil {
		return nil, fmt.Errorf("VERSION=%s is no tag of an image: %w", text, err)
	}
	return v, nil
}

// checkRegistry returns the image's repository below a registry, empty where none is given.
func checkRegistry(registry string) (string, error) {
	if registry == "" {
		return "", nil
	}
	repository := strings.TrimSuffix(registry, "/") + "/" + imageName
	_, err := name.NewRepository(repository)
	if strings.Contains(repository, "//") { // what is before it would be taken for a host
		err = errors.New("an image's name has no scheme and no empty part")
	}
	if err != nil {
		return "", fmt.Errorf("REGISTRY=%s is no place of an image, such as registry.example/team: %w", registry, err)
	}
	return repository, nil
}

// checkDownloads takes addresses that a plugin can be downloaded from.
func checkDownloads(address string) (string, error) {
	if address == "" {
		return "", nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("DOWNLOADS=%s is no address, such as https://downloads.example/geosql/0.2.0", address)
	}
	return strings.TrimSuffix(address, "/"), nil
}
