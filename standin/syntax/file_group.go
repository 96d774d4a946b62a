// SPDX-License-Identifier: Apache-2.0

package syntax

import "strings"

// FileGroupSpec is FILEGROUP name [DEFAULT] <filespec>, ... of CREATE DATABASE
// (docs/t-sql/statements/create-database-transact-sql.md).
type FileGroupSpec struct {
	Name    string
	Default bool
	Files   []FileSpec
}

type (
	// DBAddFileGroup is ADD FILEGROUP, DBRemoveFileGroup REMOVE FILEGROUP
	// (docs/t-sql/statements/alter-database-transact-sql-file-and-filegroup-options.md).
	DBAddFileGroup    struct{ Name string }
	DBRemoveFileGroup struct{ Name string }
	// DBModifyFileGroup is MODIFY FILEGROUP. Property is READ_ONLY, READ_WRITE, DEFAULT, AUTOGROW_SINGLE_FILE or
	// AUTOGROW_ALL_FILES, empty for NAME = NewName. Until says what becomes of others who use the database.
	DBModifyFileGroup struct {
		Name, NewName, Property string
		Until                   DBSet
	}
)

// createdFiles parses what follows ON in CREATE DATABASE up to LOG ON.
func (p *parser) createdFiles(n *CreateDatabase) {
	p.accept("PRIMARY")
	for more := true; more; more = p.accept(",") {
		if !p.accept("FILEGROUP") {
			if f := p.fileSpec(); len(n.FileGroups) > 0 {
				group := &n.FileGroups[len(n.FileGroups)-1]
				group.Files = append(group.Files, f)
			} else {
				n.Files = append(n.Files, f)
			}
			continue
		}
		g := FileGroupSpec{Name: p.name()}
		p.refuseContents()
		g.Default = p.accept("DEFAULT")
		g.Files = []FileSpec{p.fileSpec()}
		n.FileGroups = append(n.FileGroups, g)
	}
}

// refuseContents refuses file groups of anything but rows.
func (p *parser) refuseContents() {
	switch {
	case p.accept("CONTAINS", "FILESTREAM"):
		p.unsupported("A FILESTREAM file group")
	case p.accept("CONTAINS", "MEMORY_OPTIMIZED_DATA"):
		p.unsupported("A file group for memory-optimized data")
	}
}

// fileGroupName parses the name of a file group where PRIMARY may stand without brackets.
func (p *parser) fileGroupName() string {
	if p.accept("PRIMARY") {
		return "PRIMARY"
	}
	return p.name()
}

// fileGroupAction parses ADD, REMOVE and MODIFY FILEGROUP; nil where there is none of them.
func (p *parser) fileGroupAction() any {
	switch {
	case p.accept("ADD", "FILEGROUP"):
		a := DBAddFileGroup{Name: p.name()}
		p.refuseContents()
		return a
	case p.accept("REMOVE", "FILEGROUP"):
		return DBRemoveFileGroup{Name: p.name()}
	case p.accept("MODIFY", "FILEGROUP"):
		a := DBModifyFileGroup{Name: p.name()}
		if p.accept("NAME", "=") {
			a.NewName = p.name()
			return a
		}
		a.Property = p.oneOf(
			"READ_ONLY",
			"READONLY",
			"READ_WRITE",
			"READWRITE",
			"DEFAULT",
			"AUTOGROW_SINGLE_FILE",
			"AUTOGROW_ALL_FILES",
		)
		if !strings.Contains(a.Property, "_") && a.Property != "DEFAULT" {
			a.Property = strings.Replace(a.Property, "READ", "READ_", 1)
		}
		p.termination(&a.Until)
		return a
	}
	return nil
}
