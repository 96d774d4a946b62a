// SPDX-License-Identifier: Apache-2.0

package engineimage_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/engineimage"
)

var (
	one = "sha256:" + strings.Repeat("1", 64)
	two = "sha256:" + strings.Repeat("2", 64)
)

// Microsoft's tags begin with the year; what else there is may be anybody's.
func TestMajorByTag(t *testing.T) {
	for image, major := range map[string]int{
		"mcr.microsoft.com/mssql/server:2022-CU25-ubuntu-22.04":  16,
		"mcr.microsoft.com/mssql/rhel/server:2019-CU1-rhel-8":    15,
		"mirror.example:5000/mssql/server:2017-latest":           14,
		"mcr.microsoft.com/mssql/server:2025-RTM-ubuntu-24.04":   17,
		"mcr.microsoft.com/mssql/server:2019-GDR5-ubuntu-20.04":  15,
		"mcr.microsoft.com/mssql/server:2022-CU25-ubuntu@" + one: 16,
		"mcr.microsoft.com/mssql/server:latest":                  0,
		"mcr.microsoft.com/mssql/server@" + one:                  0,
		"engine:2022-03-01":                                      0,
		"engine:2022":                                            0,
		"engine:2031-CU1":                                        0,
		"engine":                                                 0,
		"mirror.example:2022-CU25":                               16,
		"mirror.example:5000/2022-CU25":                          0,
		"Not a name":                                             0,
		"mcr.microsoft.com/mssql/server:2022-CU25x-of-somebody":  0,
	} {
		got, known := engineimage.Major(image)
		NewWithT(t).Expect(got).To(Equal(major), image)
		NewWithT(t).Expect(known).To(Equal(major != 0), image)
	}
}

// An image is named by the digest that runs where another node can pull that: it is one of the image's own repository.
func TestPin(t *testing.T) {
	for name, c := range map[string]struct{ image, imageID, pinned string }{
		"containerd": {"mcr.microsoft.com/mssql/server:2022-CU25", "mcr.microsoft.com/mssql/server@" + one,
			"mcr.microsoft.com/mssql/server@" + one},
		"Docker": {"m.example:5000/mssql:1", "docker-pullable://m.example:5000/mssql@" + one,
			"m.example:5000/mssql@" + one},
		"of Docker Hub":             {"engine:1", "docker.io/library/engine@" + one, "engine@" + one},
		"without a tag":             {"m.example:5000/mssql", "m.example:5000/mssql@" + one, "m.example:5000/mssql@" + one},
		"of another repository":     {"mcr.microsoft.com/mssql/server:1", "m.example/mssql/server@" + one, ""},
		"loaded by hand":            {"engine:1", one, ""},
		"imported under a name":     {"engine:1", "docker.io/library/import-2026-11-20@" + one, ""},
		"not started yet":           {"engine:1", "", ""},
		"named by a digest already": {"engine@" + two, "docker.io/library/engine@" + two, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			pinned, ok := engineimage.Pin(c.image, c.imageID)
			g.Expect(pinned).To(Equal(c.pinned))
			g.Expect(ok).To(Equal(c.pinned != ""))
		})
	}
}

// That a tag has moved shows by a node that has the tag at another digest.
func TestMoved(t *testing.T) {
	const image = "m.example/mssql:2022-latest"
	for name, c := range map[string]struct {
		image string
		names []string
		now   string
	}{
		"it is the same":             {image, []string{"m.example/mssql@" + one, image}, ""},
		"it has moved":               {image, []string{"m.example/mssql@" + two, image}, two},
		"without the tag":            {image, []string{"m.example/mssql@" + two}, ""},
		"another tag":                {image, []string{"m.example/mssql@" + two, "m.example/mssql:2019-latest"}, ""},
		"loaded by hand":             {image, []string{image}, ""},
		"another repository":         {image, []string{"n.example/mssql@" + two, "n.example/mssql:2022-latest"}, ""},
		"one image under both":       {image, []string{"m.example/mssql@" + two, "m.example/mssql@" + one, image}, ""},
		"latest is what is not said": {"m.example/mssql", []string{"m.example/mssql@" + two, "m.example/mssql:latest"}, two},
		"a digest does not move": {"m.example/mssql@" + one,
			[]string{"m.example/mssql@" + two, "m.example/mssql:latest"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now, moved := engineimage.Moved(c.image, one, c.names)
			g.Expect(now).To(Equal(c.now))
			g.Expect(moved).To(Equal(c.now != ""))
		})
	}
}

// What is no name of an image at all is told so before a kubelet does.
func TestNames(t *testing.T) {
	g := NewWithT(t)
	for _, image := range []string{"engine", "mcr.microsoft.com/mssql/server:2022-CU25-ubuntu-22.04",
		"m:5000/a/b@" + one} {
		g.Expect(engineimage.Validate(image)).To(Succeed(), image)
	}
	for _, image := range []string{"", "Engine:1", "engine:1 2", "engine@sha256:1", "https://m.example/engine"} {
		g.Expect(engineimage.Validate(image)).To(MatchError(ContainSubstring("no name of an image")), image)
	}
	g.Expect(engineimage.Name(16)).To(Equal("SQL Server 2022"))
	g.Expect(engineimage.MajorOf("16.0.4135.4")).To(Equal(16))
	g.Expect(engineimage.MajorOf("")).To(BeZero())
}
