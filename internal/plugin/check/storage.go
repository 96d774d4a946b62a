// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
)

// defaultClass is the annotation of the cluster's default class (kubernetes.io/docs/concepts/storage/storage-classes,
// "Default StorageClass").
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// judgeStorage looks at the classes of the volumes' roles.
func (c cluster) judgeStorage(f *findings) {
	const check = "storage"
	if c.classes.err != nil {
		f.unknown(check, c.classes.err)
		return
	}
	there := map[string]*storagev1.StorageClass{}
	byDefault := ""
	for i := range c.classes.is {
		class := &c.classes.is[i]
		there[class.Name] = class
		if class.Annotations[defaultClass] == "true" {
			byDefault = class.Name
		}
	}
	roles := map[string][]string{}
	for role, class := range c.roles() {
		roles[cmp.Or(class, byDefault)] = append(roles[cmp.Or(class, byDefault)], role)
	}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		slices.Sort(roles[name])
		of := strings.Join(roles[name], ", ")
		switch class := there[name]; {
		case name == "":
			f.warn(check, "join the site with --storage-class all=CLASS, or make one the default",
				"there is no default class; servers that name none for %s wait. There are: %s", of, listed(there))
		case class == nil:
			f.problem(check, "join the site with another --storage-class, or make the class",
				"there is no class %s, which the site names for %s; there are: %s", name, of, listed(there))
		default:
			judgeClass(f, class, of)
		}
	}
}

// roles are the classes that the site names for the roles of volumes; empty for the cluster's default.
func (c cluster) roles() map[string]string {
	s := c.site.StorageClasses
	return map[string]string{"data": s.Data, "log": s.Log, "tempdb": s.TempDB, "backup": s.Backup,
		"agent": cmp.Or(s.Agent, s.Data)}
}

func listed(there map[string]*storagev1.StorageClass) string {
	if len(there) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(there)), ", ")
}

// judgeClass compares a class with what Microsoft supports (sql-server-linux-setup, "System requirements") and with
// what servers of several volumes need.
func judgeClass(f *findings, class *storagev1.StorageClass, of string) {
	const (
		check  = "storage"
		change = "use a class of block volumes with XFS or ext4"
	)
	before := len(f.list)
	switch kind := shared(class); {
	case kind == "NFS":
		f.warn(check, "use NFS 4.2 or later with the mount option nolock, or block volumes",
			"class %s (%s) is of NFS, which SQL Server takes under conditions", class.Name, of)
	case kind != "":
		f.problem(check, change, "class %s (%s) is of %s, which SQL Server on Linux does not support", class.Name, of, kind)
	}
	if system := fileSystem(class); system != "" && system != "ext4" && system != "xfs" {
		f.problem(check, change, "class %s (%s) makes %s; SQL Server supports XFS and ext4", class.Name, of, system)
	}
	if class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion {
		f.warn(check, "set allowVolumeExpansion of the class, where its driver can",
			"volumes of class %s (%s) cannot be made larger", class.Name, of)
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate {
		f.warn(check, "use a class with volumeBindingMode WaitForFirstConsumer",
			"volumes of class %s (%s) are made before it is known where their server can run: in several zones they may lie "+
				"apart", class.Name, of)
	}
	if len(f.list) == before {
		f.ok(check, "class %s (%s)", class.Name, of)
	}
}

// fileSystem that a class says; CSI drivers and in-tree ones have names of their own for it.
func fileSystem(class *storagev1.StorageClass) string {
	for key, value := range class.Parameters {
		switch strings.ToLower(key) {
		case "csi.storage.k8s.io/fstype", "fstype":
			return strings.ToLower(value)
		}
	}
	return ""
}

// shared is what file system of a network a class is of, by its provisioner; empty for others.
func shared(class *storagev1.StorageClass) string {
	name := strings.ToLower(class.Provisioner)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
	}
	azure := name == "file.csi.azure.com" || name == "kubernetes.io/azure-file"
	switch {
	case azure && strings.EqualFold(class.Parameters["protocol"], "nfs"), has("nfs", "efs.csi.aws.com",
		"filestore.csi.storage.gke.io"):
		return "NFS"
	case azure, has("smb", "cifs"):
		return "SMB"
	case has("s3", "gcsfuse", "blob.csi.azure.com"):
		return "objects of a bucket"
	case has("cephfs", "glusterfs"):
		return "a shared file system"
	}
	return ""
}
