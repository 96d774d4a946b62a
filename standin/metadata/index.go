// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"slices"
	"time"
)

// Index is an index; keys are indexes too.
type Index struct {
	ID         int32   `json:"id"`
	Name       string  `json:"name"`
	Unique     bool    `json:"unique,omitempty"`
	Clustered  bool    `json:"clustered,omitempty"`
	PrimaryKey bool    `json:"primaryKey,omitempty"`
	Constraint int32   `json:"constraint,omitempty"`
	Keys       []Key   `json:"keys"`
	Included   []int32 `json:"included,omitempty"`
	Filter     string  `json:"filter,omitempty"`
	// Compression is data_compression of the index.
	Compression int  `json:"compression,omitempty"`
	Disabled    bool `json:"disabled,omitempty"`
	FillFactor  int  `json:"fillFactor,omitempty"`
	IgnoreDup   bool `json:"ignoreDup,omitempty"`
	// Padded, SequentialKey and Locks are PAD_INDEX, OPTIMIZE_FOR_SEQUENTIAL_KEY and the options of locks, as they were
	// given.
	Padded        bool       `json:"padded,omitempty"`
	SequentialKey bool       `json:"sequentialKey,omitempty"`
	Locks         IndexLocks `json:"locks,omitzero"`
	Place         Place      `json:"place,omitzero"`
	// NoRecompute and StatsUpdated are those of the index's statistics, as UPDATE STATISTICS left them.
	NoRecompute  bool       `json:"noRecompute,omitempty"`
	StatsUpdated *time.Time `json:"statsUpdated,omitempty"`
}

// Key is one column of an index.
type Key struct {
	Column     int32 `json:"column"`
	Descending bool  `json:"descending,omitempty"`
}

// IndexLocks tells which locks ALLOW_ROW_LOCKS and ALLOW_PAGE_LOCKS have forbidden. They are recorded: rows and pages
// are not locked.
type IndexLocks struct {
	NoRow  bool `json:"noRow,omitempty"`
	NoPage bool `json:"noPage,omitempty"`
}

// Set sets one of the options, by its name in lower case without underscores.
func (l *IndexLocks) Set(option string, on bool) {
	if option == "allowrowlocks" {
		l.NoRow = !on
	} else {
		l.NoPage = !on
	}
}

// IsKey tells whether a column is one of an index's key.
func IsKey(keys []Key, column int32) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Column == column })
}

// SameKeys tells whether an index has just these key columns, in any order.
func SameKeys(keys []Key, columns []int32) bool {
	if len(keys) != len(columns) {
		return false
	}
	for _, c := range columns {
		found := false
		for _, k := range keys {
			found = found || k.Column == c
		}
		if !found {
			return false
		}
	}
	return true
}

// ForeignKey is a foreign key's columns and actions (NO_ACTION, CASCADE, SET_NULL, SET_DEFAULT).
type ForeignKey struct {
	Columns    []int32 `json:"columns"`
	Referenced int32   `json:"referenced"`
	RefColumns []int32 `json:"refColumns"`
	RefIndex   int32   `json:"refIndex,omitempty"`
	OnDelete   string  `json:"onDelete"`
	OnUpdate   string  `json:"onUpdate"`
}
