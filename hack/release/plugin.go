// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// pluginName is what people write behind kubectl.
const pluginName = "geosql"

// makePlugins makes an archive of the plugin for each platform, and the manifest by which krew installs them.
func (r *release) makePlugins(_ context.Context, dir string) error {
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	var platforms []any
	for _, client := range r.clients {
		data, err := os.ReadFile(client.path)
		if err != nil {
			return err
		}
		entries := []entry{{name: filepath.Base(client.path), runs: true, data: data}, {name: "LICENSE", data: licence}}
		file, write := r.file(client.name, "-"+client.os+"-"+client.arch+".tar.gz"), writeTarGzip
		if client.os == "windows" {
			file, write = r.file(client.name, "-"+client.os+"-"+client.arch+".zip"), writeZip
		}
		path := filepath.Join(dir, file)
		if err := writeFile(path, func(w io.Writer) error { return write(w, r.at, entries) }); err != nil {
			return err
		}
		sum, err := sha256Of(path)
		if err != nil {
			return err
		}
		platforms = append(platforms, r.krewPlatform(client, file, sum))
	}
	manifest, err := yaml.Marshal(r.krew(platforms))
	if err != nil {
		return err
	}
	// krew takes a manifest by its plugin's name alone.
	return writeFile(filepath.Join(dir, pluginName+".yaml"), func(w io.Writer) error {
		_, err := w.Write(manifest)
		return err
	})
}

// krewPlatform is how krew finds, verifies and unpacks an archive. Without an address of downloads it is for
// `kubectl krew install --archive`, which reads no address.
func (r *release) krewPlatform(client binary, file, sum string) map[string]any {
	address := file
	if r.downloads != "" {
		address = r.downloads + "/" + file
	}
	return map[string]any{
		"selector": map[string]any{"matchLabels": map[string]string{"os": client.os, "arch": client.arch}},
		"uri":      address,
		"sha256":   sum,
		"bin":      filepath.Base(client.path),
	}
}

// krew is the manifest (krew.googlecontainertools.github.com/v1alpha2).
func (r *release) krew(platforms []any) map[string]any {
	return map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
		"kind":       "Plugin",
		"metadata":   map[string]string{"name": pluginName},
		"spec": map[string]any{
			"version":          "v" + r.version.String(),
			"shortDescription": "Run geo-replicated SQL Server by geosql-operator",
			"description": "Joins clusters as sites of geosql-operator, shows servers, groups, replication and drills,\n" +
				"plans changes before they are made, and asks for failovers, backups and restores.\n",
			"platforms": platforms,
		},
	}
}

// sha256Of is a file's SHA-256, in hexadecimal digits.
func sha256Of(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
