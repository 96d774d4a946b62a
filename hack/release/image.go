// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user and program are what images/operator.Dockerfile says, from which the test bed's image is made.
const user, program = "65532:65532", "/geosql"

// makeImage makes the image of all its platforms as one OCI archive.
func (r *release) makeImage(_ context.Context, dir string) (err error) {
	if r.index, err = r.imageIndex(); err != nil {
		return err
	}
	if r.digest, err = r.index.Digest(); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "geosql-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	files, err := layout.Write(scratch, empty.Index)
	if err != nil {
		return err
	}
	named := map[string]string{"org.opencontainers.image.ref.name": r.version.String()}
	if r.repository != "" {
		named["io.containerd.image.name"] = r.repository + ":" + r.version.String()
	}
	if err := files.AppendIndex(r.index, layout.WithAnnotations(named)); err != nil {
		return err
	}
	entries, err := folder(scratch)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, r.file(imageName, "-image.tar")), func(w io.Writer) error {
		return writeTar(w, r.at, entries)
	})
}

// described are the OCI annotations, which the image's labels say as well: some registries show these, some those.
func (r *release) described() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       imageName,
		"org.opencontainers.image.description": "Geo-replicated SQL Server on Kubernetes: manager, site and agent",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     r.version.String(),
		"org.opencontainers.image.revision":    r.commit,
		"org.opencontainers.image.created":     r.at.Format(time.RFC3339),
	}
}

// imageIndex is the image of all its platforms.
func (r *release) imageIndex() (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, operator := range r.operators {
		image, err := r.image(operator)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", operator.platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: operator.os, Architecture: operator.arch}},
		})
	}
	return mutate.Annotations(index, r.described()).(v1.ImageIndex), nil
}

// image is the operator alone, on nothing.
func (r *release) image(operator binary) (v1.Image, error) {
	data, err := os.ReadFile(operator.path)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	if err := writeTar(&files, r.at, []entry{{name: program[1:], runs: true, data: data}}); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.at}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: operator.os, Architecture: operator.arch, Created: created, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{User: user, Entrypoint: []string{program}, Labels: r.described()},
	})
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: created, CreatedBy: "make release"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, r.described()).(v1.Image), nil
}
