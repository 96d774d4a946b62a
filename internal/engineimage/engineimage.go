// SPDX-License-Identifier: Apache-2.0

// Package engineimage reads what names of the engine's images say. It asks no registry.
package engineimage

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
)

// release is the form of Microsoft's tags, such as 2022-CU25-ubuntu-22.04, 2019-latest or 2022-RTM-ubuntu-20.04. A year
// alone, or a date, says nothing.
var release = regexp.MustCompile(`^(20[0-9]{2})-(latest|RTM|CU[0-9]+|GDR[0-9]*|RC[0-9]|CTP[0-9.]+)(-|$)`)

// majors are the major versions of the engine by the year that it is called by.
var majors = map[string]int{"2017": 14, "2019": 15, "2022": 16, "2025": 17}

// Validate says what is wrong with an image's name.
func Validate(image string) error {
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return fmt.Errorf("it is no name of an image, such as mcr.microsoft.com/mssql/server:2022-CU25-ubuntu-22.04: %w", err)
	}
	return nil
}

// Major is the major version of the engine in an image, by its tag, if that is of the form of Microsoft's tags: 16 of
// 2022-CU25-ubuntu-22.04. Of any other image it is not known.
func Major(image string) (major int, known bool) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return 0, false
	}
	tagged, ok := named.(reference.Tagged)
	if !ok {
		return 0, false
	}
	parts := release.FindStringSubmatch(tagged.Tag())
	if parts == nil {
		return 0, false
	}
	major, known = majors[parts[1]]
	return major, known
}

// Name is what a major version is called by, such as "SQL Server 2022".
func Name(major int) string {
	for year, m := range majors {
		if m == major {
			return "SQL Server " + year
		}
	}
	return fmt.Sprintf("SQL Server of major version %d", major)
}

// MajorOf is the major version in a ProductVersion such as 16.0.4135.4, 0 when it can't be told.
func MajorOf(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}

// Digest that an image is named by; empty when it is named by none.
func Digest(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	if d, ok := named.(reference.Digested); ok {
		return d.Digest().String()
	}
	return ""
}

// Pin names an image by the digest that a kubelet reports of the container that runs it (imageID), in the form
// NAME@sha256:.... It is false where the digest is not one of the image's own repository: what was put into a node by
// hand has none, and another repository's may not be there.
func Pin(image, imageID string) (pinned string, ok bool) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil || Digest(image) != "" {
		return "", false
	}
	ran, ok := runs(imageID)
	if !ok || ran.Name() != named.Name() {
		return "", false
	}
	// The name is as it was written, and without the tag: not every runtime takes that beside the digest.
	if tagged, ok := named.(reference.Tagged); ok {
		image = strings.TrimSuffix(image, ":"+tagged.Tag())
	}
	return image + "@" + ran.Digest().String(), true
}

// runs reads a kubelet's imageID, which some runtimes begin with a scheme.
func runs(imageID string) (reference.Canonical, bool) {
	if _, rest, ok := strings.Cut(imageID, "://"); ok {
		imageID = rest
	}
	named, err := reference.ParseNormalizedNamed(imageID)
	if err != nil {
		return nil, false
	}
	c, ok := named.(reference.Canonical)
	return c, ok
}

// Moved tells that the tag by which an image is declared names another one than that of a digest by now: names are
// those that a node has for one image. It returns that image's digest.
func Moved(image, digest string, names []string) (now string, moved bool) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil || digest == "" || Digest(image) != "" {
		return "", false
	}
	tagged := reference.TagNameOnly(named).String()
	var digests []string
	has := false
	for _, name := range names {
		other, err := reference.ParseNormalizedNamed(name)
		if err != nil || other.Name() != named.Name() {
			continue
		}
		if d, ok := other.(reference.Digested); ok {
			digests = append(digests, d.Digest().String())
		} else {
			has = has || other.String() == tagged
		}
	}
	if !has || len(digests) == 0 || slices.Contains(digests, digest) {
		return "", false
	}
	return digests[0], true
}

// DigestOf is the digest in a kubelet's imageID, if it is one of the image's repository; empty else.
func DigestOf(image, imageID string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	if ran, ok := runs(imageID); ok && ran.Name() == named.Name() {
		return ran.Digest().String()
	}
	return ""
}
