// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"database/sql"
	"fmt"
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
)

// values are a row of a result set, scanned as database/sql does: NULL fits no plain variable.
type values []any

func (v values) Scan(dest ...any) error {
	if len(dest) != len(v) {
		return fmt.Errorf("%d variables for %d columns", len(dest), len(v))
	}
	for i, d := range dest {
		switch scanner, can := d.(sql.Scanner); {
		case can:
			if err := scanner.Scan(v[i]); err != nil {
				return err
			}
		case v[i] == nil:
			return fmt.Errorf("column %d: converting NULL to %T is unsupported", i, d)
		default:
			reflect.ValueOf(d).Elem().Set(reflect.ValueOf(v[i]))
		}
	}
	return nil
}

// A replica that only one of configuration and instance knows has NULL in nearly every column. It is read all the same,
// with nothing in it: a server that cannot say what it knows of the others could not be asked for its own log either.
func TestAReplicaThatIsHalfKnownIsRead(t *testing.T) {
	g := NewWithT(t)
	var group Group
	g.Expect(group.scanReplica(values{"quisec-0", nil, nil, nil, nil, nil, false, nil, nil, nil})).To(Succeed())
	g.Expect(group.scanReplica(values{nil, nil, nil, nil, nil, nil, nil, nil, nil, nil})).To(Succeed(), "it has no name")
	g.Expect(group.scanReplica(values{
		"tukpub-0", "TCP://tukpub-0:5022", "SYNCHRONOUS_COMMIT", "AUTOMATIC", int64(10), "ALL", true, "SECONDARY",
		"CONNECTED", "HEALTHY",
	})).To(Succeed())
	g.Expect(group.Replicas).To(ConsistOf(
		GroupReplica{Server: "quisec-0"},
		And(HaveField("Server", "tukpub-0"), HaveField("Mode", "SYNCHRONOUS_COMMIT"), HaveField("Local", true)),
	))
}

// So is a copy whose state is not known.
func TestACopyThatIsHalfKnownIsRead(t *testing.T) {
	g := NewWithT(t)
	var group Group
	g.Expect(group.scanState(values{"quisec-0", "App", nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil})).
		To(Succeed())
	g.Expect(group.scanState(values{nil, "App", nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil})).To(Succeed())
	g.Expect(group.scanDatabase(values{nil})).To(Succeed())
	g.Expect(group.scanDatabase(values{"App"})).To(Succeed())
	g.Expect(group.States).To(Equal([]GroupDatabaseState{{Server: "quisec-0", Database: "App"}}))
	g.Expect(group.Databases).To(Equal([]string{"App"}))
}
