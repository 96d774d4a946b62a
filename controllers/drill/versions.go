// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// chaosImages are the images of Chaos Mesh that inject faults, by the last part of their names.
var chaosImages = []string{"chaos-mesh", "chaos-daemon"}

// chaosVersions are Chaos Mesh's images at a site. The operator may not read its pods, which are in a namespace of
// others, but the images that the kubelets have. The tag is Chaos Mesh's version; several are listed where nodes have
// several.
func chaosVersions(ctx context.Context, reader client.Reader, site v1alpha1.SiteName) []v1alpha1.DrillVersion {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var nodes corev1.NodeList
	if err := reader.List(ctx, &nodes); err != nil {
		return nil
	}
	var list []v1alpha1.DrillVersion
	for _, node := range nodes.Items {
		for _, image := range node.Status.Images {
			if v, ok := chaosVersion(image.Names); ok {
				v.Site = string(site)
				if !slices.Contains(list, v) {
					list = append(list, v)
				}
			}
		}
	}
	slices.SortFunc(
		list,
		func(a, b v1alpha1.DrillVersion) int { return strings.Compare(a.Component+a.Image, b.Component+b.Image) },
	)
	return list[:min(len(list), maxChaosVersions)]
}

// maxChaosVersions bounds what is listed of one site.
const maxChaosVersions = 6

// chaosVersion reads the names of one image, with a tag and with a digest.
func chaosVersion(names []string) (v1alpha1.DrillVersion, bool) {
	var v v1alpha1.DrillVersion
	for _, name := range names {
		repository, digest, hasDigest := strings.Cut(name, "@")
		if hasDigest {
			v.Digest = digest
		}
		base, tag, _ := strings.Cut(path.Base(repository), ":")
		if !slices.Contains(chaosImages, base) {
			continue
		}
		v.Component = "chaos-mesh"
		if base != v.Component {
			v.Component += "/" + base
		}
		if !hasDigest || v.Image == "" {
			v.Image = name
		}
		if tag != "" {
			v.Version = tag
		}
	}
	return v, v.Component != ""
}
