// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const unknown = "NOASSERTION"

// bill is a bill of materials on its way.
type bill struct {
	*v2_3.Document
	known map[string]bool
}

// makeSBOM writes which modules are in the programs of the release, as Go's linker has noted it in them.
func (r *release) makeSBOM(_ context.Context, dir string) error {
	b := &bill{known: map[string]bool{}, Document: &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: r.file(imageName, ""),
		CreationInfo: &v2_3.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "geosql-release"}},
			Created:  r.at.Format(time.RFC3339),
		},
	}}
	image := b.add(r.imagePackage())
	b.relate("DOCUMENT", common.TypeRelationshipDescribe, image)
	for _, program := range append(slices.Clone(r.operators), r.clients...) {
		id, err := r.addProgram(b, program)
		if err != nil {
			return err
		}
		if slices.Contains(r.operators, program) {
			b.relate(image, common.TypeRelationshipContains, id)
		} else {
			b.relate("DOCUMENT", common.TypeRelationshipDescribe, id)
		}
	}
	b.DocumentNamespace = "https://geosql.dev/spdx/" + b.DocumentName + "-" + r.commit + "-" + r.digest.Hex[:12]
	return writeFile(filepath.Join(dir, r.file(imageName, ".spdx.json")), func(w io.Writer) error {
		return json.Write(b.Document, w, json.Indent(" "), json.EscapeHTML(false))
	})
}

// imagePackage is the image of all its platforms.
func (r *release) imagePackage() *v2_3.Package {
	address := "pkg:oci/" + imageName + "@sha256%3A" + r.digest.Hex + "?tag=" + r.version.String()
	return ours(&v2_3.Package{
		PackageSPDXIdentifier: "Image", PackageName: imageName, PackageVersion: r.version.String(),
		PrimaryPackagePurpose: "CONTAINER", PackageExternalReferences: located(address),
	})
}

// addProgram adds a program, the modules in it and Go's standard library.
func (r *release) addProgram(b *bill, program binary) (common.ElementID, error) {
	info, err := buildinfo.ReadFile(program.path)
	if err != nil {
		return "", fmt.Errorf("read which modules are in %s for %s: %w", program.name, program.platform, err)
	}
	sum, err := sha256Of(program.path)
	if err != nil {
		return "", err
	}
	id := b.add(ours(&v2_3.Package{
		PackageSPDXIdentifier: common.ElementID("Program-" + program.name + "-" + program.os + "-" + program.arch),
		PackageName:           program.name, PackageVersion: r.version.String(),
		PackageFileName: filepath.Base(program.path), PrimaryPackagePurpose: "APPLICATION",
		PackageComment:   "for " + program.String() + ", commit " + r.commit,
		PackageChecksums: []common.Checksum{{Algorithm: common.SHA256, Value: sum}},
	}))
	library := &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}
	for _, module := range append([]*debug.Module{library}, info.Deps...) {
		if module.Replace != nil {
			module = module.Replace
		}
		b.relate(id, common.TypeRelationshipContains, b.add(modulePackage(module)))
	}
	return id, nil
}

// modulePackage is a Go module.
func modulePackage(module *debug.Module) *v2_3.Package {
	address := "pkg:golang/" + module.Path + "@" + strings.ReplaceAll(module.Version, "+", "%2B")
	sum := sha256.Sum256([]byte(address))
	p := &v2_3.Package{
		PackageSPDXIdentifier: common.ElementID("Module-" + hex.EncodeToString(sum[:8])),
		PackageName:           module.Path, PackageVersion: module.Version, PrimaryPackagePurpose: "LIBRARY",
		PackageDownloadLocation: unknown, PackageLicenseConcluded: unknown, PackageLicenseDeclared: unknown,
		PackageCopyrightText: unknown, PackageExternalReferences: located(address),
	}
	if module.Sum != "" {
		p.PackageSourceInfo = "go.sum " + module.Sum
	}
	return p
}

// ours is a package of the project's own.
func ours(p *v2_3.Package) *v2_3.Package {
	p.PackageDownloadLocation, p.PackageCopyrightText = unknown, unknown
	p.PackageLicenseConcluded, p.PackageLicenseDeclared = "Apache-2.0", "Apache-2.0"
	return p
}

// located is a package's address (purl).
func located(address string) []*v2_3.PackageExternalReference {
	return []*v2_3.PackageExternalReference{
		{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: address},
	}
}

// add adds a package that is not there yet.
func (b *bill) add(p *v2_3.Package) common.ElementID {
	id := p.PackageSPDXIdentifier
	if !b.known[string(id)] {
		b.known[string(id)] = true
		b.Packages = append(b.Packages, p)
	}
	return id
}

// relate says what one is to another.
func (b *bill) relate(one common.ElementID, how string, other common.ElementID) {
	b.Relationships = append(b.Relationships, &v2_3.Relationship{
		RefA: common.DocElementID{ElementRefID: one}, Relationship: how, RefB: common.DocElementID{ElementRefID: other},
	})
}
