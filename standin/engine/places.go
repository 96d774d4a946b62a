// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

// mountPrefix begins the names of the folders in which an instance in a container has its volumes: /var/opt/mssql and
// those beside it.
const mountPrefix = "/var/opt/mssql"

// onDisk is where a file that statements and views call path is: elsewhere only for an instance with Config.Root, whose
// volumes are folders of that root.
func (inst *Instance) onDisk(path string) string {
	rest, ok := strings.CutPrefix(path, mountPrefix)
	root := inst.config.Root
	switch {
	case !ok || root == "" || strings.HasPrefix(root, mountPrefix):
		return path
	case strings.HasPrefix(rest, "/"):
		return filepath.Join(root, rest)
	case strings.HasPrefix(rest, "-"):
		return filepath.Join(root, "mounts", strings.TrimPrefix(rest, "-"))
	}
	return path
}

// OnDisk is where a file that a statement calls path is on this machine: elsewhere only for an instance with
// Config.Root.
func (inst *Instance) OnDisk(path string) string { return inst.onDisk(path) }

// makeMount makes the folder of a file of a volume that Config.Root stands for; in a container the volume is mounted.
func (inst *Instance) makeMount(path string) error {
	at := inst.onDisk(path)
	if at == path {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o770); err != nil {
		return fmt.Errorf("make the folder that stands for %s: %w", filepath.Dir(path), err)
	}
	return nil
}

// filesOnDisk are a database's files where they are on this machine.
func (inst *Instance) filesOnDisk(files []metadata.File) storage.Files {
	named := metadata.StorageFiles(files)
	return storage.Files{Data: inst.onDisk(named.Data), Log: inst.onDisk(named.Log)}
}

// place is where a system database's files are on disk. A folder that is not there stops the start, as it does SQL
// Server's (errors 5123 and 1814 in its log).
func (inst *Instance) place(files []metadata.File) (storage.Files, error) {
	named, placed := metadata.StorageFiles(files), inst.filesOnDisk(files)
	for _, path := range []string{named.Data, named.Log} {
		if err := inst.makeMount(path); err != nil {
			return placed, err
		}
		if _, err := os.Stat(filepath.Dir(inst.onDisk(path))); err != nil {
			return placed, fmt.Errorf("create file %s: %w", path, err)
		}
	}
	return placed, nil
}
